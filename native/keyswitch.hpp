// Divisions by primes with rounding, and key switching, on tensors in transformed form.
#pragma once

#include <span>
#include <vector>

#include "modular.hpp"

namespace securefair {

using Basis = std::span<const Tables* const>;

// Divides `count` polynomials over `basis` by the last `drop` primes, one after the other with
// rounding as SEAL's rescale_to_next. x: count rows of basis limbs; to: count rows of the rest.
void divide_by_last(u32* to, const u32* x, std::size_t count, const Basis& basis,
                    std::size_t drop);

// A switching key: (digits, 2, limbs, n), the special prime last in every polynomial.
struct SwitchingKey {
    const u32* data;
    std::size_t digits, limbs;
};

// One ciphertext to switch: to = (c0, c1) + what the key makes of `target`. Polynomials have one
// row for each data prime; a null c1 is zero. `to` may be where c0 and c1 lie, one after the other.
struct SwitchTask {
    u32* to;
    const u32 *c0, *c1, *target;
};

// As SEAL's switch_key_inplace for CKKS. basis: the data primes left, then the special prime.
void switch_key(const std::vector<SwitchTask>& tasks, const SwitchingKey& key, const Basis& basis);

// to = x + conj(x) for `count` ciphertexts of two polynomials: SEAL's complex_conjugate, and a sum.
// Elsewhere than x it leaves x - conj(x) there. key: for the conjugate of the secret; basis: as above.
void add_conjugates(u32* to, u32* x, std::size_t count, const SwitchingKey& key,
                    const Basis& basis);

}  // namespace securefair
