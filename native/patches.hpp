// Private affine maps that repeat small matrices at many places, on ciphertexts wherever they lie.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gemm.hpp"

namespace securefair {

// One matrix (outputs, inputs) at `places` places. A place reads ceil(inputs / 2) pairs of inputs
// and writes `outputs` outputs.
struct Patch {
    const std::int32_t* weights;
    std::size_t outputs, inputs, places;
    const i64* reads;   // (places, ceil(inputs / 2)), numbers of pairs
    const i64* writes;  // (places, outputs)
};

// to[writes[o]] = sum_k weights[o, k] x[k] + bias, residue by residue, for every place.
//
// sources: for every input where its residues (polys, limbs, n) begin; pairs: (count, 2) numbers
// of inputs, -1 for none; bias: (outputs, limbs) residues for the first polynomial.
void linear_patches(u32* to, std::span<const u32* const> sources, std::span<const i64> pairs,
                    const std::vector<Patch>& patches, const u32* bias, std::size_t polys,
                    const Basis& basis);

// The same for ciphertexts of two polynomials, each value y of it squared before it leaves the
// cache: to[g] = sum_t y[groups[g, t]]^2 with three polynomials.
//
// to: (groups, 3, limbs, n); groups: (count, terms) numbers of outputs.
void square_patches(u32* to, std::span<const u32* const> sources, std::span<const i64> pairs,
                    const std::vector<Patch>& patches, const u32* bias, std::size_t outputs,
                    std::span<const i64> groups, std::size_t terms, const Basis& basis);

}  // namespace securefair
