// Key switching of ciphertexts in transformed form.
#pragma once

#include <span>
#include <vector>

#include "modular.hpp"

namespace securefair {

using Basis = std::span<const Tables* const>;

// A switching key: (digits, 2, limbs, n), the special prime last in every polynomial.
struct SwitchingKey {
    const u32* data;
    std::size_t digits, limbs;
};

// Three polynomials to two, as SEAL's relinearize for CKKS, after a division by the last `drop` data
// primes (`divide_by_last`). to: (count, 2, rest, n); x: (count, 3, data primes, n); basis: the data
// primes of x, then the special prime.
void relinearize(u32* to, const u32* x, std::size_t count, const SwitchingKey& key,
                 const Basis& basis, std::size_t drop);

// to = x + conj(x) for `count` ciphertexts of two polynomials: SEAL's complex_conjugate, and a sum.
// Elsewhere than x it leaves x - conj(x) there. key: for the conjugate of the secret; basis: the data
// primes left, then the special prime.
void add_conjugates(u32* to, u32* x, std::size_t count, const SwitchingKey& key,
                    const Basis& basis);

}  // namespace securefair
