// Dense maps on ciphertexts as they arrived, tile by tile: what a seed stands for is made,
// multiplied and dropped while it is in the cache.
#pragma once

#include <functional>
#include <span>

#include "dense_map.hpp"
#include "modular.hpp"
#include "prng.hpp"

namespace securefair {

struct Arrived : Message {
    // Second polynomials (count, limbs, n): null where they are made and dropped. Else they are read
    // if they are `known`, and written where not.
    u32* second;
    bool known;
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
