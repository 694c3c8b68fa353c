// The product runs on 16-bit digits. A residue less 2^30 has two signed digits and a weight has
// one, so AVX-512 VNNI does 16 multiply-additions of residues an instruction where float64 does 8
// (AVX2: 8 in two). The 32-bit sums are added up in doubles before they can overflow.
#include "gemm.hpp"

#include <algorithm>
#include <vector>

#include "gemm_simd.hpp"
#include "packed_weights.hpp"
#include "parallel.hpp"
#include "scratch.hpp"

namespace securefair {

namespace {

constexpr std::size_t tile_columns = 256;
// A tile's rows are far apart, so the processor does not foresee them: fetch some rows early.
constexpr std::size_t rows_ahead = 6;

// Columns of one limb: where to read and write them, what to add.
struct Tile {
    const u32* x;
    u32* to;
    std::size_t stride, inputs, columns;
    const double* constant;
    const Prime* prime;
};

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
                const i64 sum = digit_constant(packed.sums[o], p);
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
