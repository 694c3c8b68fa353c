// The product runs on 16-bit digits. A residue less 2^30 has two signed digits and a weight has
// one, so AVX-512 VNNI does 16 multiply-additions of residues an instruction where float64 does 8
// (AVX2: 8 in two). The 32-bit sums are added up in doubles before they can overflow.
#include "gemm.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "gemm_simd.hpp"
#include "parallel.hpp"
#include "scratch.hpp"

namespace securefair {

namespace {

constexpr std::size_t most_rows = 8;
constexpr std::size_t tile_columns = 256;
// A tile's rows are far apart, so the processor does not foresee them: fetch some rows early.
constexpr std::size_t rows_ahead = 6;
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

// Columns of one limb: where to read and write them, what to add.
struct Tile {
    const u32* x;
    u32* to;
    std::size_t stride, inputs, columns;
    const double* constant;
    const Prime* prime;
};

// An odd number of cache lines, so that strips do not compete for the same places of the cache.
std::size_t strip_words(std::size_t pairs, std::size_t width) { return 2 * pairs * width + 16; }

}  // namespace

#define TARGET
namespace scalar {
#include "gemm.inl"
}
#undef TARGET

#if SECUREFAIR_X86
#define TARGET TARGET_AVX2
namespace avx2 {
#include "gemm.inl"
}
#undef TARGET
#define TARGET TARGET_AVX512
namespace avx512 {
#include "gemm.inl"
}
#undef TARGET
#endif

namespace {

void multiply_tile(const Tile& tile, const std::vector<RowBlock>& blocks, u32* strips) {
    DISPATCH(multiply_tile, tile, blocks, strips)
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

}  // namespace

void linear_layer(u32* to, const std::int32_t* weights, const u32* x, const u32* bias,
                  std::size_t outputs, std::size_t inputs, std::size_t polys, const Basis& basis) {
    const PackedWeights packed(weights, outputs, inputs);
    const std::size_t limbs = basis.size(), n = basis[0]->n, stride = polys * limbs * n;
    // What the digits leave out, 2^30 sum_i w_i, and the bias of the first polynomial.
    std::vector<double> constants(polys * limbs * outputs);
    for (std::size_t poly = 0; poly < polys; ++poly)
        for (std::size_t limb = 0; limb < limbs; ++limb)
            for (std::size_t o = 0; o < outputs; ++o) {
                const i64 p = basis[limb]->p;
                const i64 sum = (packed.sums[o] % p + p) % p * ((i64{1} << 30) % p) % p;
                const i64 added = bias != nullptr && poly == 0 ? bias[o * limbs + limb] : 0;
                constants[(poly * limbs + limb) * outputs + o] =
                    static_cast<double>((sum + added) % p);
            }
    const std::size_t columns = std::min(n, tile_columns), tiles = n / columns;
    // The widest register is the largest need: narrower ones fill the same words.
    const std::size_t words = columns / 16 * strip_words((inputs + 1) / 2, 16) + columns * 16;
    parallel_for(polys * limbs * tiles, [&](std::size_t task) {
        const std::size_t row = task / tiles, column = task % tiles * columns;
        const Tile tile{x + row * n + column, to + row * n + column,
                        stride, inputs, columns, &constants[row * outputs], basis[row % limbs]};
        multiply_tile(tile, packed.blocks, scratch(words));
    });
}

}  // namespace securefair
