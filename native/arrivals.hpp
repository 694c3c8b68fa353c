// Dense maps on ciphertexts as they arrived, tile by tile: what a seed stands for is made,
// multiplied and dropped while it is in the cache.
#pragma once

#include <functional>
#include <span>

#include "modular.hpp"
#include "prng.hpp"
#include "tile.hpp"

namespace securefair {

struct Arrived : Message {
    // Second polynomials (count, limbs, n): null where they are made and dropped. Else they are read
    // if they are `known`, and written where not.
    u32* second;
    bool known;
};

// As of `linear_layer`.
struct DenseMap {
    const std::int32_t* weights;
    const u32* bias;
    std::size_t outputs, inputs;
};

// The same in the order in which it is read, for ciphertexts of so many polynomials.
struct PackedMap {
    PackedWeights weights;
    std::vector<u32> constants;
    std::size_t inputs, outputs;

    PackedMap(const DenseMap& map, std::size_t polys, const Basis& basis)
        : weights(map.weights, map.outputs, map.inputs),
          constants(output_constants(weights, map.bias, polys, basis)),
          inputs(map.inputs),
          outputs(map.outputs) {}

    // Columns of one polynomial (`row` counts polynomials and limbs) of all outputs.
    void multiply(u32* to, std::size_t stride, std::size_t row, const u32* strips,
                  std::size_t columns, const Prime& q) const {
        const Product product{to, stride, inputs, columns, &constants[row * outputs], &q};
        multiply_strips(product, weights.blocks, strips);
    }
};

// Columns of one limb of a map's outputs, (outputs, 2, count), and memory for what follows.
struct Tile {
    std::size_t limb, first, count;
    const u32* values;
    u32* memory;
};

constexpr std::size_t most_columns = 256;

// Calls body(tile) for all columns of all limbs, on all threads, with `memory` words each.
void for_each_tile(const Arrived& x, const PackedMap& map, std::size_t memory, const Basis& basis,
                   const std::function<void(const Tile&)>& body);

}  // namespace securefair
