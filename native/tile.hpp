// Pieces of an exact matrix product on columns that stay in the cache: residues become 16-bit digits
// once (`pack_*`), then all outputs are made of them (`multiply_strips`).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "modular.hpp"
#include "packed_weights.hpp"

namespace securefair {

using Basis = std::span<const Tables* const>;

// Words of the strips of so many columns of all inputs, whatever the instruction set: the widest
// register is the largest need, narrower ones fill the same words.
inline std::size_t strips_words(std::size_t inputs, std::size_t columns) {
    return columns / 16 * strip_words((inputs + 1) / 2, 16) + columns * 16;
}

// Digits of inputs 2k and 2k + 1 to their place in the strips; a null second row is zero.
void pack_pair(u32* strips, std::size_t k, std::size_t inputs, const u32* first, const u32* second,
               std::size_t columns, const Prime& q);

// The same of all inputs, whose rows lie `stride` words apart.
void pack_strips(u32* strips, const u32* x, std::size_t stride, std::size_t inputs,
                 std::size_t columns, const Prime& q);

// Columns of one limb of all outputs: where they go, `stride` words apart, and what is added.
struct Product {
    u32* to;
    std::size_t stride, inputs, columns;
    const u32* constant;
    const Prime* prime;
};

void multiply_strips(const Product& product, const std::vector<RowBlock>& blocks,
                     const u32* strips);

// What is added to each output, (polys, limbs, outputs): what the digits leave out, and the bias
// (outputs, limbs) of the first polynomial, which may be null.
std::vector<u32> output_constants(const PackedWeights& packed, const u32* bias,
                                     std::size_t polys, const Basis& basis);

}  // namespace securefair
