// Uniform polynomials from seeds, exactly as SEAL expands the second polynomial of a seeded
// ciphertext: BLAKE2Xb (RFC 7693 with the XOF parameters of the BLAKE2X note) and rejection.
#pragma once

#include <span>

#include "modular.hpp"
#include "packing.hpp"

namespace securefair {

using Basis = std::span<const Tables* const>;

constexpr std::size_t seed_bytes = 64;
constexpr std::size_t buffer_words = 512;  // the stream is made 4096 bytes at a time

// (count, limbs, n) residues, uniform below each prime, from (count, 64) bytes.
void expand_seeds(u32* to, const std::uint8_t* seeds, std::size_t count, const Basis& basis);

// One of them (limbs, n), on this thread alone.
void expand_seed(u32* to, const std::uint8_t* seed, const Basis& basis);

// Parts of streams before anything is rejected: residue i of a polynomial is word i reduced, unless
// that word is so large that `sample` draws again (`reduce_words` tells).
//
// The roots of buffer number `buffer` of many seeds, (count, 8); seeds lie `stride` bytes apart.
void stream_roots(u64* roots, const std::uint8_t* seeds, std::size_t stride, std::size_t count,
                  u64 buffer);

// Words first .. first + count of the buffer below a root; both are multiples of 128.
void stream_words(u64* to, const u64* root, std::size_t first, std::size_t count);

// Ciphertexts as they arrive: a packed first polynomial and the seed of the second, each so many
// bytes after the one before. Limbs follow one another.
struct Message {
    const std::uint8_t *first, *seeds;
    std::size_t count, first_stride, seed_stride;

    // Where a limb of ciphertext i begins.
    const std::uint8_t* at(std::size_t i, std::size_t limb, const Basis& basis) const {
        const std::uint8_t* x = first + i * first_stride;
        for (const Tables* const q : basis.first(limb)) x += packed_bytes(q->n, width(q->p));
        return x;
    }
};

// Whether all residues of all first polynomials are below their primes.
bool below_primes(const Message& x, const Basis& basis);

// (count, 2, limbs, n) residues. Returns whether those that arrived are below their primes; if not,
// nothing may be done with the result.
bool receive_seeded(u32* to, const Message& x, const Basis& basis);

// One polynomial (limbs, n) from the words of a given stream. Throws when they are used up.
void sample_uniform(u32* to, std::span<const u64> stream, const Basis& basis);

}  // namespace securefair
