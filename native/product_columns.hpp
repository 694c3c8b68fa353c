// What every way to multiply a dense map with packed columns is given.
#pragma once

#include <cstddef>
#include <span>

#include "modular.hpp"

namespace securefair {

using Basis = std::span<const Tables* const>;

// Columns of one limb of all outputs: where they go, `stride` words apart, and what is added.
struct Product {
    u32* to;
    std::size_t stride, inputs, columns;
    const u32* constant;
    const Prime* prime;
};

}  // namespace securefair
