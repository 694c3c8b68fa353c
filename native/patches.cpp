// The same product as gemm.cpp. Pairs of inputs become digits once for a tile of columns, however
// many places read them; a tile is as wide as keeps all pairs in the second-level cache.
#include "patches.hpp"

#include <algorithm>

#include "gemm_simd.hpp"
#include "parallel.hpp"
#include "patch_tile.hpp"
#include "rows.hpp"
#include "scratch.hpp"

namespace securefair {

namespace {

constexpr std::size_t most_columns = 256;
// A tile's rows are far apart, so the processor does not foresee them: fetch some rows early.
constexpr std::size_t pairs_ahead = 4;

}  // namespace

}  // namespace securefair

#define KERNELS "patches.inl"
#include "each_target.inl"

namespace securefair {

void multiply_patches(const PatchTile& tile, u32* strips) {
    DISPATCH(multiply_patches, tile, strips)
}

namespace {

PackedPatch pack(const Patch& patch, const u32* bias, const Basis& basis) {
    PackedPatch packed{PackedWeights(patch.weights, patch.outputs, patch.inputs),
                       patch.outputs,
                       (patch.inputs + 1) / 2,
                       patch.places,
                       patch.reads,
                       patch.writes,
                       {},
                       {}};
    for (std::size_t limb = 0; limb < basis.size(); ++limb) {
        const u32 p = basis[limb]->p;
        for (std::size_t i = 0; i < patch.places * patch.outputs; ++i) {
            const i64 left_out = digit_constant(packed.weights.sums[i % patch.outputs], p);
            const std::size_t at = static_cast<std::size_t>(patch.writes[i]) * basis.size() + limb;
            const i64 added = bias != nullptr ? bias[at] : 0;
            packed.plain.push_back(static_cast<u32>(left_out));
            packed.biased.push_back(static_cast<u32>((left_out + added) % p));
        }
    }
    return packed;
}

}  // namespace

std::vector<PackedPatch> pack(const std::vector<Patch>& patches, const u32* bias,
                              const Basis& basis) {
    std::vector<PackedPatch> packed;
    for (const Patch& patch : patches) packed.push_back(pack(patch, bias, basis));
    return packed;
}

void linear_patches(u32* to, std::span<const u32* const> sources, std::span<const i64> pairs,
                    const std::vector<Patch>& patches, const u32* bias, std::size_t polys,
                    const Basis& basis) {
    const auto packed = pack(patches, bias, basis);
    const std::size_t limbs = basis.size(), n = basis[0]->n, count = pairs.size() / 2;
    const std::size_t columns = fitting_columns(2 * count, std::min(n, most_columns)), tiles = n / columns;
    parallel_for(polys * limbs * tiles, [&](std::size_t task) {
        const std::size_t row = task / tiles, limb = row % limbs;
        const std::size_t offset = row * n + task % tiles * columns;
        const PatchTile tile{{sources, pairs}, offset, to + offset, polys * limbs * n, columns,
                             limb, &packed, row < limbs, basis[limb]};
        multiply_patches(tile, scratch(digit_words(count, columns)));
    });
}

void square_patches(u32* to, std::span<const u32* const> sources, std::span<const i64> pairs,
                    const std::vector<Patch>& patches, const u32* bias, std::size_t outputs,
                    std::span<const i64> groups, std::size_t terms, const Basis& basis) {
    const auto packed = pack(patches, bias, basis);
    const std::size_t limbs = basis.size(), n = basis[0]->n, poly = limbs * n;
    const std::size_t count = pairs.size() / 2;
    const std::size_t columns =
        fitting_columns(2 * count + 2 * outputs, std::min(n, most_columns));
    const std::size_t tiles = n / columns;
    const std::size_t digits = digit_words(count, columns);
    parallel_for(limbs * tiles, [&](std::size_t task) {
        const std::size_t limb = task / tiles, offset = limb * n + task % tiles * columns;
        u32* const memory = scratch(digits + 2 * outputs * columns);
        u32* const values = memory + digits;  // (polys, outputs, columns)
        for (std::size_t part = 0; part < 2; ++part) {
            const PatchTile tile{{sources, pairs}, part * poly + offset,
                                 values + part * outputs * columns, columns, columns, limb,
                                 &packed, part == 0, basis[limb]};
            multiply_patches(tile, memory);
        }
        thread_local std::vector<Pair> factors;
        factors.resize(terms);
        for (std::size_t g = 0; g * terms < groups.size(); ++g) {
            for (std::size_t t = 0; t < terms; ++t) {
                const u32* const at =
                    values + static_cast<std::size_t>(groups[g * terms + t]) * columns;
                factors[t] = {at, at + outputs * columns};
            }
            u32* const at = to + 3 * g * poly + offset;
            const Triple target{at, at + poly, at + 2 * poly};
            sum_squares(target, factors.data(), terms, columns, *basis[limb]);
        }
    });
}

}  // namespace securefair
