// CKKS encoding: between real slots and residues of the message polynomial.
#pragma once

#include <span>

#include "modular.hpp"

namespace securefair {

using Basis = std::span<const Tables* const>;

// (count, used) real slots, the rest up to n/2 zero, -> (count, limbs, n) residues in transformed
// form of the polynomials whose coefficients are rounded from `scale` times the exact ones. More than
// n/2 values are pairs x + X^(n/2) y: all x, then the y, the rest up to n zero.
// Throws when a scaled coefficient is not below 2^120.
void encode(u32* to, const double* slots, std::size_t count, std::size_t used, double scale,
            const Basis& basis);

// (count, limbs, n) residues in transformed form of polynomials with coefficients below half the
// product of the primes -> (count, n/2) real parts of the slots.
void decode(double* slots, const u32* x, std::size_t count, double scale, const Basis& basis);

}  // namespace securefair
