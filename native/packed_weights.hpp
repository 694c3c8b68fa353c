// Weights in the order in which the matrix product reads them, and where its sums must be reduced.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>
#include <utility>
#include <vector>

#include "modular.hpp"

namespace securefair {

constexpr std::size_t most_rows = 8;
constexpr std::int32_t largest_weight = 32767;

// A residue as two signed digits: x = low + 2^bits high + offset, half of the prime, so that both
// are at most 2^(bits - 1) + 1. Digits of short primes are short: more of their products fit a sum
// of 32 bits.
struct Digits {
    unsigned bits;
    u32 offset, rounding;  // high = (x + rounding) >> bits

    explicit Digits(u32 p) : Digits(p, p < (u32{1} << 28) ? 14 : p < (u32{1} << 30) ? 15 : 16) {}

    Digits(u32 p, unsigned bits_)
        : bits(bits_),
          offset(p >> (bits + 1) << bits),
          rounding((u32{1} << (bits - 1)) - offset) {}
};

// Up to this sum of absolute weights a 32-bit sum of such digits cannot overflow.
constexpr i64 chunk_limit(unsigned bits) {
    return ((i64{1} << 31) - 1) / ((i64{1} << (bits - 1)) + 1);
}

// What sums of digits are reduced by. A sum over a chunk is below 2^19.4 p, as p > smallest_prime:
// the nearest multiple of p, found in float32, is at most one sixth of p too far.
struct Reduction {
    Digits digits;
    u32 p;
    float inverse, base_inverse;  // 1 / p, 2^bits / p

    explicit Reduction(u32 prime) : Reduction(prime, Digits(prime).bits) {}

    // Of low + 2^bits high.
    Reduction(u32 prime, unsigned bits)
        : digits(prime, bits),
          p(prime),
          inverse(static_cast<float>(1.0 / prime)),
          base_inverse(static_cast<float>(static_cast<double>(u32{1} << digits.bits) / prime)) {}
};

// Up to eight outputs: for every pair of inputs, one word with two weights for each output.
struct RowBlock {
    std::size_t first, rows;
    const u32* weights;
    // Pairs of inputs that are added up in 32 bits, for digits of 14, 15 and 16 bits.
    std::array<std::vector<std::size_t>, 3> chunks_of;

    const std::vector<std::size_t>& chunks(const Digits& digits) const {
        return chunks_of[digits.bits - 14];
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
            const auto cut = [&](unsigned bits) {
                return chunks(pairs, chunk_limit(bits), first, last,
                              [&](std::size_t o, std::size_t k) -> i64 {
                                  return std::abs(at(o, 2 * k)) + std::abs(at(o, 2 * k + 1));
                              });
            };
            blocks.push_back({first, last - first, to - (last - first) * pairs,
                              {cut(14), cut(15), cut(16)}});
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
    static std::vector<std::size_t> chunks(std::size_t pairs, i64 limit, std::size_t first,
                                           std::size_t last, const Size& size) {
        std::vector<std::size_t> result;
        i64 in_chunk[most_rows] = {};
        std::size_t start = 0;
        for (std::size_t k = 0; k < pairs; ++k) {
            bool full = false;
            for (std::size_t o = first; o < last; ++o)
                full |= in_chunk[o - first] + size(o, k) > limit;
            if (full) {
                result.push_back(k - start);
                start = k;
                std::fill_n(in_chunk, most_rows, 0);
            }
            for (std::size_t o = first; o < last; ++o) in_chunk[o - first] += size(o, k);
        }
        result.push_back(pairs - start);
        return result;
    }
};

// What the digits of one output leave out, the offset times the sum of its weights, modulo p.
inline i64 digit_constant(i64 sum, u32 p) {
    const i64 q = p;
    return (sum % q + q) % q * (Digits(p).offset % q) % q;
}

}  // namespace securefair
