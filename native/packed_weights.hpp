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

// A residue as two signed digits: x = low + 2^bits high + offset. Digits of short primes are short:
// more of their products fit a sum of 32 bits.
struct Digits {
    unsigned bits;
    u32 offset, rounding;  // high = (x + rounding) >> bits
    i64 chunk_limit;       // below this sum of absolute weights a 32-bit sum cannot overflow

    explicit Digits(u32 p) : Digits(p < (u32{1} << 28)) {}

    double base() const { return static_cast<double>(u32{1} << bits); }

    // Short: |low|, |high| <= 2^13. Else: |low| <= 2^15, |high| <= 2^14.
    explicit Digits(bool small)
        : bits(small ? 14 : 16),
          offset(u32{1} << (small ? 27 : 30)),
          rounding((u32{1} << (bits - 1)) - offset),
          chunk_limit((i64{1} << (small ? 18 : 16)) - 1) {}
};

// What sums of digits are reduced by.
struct Reduction {
    Digits digits;
    double p, inverse, base;

    explicit Reduction(u32 prime)
        : digits(prime), p(prime), inverse(1.0 / prime), base(digits.base()) {}
};

// A residue less its offset is at most 2^30: the doubles stay exact below 2^53.
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
    std::vector<Chunk> long_chunks, short_chunks;

    const std::vector<Chunk>& chunks(const Digits& digits) const {
        return digits.bits == 14 ? short_chunks : long_chunks;
    }
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
            for (std::size_t k = 0; k < pairs; ++k)
                for (std::size_t o = first; o < last; ++o) {
                    const std::int32_t w0 = at(o, 2 * k), w1 = at(o, 2 * k + 1);
                    const auto [least, most] = std::minmax(w0, w1);
                    if (least < -largest_weight || most > largest_weight)
                        throw std::invalid_argument("weight beyond 15 bits");
                    *to++ = (static_cast<u32>(w0) & 0xFFFF) | static_cast<u32>(w1) << 16;
                }
            const auto cut = [&](i64 limit) {
                return chunks(pairs, limit, first, last, [&](std::size_t o, std::size_t k) -> i64 {
                    return std::abs(at(o, 2 * k)) + std::abs(at(o, 2 * k + 1));
                });
            };
            blocks.push_back({first, last - first, to - (last - first) * pairs,
                              cut(Digits(false).chunk_limit), cut(Digits(true).chunk_limit)});
        }
        for (std::size_t o = 0; o < outputs; ++o) {
            i64 sum = 0;
            for (std::size_t i = 0; i < inputs; ++i) sum += at(o, i);
            sums.push_back(sum);
        }
    }

private:
    // Pairs 0 .. pairs of outputs first .. last, cut where a 32-bit sum could overflow. size(o, k):
    // the sum of absolute weights of a pair.
    template <typename Size>
    static std::vector<Chunk> chunks(std::size_t pairs, i64 limit, std::size_t first,
                                     std::size_t last, const Size& size) {
        std::vector<Chunk> result;
        i64 in_chunk[most_rows] = {}, in_total[most_rows] = {};
        std::size_t start = 0;
        for (std::size_t k = 0; k < pairs; ++k) {
            bool full = false, large = false;
            for (std::size_t o = first; o < last; ++o) {
                full |= in_chunk[o - first] + size(o, k) > limit;
                large |= in_total[o - first] + size(o, k) > fold_limit - limit;
            }
            if (full) {
                result.push_back({k - start, large});
                start = k;
                std::fill_n(in_chunk, most_rows, 0);
                if (large) std::fill_n(in_total, most_rows, 0);
            }
            for (std::size_t o = first; o < last; ++o) {
                in_chunk[o - first] += size(o, k);
                in_total[o - first] += size(o, k);
            }
        }
        result.push_back({pairs - start, true});
        return result;
    }
};

// What the digits of one output leave out, the offset times the sum of its weights, modulo p.
inline i64 digit_constant(i64 sum, u32 p) {
    const i64 q = p;
    return (sum % q + q) % q * (Digits(p).offset % q) % q;
}

}  // namespace securefair
