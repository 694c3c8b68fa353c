// Products of ciphertext tensors, polynomial by polynomial, without relinearisation.
#pragma once

#include <span>

#include "modular.hpp"

namespace securefair {

using Basis = std::span<const Tables* const>;

// (count, 2, limbs, n) -> (count, 3, limbs, n)
void square_each(u32* to, const u32* x, std::size_t count, const Basis& basis);

// to[g] = sum over t of x[left[g terms + t]] * y[right[g terms + t]], three polynomials each.
void sum_products_by_index(u32* to, const u32* x, const u32* y, std::span<const i64> left,
                           std::span<const i64> right, std::size_t terms, const Basis& basis);

}  // namespace securefair
