#include "ntt.hpp"

#include <bit>

#include "simd.hpp"

#define KERNELS "ntt.inl"
#include "each_target.inl"

namespace securefair {

void ntt_forward(u32* row, const Tables& t) { DISPATCH(ntt_forward, row, t) }

void ntt_inverse(u32* row, const Tables& t) { DISPATCH(ntt_inverse, row, t) }

}  // namespace securefair
