// Operations on rows of n residues modulo one prime. Results are always below the prime, and a
// destination may be one of the sources.
#pragma once

#include <cstddef>

#include "modular.hpp"

namespace securefair {

// Three polynomials of a product, or the two of a factor, modulo one prime.
struct Triple {
    u32 *c0, *c1, *c2;
};
struct Pair {
    const u32 *c0, *c1;
};

void add(u32* to, const u32* x, const u32* y, std::size_t n, const Prime& q);
void subtract(u32* to, const u32* x, const u32* y, std::size_t n, const Prime& q);
void add_constant(u32* to, const u32* x, u32 constant, std::size_t n, const Prime& q);
void multiply(u32* to, const u32* x, const u32* y, std::size_t n, const Prime& q);

// x + w y
void add_scaled(u32* to, const u32* x, const u32* y, Factor w, std::size_t n, const Prime& q);

// The values of x backwards; they may not be in place.
void mirror(u32* to, const u32* x, std::size_t n);

// x plus its values backwards, in place.
void add_mirrored(u32* x, std::size_t n, const Prime& q);

// sum_i x_i^2 of `terms` ciphertexts, as polynomials in the secret key.
void sum_squares(const Triple& to, const Pair* x, std::size_t terms, std::size_t n,
                 const Prime& q);

// sum_i x_i y_i of `terms` pairs of factors, as polynomials in the secret key.
void sum_products(const Triple& to, const Pair* x, const Pair* y, std::size_t terms,
                  std::size_t n, const Prime& q);

// w (sum_i x_i y_i) less corrections, for both rows of `terms` pairs y_i; without corrections the
// sums alone. Results may not be where corrections lie.
struct Both {
    u32 *c0, *c1;
};
void inner_quotients(const Both& to, Factor w, const Pair& corrections, const u32* const* x,
                     const Pair* y, std::size_t terms, std::size_t n, const Prime& q);

// x mod q for any 32-bit x.
void reduce(u32* to, const u32* x, std::size_t n, const Prime& q);

// 64-bit words mod q. Returns whether one of them is so large that a sampler may reject it.
bool reduce_words(u32* to, const u64* x, std::size_t n, const Prime& q);

// w x - y
void scale_subtract(u32* to, const u32* x, Factor w, const u32* y, std::size_t n, const Prime& q);

// to + w (x mod q) - constant, for any 32-bit x; without `accumulate`, to counts as zero.
void scale_offset(u32* to, const u32* x, Factor w, u32 constant, bool accumulate, std::size_t n,
                  const Prime& q);

// Whether every residue is below the prime.
bool all_below(const u32* x, std::size_t n, const Prime& q);

}  // namespace securefair
