// Weights in the order in which the matrix product reads them, and where its sums must be folded.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <utility>
#include <vector>

#include "modular.hpp"

namespace securefair {

constexpr std::size_t most_rows = 8;
constexpr std::int32_t largest_weight = 32767;

// A digit is at most 2^15: below this sum of absolute weights a 32-bit sum cannot overflow.
constexpr i64 chunk_limit = 65535;

// A residue less 2^30 is at most 2^30: the doubles stay exact below 2^53.
constexpr i64 fold_limit = (i64{1} << 22);

// Pairs of inputs that are added up in 32 bits; `fold`: reduce the doubles afterwards.
struct Chunk {
    std::size_t pairs;
    bool fold;
};

// Up to eight outputs: for every pair of inputs, one word with two weights for each output.
struct RowBlock {
    std::size_t first, rows;
    const u32* weights;
    std::vector<Chunk> chunks;
};

// An odd number of cache lines, so that strips do not compete for the same places of the cache.
inline std::size_t strip_words(std::size_t pairs, std::size_t width) {
    return 2 * pairs * width + 16;
}

struct PackedWeights {
    std::vector<u32> words;
    std::vector<RowBlock> blocks;
    std::vector<i64> sums;  // of each output's weights

    PackedWeights(const std::int32_t* weights, std::size_t outputs, std::size_t inputs) {
        const std::size_t pairs = (inputs + 1) / 2;
        const auto at = [&](std::size_t o, std::size_t i) {
            return i < inputs ? weights[o * inputs + i] : 0;
        };
        words.resize(outputs * pairs);
        u32* to = words.data();
        const std::size_t count = (outputs + most_rows - 1) / most_rows;
        for (std::size_t b = 0; b < count; ++b) {
            const std::size_t first = b * outputs / count, last = (b + 1) * outputs / count;
            RowBlock block{first, last - first, to, {}};
            i64 in_chunk[most_rows] = {}, in_total[most_rows] = {};
            std::size_t start = 0;
            for (std::size_t k = 0; k < pairs; ++k) {
                bool full = false, large = false;
                i64 size[most_rows];
                for (std::size_t o = first; o < last; ++o) {
                    const std::int32_t w0 = at(o, 2 * k), w1 = at(o, 2 * k + 1);
                    const auto [least, most] = std::minmax(w0, w1);
                    if (least < -largest_weight || most > largest_weight)
                        throw std::invalid_argument("weight beyond 15 bits");
                    *to++ = (static_cast<u32>(w0) & 0xFFFF) | static_cast<u32>(w1) << 16;
                    const std::size_t r = o - first;
                    size[r] = std::abs(w0) + std::abs(w1);
                    full |= in_chunk[r] + size[r] > chunk_limit;
                    large |= in_total[r] + size[r] > fold_limit - chunk_limit;
                }
                if (full) {
                    block.chunks.push_back({k - start, large});
                    start = k;
                    std::fill_n(in_chunk, most_rows, 0);
                    if (large) std::fill_n(in_total, most_rows, 0);
                }
                for (std::size_t r = 0; r < block.rows; ++r) {
                    in_chunk[r] += size[r];
                    in_total[r] += size[r];
                }
            }
            block.chunks.push_back({pairs - start, true});
            blocks.push_back(std::move(block));
        }
        for (std::size_t o = 0; o < outputs; ++o) {
            i64 sum = 0;
            for (std::size_t i = 0; i < inputs; ++i) sum += at(o, i);
            sums.push_back(sum);
        }
    }
};

// What the digits of one output leave out, 2^30 times the sum of its weights, modulo p.
inline i64 digit_constant(i64 sum, i64 p) {
    return (sum % p + p) % p * ((i64{1} << 30) % p) % p;
}

}  // namespace securefair
