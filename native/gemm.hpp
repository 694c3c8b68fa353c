// A private linear layer on all residues at once: an exact integer matrix product.
#pragma once

#include <span>

#include "modular.hpp"

namespace securefair {

using Basis = std::span<const Tables* const>;

// to[o] = sum_i weights[o, i] x[i] + bias[o], residue by residue.
//
// weights: (outputs, inputs), |w| <= 32767; x: (inputs, polys, limbs, n); to: (outputs, polys,
// limbs, n); bias: (outputs, limbs) residues that are added to every value of the first
// polynomial, or null.
void linear_layer(u32* to, const std::int32_t* weights, const u32* x, const u32* bias,
                  std::size_t outputs, std::size_t inputs, std::size_t polys, const Basis& basis);

}  // namespace securefair
