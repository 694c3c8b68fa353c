// The first two maps of a network on ciphertexts as they arrived, tile by tile: what seeds stand for,
// values and their squares are made and dropped while they are in the cache.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "patches.hpp"

namespace securefair {

// Ciphertexts as they arrived, wherever they lie: packed first polynomials, and (count, 64) bytes.
struct ArrivedRows {
    std::vector<const std::uint8_t*> first;
    std::vector<std::uint8_t> seeds;
};

// A map: `reads` says which ciphertext each input is, all else is as of `linear_patches`.
struct PatchMap {
    std::span<const i64> reads, pairs;
    std::vector<Patch> patches;
    const u32* bias;
    std::size_t outputs;
};

// A map whose values are squared and added up, as of `square_patches`.
struct SquaredMap : PatchMap {
    std::span<const i64> groups;
    std::size_t terms;

    std::size_t sums() const { return groups.size() / terms; }
};

// to = outer(sums), (outputs, 3, limbs, n). The sums of all bands, one after the other, are what
// `outer` reads.
void apply_patched_quadratic(u32* to, const ArrivedRows& x, const std::vector<SquaredMap>& bands,
                             const PatchMap& outer, const Basis& basis);

}  // namespace securefair
