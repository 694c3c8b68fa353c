// Dense maps on ciphertexts as they arrived, tile by tile: what a seed stands for is made, multiplied
// and dropped while it is in the cache, and so is everything between two maps.
#pragma once

#include <span>

#include "modular.hpp"
#include "prng.hpp"

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

// Without an outer map to = inner(x), (outputs, 2, limbs, n); with one to = outer(inner(x)^2),
// (outputs, 3, limbs, n).
void apply_maps(u32* to, const Arrived& x, const DenseMap& inner, const DenseMap* outer,
                const Basis& basis);

}  // namespace securefair
