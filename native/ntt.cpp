#include "ntt.hpp"

#include <bit>

#include "simd.hpp"

#define TARGET
namespace securefair::scalar {
#include "ntt.inl"
}
#undef TARGET

#if SECUREFAIR_X86
#define TARGET TARGET_AVX2
namespace securefair::avx2 {
#include "ntt.inl"
}
#undef TARGET
#define TARGET TARGET_AVX512
namespace securefair::avx512 {
#include "ntt.inl"
}
#undef TARGET
#endif

namespace securefair {

void ntt_forward(u32* row, const Tables& t) { DISPATCH(ntt_forward, row, t) }

void ntt_inverse(u32* row, const Tables& t) { DISPATCH(ntt_inverse, row, t) }

}  // namespace securefair
