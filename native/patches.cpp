// The same product as gemm.cpp. Pairs of inputs become digits once for a tile of columns, however
// many places read them; a tile is as wide as keeps all pairs in the second-level cache.
#include "patches.hpp"

#include <algorithm>
#include <bit>

#include "gemm_simd.hpp"
#include "packed_weights.hpp"
#include "parallel.hpp"
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
    u32* to;
    std::size_t stride, offset, columns, limb, limbs;
    const std::vector<PackedPatch>* patches;
    const u32* bias;
    const Prime* prime;
};

}  // namespace

#define TARGET
namespace scalar {
#include "patches.inl"
}
#undef TARGET

#if SECUREFAIR_X86
#define TARGET TARGET_AVX2
namespace avx2 {
#include "patches.inl"
}
#undef TARGET
#define TARGET TARGET_AVX512
namespace avx512 {
#include "patches.inl"
}
#undef TARGET
#endif

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

}  // namespace

void linear_patches(u32* to, std::span<const u32* const> sources, std::span<const i64> pairs,
                    const std::vector<Patch>& patches, const u32* bias, std::size_t polys,
                    const Basis& basis) {
    std::vector<PackedPatch> packed;
    for (const Patch& patch : patches) packed.push_back(pack(patch, basis));
    const std::size_t limbs = basis.size(), n = basis[0]->n, count = pairs.size() / 2;
    const std::size_t fitting = std::bit_floor(std::max<std::size_t>(1, cached_words / (2 * count)));
    const std::size_t columns = std::min(n, std::clamp<std::size_t>(fitting, 16, most_columns));
    const std::size_t tiles = n / columns;
    // The widest register is the largest need: narrower ones fill the same words.
    const std::size_t words = columns / 16 * strip_words(count, 16) + columns * 16;
    parallel_for(polys * limbs * tiles, [&](std::size_t task) {
        const std::size_t row = task / tiles, column = task % tiles * columns, limb = row % limbs;
        const PatchTile tile{{sources, pairs},      to,    polys * limbs * n,
                             row * n + column,      columns, limb,
                             limbs,                 &packed, row < limbs ? bias : nullptr,
                             basis[limb]};
        multiply_patches(tile, scratch(words));
    });
}

}  // namespace securefair
