#include "ntt.hpp"

#include <bit>

#include "rows.hpp"
#include "simd.hpp"

namespace securefair {
namespace {

// How often butterflies reduce values: as far as `fully` says at once, to below 4p from stage to
// stage, or never before the last, as there is room for 2p more a stage.
enum class Lazy { fully, halfway, never };

}  // namespace
}  // namespace securefair

#define KERNELS "ntt.inl"
#include "each_target.inl"

namespace securefair {

namespace {

void forward(u32* to, const u32* from, Lazy lazy, const Tables& t) {
    DISPATCH(ntt_forward, to, from, lazy, t)
}

}  // namespace

void ntt_forward(u32* to, const u32* from, u64 below, const Tables& t) {
    constexpr u64 word = u64{1} << 32;
    const u64 p = t.p, growth = 2 * p * static_cast<u64>(std::countr_zero(t.n));
    if (below + growth <= word) return forward(to, from, Lazy::never, t);
    if (below > (4 * p <= word ? 4 * p : p)) {
        reduce(to, from, t.n, t);
        from = to;
    }
    const Lazy lazy = p + growth <= word ? Lazy::never : 4 * p <= word ? Lazy::halfway : Lazy::fully;
    forward(to, from, lazy, t);
}

void ntt_forward(u32* row, const Tables& t) { ntt_forward(row, row, t.p, t); }

void ntt_inverse(u32* row, const Tables& t) { DISPATCH(ntt_inverse, row, t) }

}  // namespace securefair
