// Dense maps of columns that stay in the cache: residues become digits once (`pack_*`), then all
// outputs are made of them (`multiply`).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "gemm_bytes.hpp"
#include "modular.hpp"
#include "packed_weights.hpp"
#include "product_columns.hpp"

namespace securefair {

// As of `linear_layer`.
struct DenseMap {
    const std::int32_t* weights;
    const u32* bias;
    std::size_t outputs, inputs;
};

// A map in the order in which it is read, for ciphertexts of so many polynomials: as 16-bit digits
// for vector registers, or as bytes for matrix registers where they are faster.
class PackedMap {
public:
    PackedMap(const DenseMap& map, std::size_t polys, const Basis& basis);

    // Words of the strips of so many columns of all inputs.
    std::size_t strips_words(std::size_t columns) const;

    // Digits of inputs 2k and 2k + 1 to their place in the strips; a null second row is zero.
    void pack_pair(u32* strips, std::size_t k, const u32* first, const u32* second,
                   std::size_t columns, const Prime& q) const;

    // The same of all inputs, whose rows lie `stride` words apart.
    void pack_strips(u32* strips, const u32* x, std::size_t stride, std::size_t columns,
                     const Prime& q) const;

    // Columns of one polynomial (`row` counts polynomials and limbs) of all outputs.
    void multiply(u32* to, std::size_t stride, std::size_t row, const u32* strips,
                  std::size_t columns, const Prime& q) const;

    const std::size_t inputs, outputs;

private:
    PackedWeights weights_;
    std::optional<ByteWeights> bytes_;
    // What is added to each output, (polys, limbs, outputs): what the digits leave out, and the
    // bias of the first polynomial.
    std::vector<u32> constants_;
};

}  // namespace securefair
