// Pieces of the product by patches, for columns that stay in the cache.
#pragma once

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "packed_weights.hpp"
#include "patches.hpp"

namespace securefair {

struct PairedRows {
    std::span<const u32* const> sources;
    std::span<const i64> pairs;
};

struct PackedPatch {
    PackedWeights weights;
    std::size_t outputs, pairs, places;
    const i64 *reads, *writes;
    // What is added to the outputs of all places, (limbs, places, outputs), of a first polynomial and
    // of others: what the digits leave out, and the bias.
    std::vector<u32> biased, plain;
};

// bias: (all outputs, limbs), or null.
std::vector<PackedPatch> pack(const std::vector<Patch>& patches, const u32* bias,
                              const Basis& basis);

// Columns of one limb of one polynomial, `first` or another: what to read and where to write.
struct PatchTile {
    PairedRows x;
    std::size_t offset;  // of the columns in every source
    u32* to;
    std::size_t stride, columns, limb;
    const std::vector<PackedPatch>* patches;
    bool first;
    const Prime* prime;
};

// strips: memory for `digit_words`.
void multiply_patches(const PatchTile& tile, u32* strips);

// Words for the digits of all pairs. The widest register is the largest need: narrower ones fill
// the same words.
inline std::size_t digit_words(std::size_t pairs, std::size_t columns) {
    return columns / 16 * strip_words(pairs, 16) + columns * 16;
}

// As many columns as keep so many words for each in the second-level cache, at most `most`.
inline std::size_t fitting_columns(std::size_t words, std::size_t most) {
    constexpr std::size_t cached_words = 192 * 1024, least = 16;
    const std::size_t fitting = std::bit_floor(std::max<std::size_t>(1, cached_words / words));
    return std::clamp(fitting, least, most);
}

}  // namespace securefair
