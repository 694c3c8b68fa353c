// The same product as gemm.cpp. Pairs of inputs become digits once for a tile of columns, however
// many places read them; a tile is as wide as keeps all pairs in the second-level cache.
#include "patches.hpp"

#include <algorithm>
#include <bit>

#include "gemm_simd.hpp"
#include "packed_weights.hpp"
#include "parallel.hpp"
#include "rows.hpp"
#include "scratch.hpp"

namespace securefair {

namespace {

constexpr std::size_t cached_words = 192 * 1024;
constexpr std::size_t most_columns = 256;
// A tile's rows are far apart, so the processor does not foresee them: fetch some rows early.
constexpr std::size_t pairs_ahead = 4;

struct PairedRows {
    std::span<const u32* const> sources;
    std::span<const i64> pairs;
};

struct PackedPatch {
    PackedWeights weights;
    std::size_t outputs, pairs, places;
    const i64 *reads, *writes;
    std::vector<u32> constants;  // (limbs, outputs), what the digits leave out
};

// Columns of one limb of one polynomial: what to read, where to write, what to add.
struct PatchTile {
    PairedRows x;
    std::size_t offset;  // of the columns in every source
    u32* to;
    std::size_t stride, columns, limb, limbs;
    const std::vector<PackedPatch>* patches;
    const u32* bias;
    const Prime* prime;
};

}  // namespace

}  // namespace securefair

#define KERNELS "patches.inl"
#include "each_target.inl"

namespace securefair {

namespace {

void multiply_patches(const PatchTile& tile, u32* strips) {
    DISPATCH(multiply_patches, tile, strips)
}

PackedPatch pack(const Patch& patch, const Basis& basis) {
    PackedPatch packed{PackedWeights(patch.weights, patch.outputs, patch.inputs),
                       patch.outputs,
                       (patch.inputs + 1) / 2,
                       patch.places,
                       patch.reads,
                       patch.writes,
                       {}};
    for (const Tables* const q : basis)
        for (const i64 sum : packed.weights.sums)
            packed.constants.push_back(static_cast<u32>(digit_constant(sum, q->p)));
    return packed;
}

std::vector<PackedPatch> pack(const std::vector<Patch>& patches, const Basis& basis) {
    std::vector<PackedPatch> packed;
    for (const Patch& patch : patches) packed.push_back(pack(patch, basis));
    return packed;
}

// As many columns as keep so many words for each in the cache.
std::size_t fitting_columns(std::size_t words, std::size_t n) {
    const std::size_t fitting = std::bit_floor(std::max<std::size_t>(1, cached_words / words));
    return std::min(n, std::clamp<std::size_t>(fitting, 16, most_columns));
}

// Words for the digits of all pairs. The widest register is the largest need: narrower ones fill
// the same words.
std::size_t digit_words(std::size_t pairs, std::size_t columns) {
    return columns / 16 * strip_words(pairs, 16) + columns * 16;
}

}  // namespace

void linear_patches(u32* to, std::span<const u32* const> sources, std::span<const i64> pairs,
                    const std::vector<Patch>& patches, const u32* bias, std::size_t polys,
                    const Basis& basis) {
    const auto packed = pack(patches, basis);
    const std::size_t limbs = basis.size(), n = basis[0]->n, count = pairs.size() / 2;
    const std::size_t columns = fitting_columns(2 * count, n), tiles = n / columns;
    parallel_for(polys * limbs * tiles, [&](std::size_t task) {
        const std::size_t row = task / tiles, limb = row % limbs;
        const std::size_t offset = row * n + task % tiles * columns;
        const PatchTile tile{{sources, pairs}, offset, to + offset, polys * limbs * n, columns,
                             limb, limbs, &packed, row < limbs ? bias : nullptr, basis[limb]};
        multiply_patches(tile, scratch(digit_words(count, columns)));
    });
}

void square_patches(u32* to, std::span<const u32* const> sources, std::span<const i64> pairs,
                    const std::vector<Patch>& patches, const u32* bias, std::size_t outputs,
                    std::span<const i64> groups, std::size_t terms, const Basis& basis) {
    const auto packed = pack(patches, basis);
    const std::size_t limbs = basis.size(), n = basis[0]->n, poly = limbs * n;
    const std::size_t count = pairs.size() / 2;
    const std::size_t columns = fitting_columns(2 * count + 2 * outputs, n), tiles = n / columns;
    const std::size_t digits = digit_words(count, columns);
    parallel_for(limbs * tiles, [&](std::size_t task) {
        const std::size_t limb = task / tiles, offset = limb * n + task % tiles * columns;
        u32* const memory = scratch(digits + 2 * outputs * columns);
        u32* const values = memory + digits;  // (polys, outputs, columns)
        for (std::size_t part = 0; part < 2; ++part) {
            const PatchTile tile{{sources, pairs}, part * poly + offset,
                                 values + part * outputs * columns, columns, columns, limb, limbs,
                                 &packed, part == 0 ? bias : nullptr, basis[limb]};
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
            if (terms == 1)
                square(target, factors[0], columns, *basis[limb]);
            else
                sum_products(target, factors.data(), factors.data(), terms, columns, *basis[limb]);
        }
    });
}

}  // namespace securefair
