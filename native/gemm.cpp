// The product runs on 16-bit digits. A residue less an offset has two signed digits and a weight has
// one, so AVX-512 VNNI does 16 multiply-additions of residues an instruction where float64 does 8
// (AVX2: 8 in two). The 32-bit sums are reduced before they can overflow.
#include "gemm.hpp"

#include <algorithm>
#include <vector>

#include "gemm_simd.hpp"
#include "parallel.hpp"
#include "scratch.hpp"
#include "tile.hpp"

namespace securefair {

namespace {

constexpr std::size_t tile_columns = 256;
// A tile's rows are far apart, so the processor does not foresee them: fetch some rows early.
constexpr std::size_t rows_ahead = 6;

}  // namespace

}  // namespace securefair

#define KERNELS "gemm.inl"
#include "each_target.inl"

namespace securefair {

void pack_pair(u32* strips, std::size_t k, std::size_t inputs, const u32* first, const u32* second,
               std::size_t columns, const Prime& q) {
    DISPATCH(pack_pair, strips, k, inputs, first, second, columns, q)
}

void pack_strips(u32* strips, const u32* x, std::size_t stride, std::size_t inputs,
                 std::size_t columns, const Prime& q) {
    DISPATCH(pack_strips, strips, x, stride, inputs, columns, q)
}

void multiply_strips(const Product& product, const std::vector<RowBlock>& blocks,
                     const u32* strips) {
    DISPATCH(multiply_strips, product, blocks, strips)
}

std::vector<u32> output_constants(const PackedWeights& packed, const u32* bias,
                                     std::size_t polys, const Basis& basis) {
    const std::size_t limbs = basis.size(), outputs = packed.sums.size();
    std::vector<u32> constants(polys * limbs * outputs);
    for (std::size_t poly = 0; poly < polys; ++poly)
        for (std::size_t limb = 0; limb < limbs; ++limb)
            for (std::size_t o = 0; o < outputs; ++o) {
                const i64 p = basis[limb]->p;
                const i64 sum = digit_constant(packed.sums[o], basis[limb]->p);
                const i64 added = bias != nullptr && poly == 0 ? bias[o * limbs + limb] : 0;
                constants[(poly * limbs + limb) * outputs + o] =
                    static_cast<u32>((sum + added) % p);
            }
    return constants;
}

void linear_layer(u32* to, const std::int32_t* weights, const u32* x, const u32* bias,
                  std::size_t outputs, std::size_t inputs, std::size_t polys, const Basis& basis) {
    const PackedWeights packed(weights, outputs, inputs);
    const std::size_t limbs = basis.size(), n = basis[0]->n, stride = polys * limbs * n;
    const std::vector<u32> constants = output_constants(packed, bias, polys, basis);
    const std::size_t columns = std::min(n, tile_columns), tiles = n / columns;
    parallel_for(polys * limbs * tiles, [&](std::size_t task) {
        const std::size_t row = task / tiles, column = task % tiles * columns;
        u32* const strips = scratch(strips_words(inputs, columns));
        pack_strips(strips, x + row * n + column, stride, inputs, columns, *basis[row % limbs]);
        const Product product{to + row * n + column, stride,        inputs, columns,
                              &constants[row * outputs], basis[row % limbs]};
        multiply_strips(product, packed.blocks, strips);
    });
}

}  // namespace securefair
