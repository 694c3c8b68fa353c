// The product runs on 16-bit digits. A residue less an offset has two signed digits and a weight has
// one, so AVX-512 VNNI does 16 multiply-additions of residues an instruction where float64 does 8
// (AVX2: 8 in two). The 32-bit sums are reduced before they can overflow.
#include "gemm.hpp"

#include <algorithm>
#include <vector>

#include "dense_map.hpp"
#include "gemm_simd.hpp"
#include "parallel.hpp"
#include "scratch.hpp"

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

namespace {

// What is added to each output: what the digits leave out, and the bias (outputs, limbs), which may
// be null, of the first polynomial. sums: of each output's weights, or zero of digits that leave
// nothing out.
std::vector<u32> output_constants(const std::vector<i64>& sums, const u32* bias, std::size_t polys,
                                  const Basis& basis) {
    const std::size_t limbs = basis.size(), outputs = sums.size();
    std::vector<u32> constants(polys * limbs * outputs);
    for (std::size_t poly = 0; poly < polys; ++poly)
        for (std::size_t limb = 0; limb < limbs; ++limb)
            for (std::size_t o = 0; o < outputs; ++o) {
                const i64 p = basis[limb]->p;
                const i64 sum = digit_constant(sums[o], basis[limb]->p);
                const i64 added = bias != nullptr && poly == 0 ? bias[o * limbs + limb] : 0;
                constants[(poly * limbs + limb) * outputs + o] =
                    static_cast<u32>((sum + added) % p);
            }
    return constants;
}

}  // namespace

PackedMap::PackedMap(const DenseMap& map, std::size_t polys, const Basis& basis)
    : inputs(map.inputs), outputs(map.outputs), weights_(map.weights, outputs, inputs) {
    std::vector<i64> left_out = weights_.sums;
    if (ByteWeights::pay(outputs, inputs)) {
        bytes_.emplace(map.weights, outputs, inputs);
        left_out.assign(outputs, 0);
    }
    constants_ = output_constants(left_out, map.bias, polys, basis);
}

std::size_t PackedMap::strips_words(std::size_t columns) const {
    // The widest register is the largest need, narrower ones fill the same words.
    const std::size_t words = bytes_ ? bytes_->strip_words() : strip_words((inputs + 1) / 2, 16);
    return columns / 16 * words + columns * 16;
}

void PackedMap::pack_pair(u32* strips, std::size_t k, const u32* first, const u32* second,
                          std::size_t columns, const Prime& q) const {
    if (bytes_) return bytes_->pack_pair(strips, k, first, second, columns);
    DISPATCH(pack_pair, strips, k, inputs, first, second, columns, q)
}

void PackedMap::pack_strips(u32* strips, const u32* x, std::size_t stride, std::size_t columns,
                            const Prime& q) const {
    if (bytes_) return bytes_->pack_strips(strips, x, stride, columns);
    DISPATCH(pack_strips, strips, x, stride, inputs, columns, q)
}

void PackedMap::multiply(u32* to, std::size_t stride, std::size_t row, const u32* strips,
                         std::size_t columns, const Prime& q) const {
    const Product product{to, stride, inputs, columns, &constants_[row * outputs], &q};
    if (bytes_) return bytes_->multiply(product, strips);
    DISPATCH(multiply_strips, product, weights_.blocks, strips)
}

void linear_layer(u32* to, const std::int32_t* weights, const u32* x, const u32* bias,
                  std::size_t outputs, std::size_t inputs, std::size_t polys, const Basis& basis) {
    const PackedMap map({weights, bias, outputs, inputs}, polys, basis);
    const std::size_t limbs = basis.size(), n = basis[0]->n, stride = polys * limbs * n;
    const std::size_t columns = std::min(n, tile_columns), tiles = n / columns;
    parallel_for(polys * limbs * tiles, [&](std::size_t task) {
        const std::size_t row = task / tiles, at = row * n + task % tiles * columns;
        const Prime& q = *basis[row % limbs];
        u32* const strips = scratch(map.strips_words(columns));
        map.pack_strips(strips, x + at, stride, columns, q);
        map.multiply(to + at, stride, row, strips, columns, q);
    });
}

}  // namespace securefair
