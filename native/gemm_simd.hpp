// Vector operations of the matrix product: 16-bit pairs, and 32-bit sums of them modulo a prime.
//
// A word of `pack_low` or `pack_high` holds 16-bit digits of the same column of two rows; `dot`
// multiplies them with a word that holds the two rows' weights and adds both products.
#pragma once

#include "packed_weights.hpp"
#include "simd.hpp"

namespace securefair {

namespace scalar {

struct M : V {
    static INLINE reg pack_low(reg x, reg y, const Digits& d) {
        return signed_digit(x, d) | signed_digit(y, d) << 16;
    }
    static INLINE reg pack_high(reg x, reg y, const Digits& d) {
        return (high_digit(x, d) & 0xFFFF) | high_digit(y, d) << 16;
    }
    // The low digit in 16 bits; the high one in 32.
    static INLINE reg signed_digit(reg x, const Digits& d) {
        const auto top = static_cast<std::int16_t>(x << (16 - d.bits));
        return static_cast<std::uint16_t>(top >> (16 - d.bits));
    }
    static INLINE reg high_digit(reg x, const Digits& d) {
        return static_cast<u32>(static_cast<std::int32_t>(x + d.rounding) >> d.bits);
    }
    static INLINE reg dot(reg sum, reg x, reg w) {
        const auto low = [](u32 v) { return std::int32_t{static_cast<std::int16_t>(v)}; };
        const auto high = [](u32 v) { return static_cast<std::int32_t>(v) >> 16; };
        return sum + static_cast<u32>(low(x) * low(w)) + static_cast<u32>(high(x) * high(w));
    }
    // (low + 2^bits high + carry) mod p, for a carry below p
    static INLINE reg reduced(reg low, reg high, reg carry, const Reduction& by) {
        const i64 sum = static_cast<std::int32_t>(low) + i64{carry} +
                        static_cast<std::int32_t>(high) * (i64{1} << by.digits.bits);
        const i64 r = sum % i64{by.p};
        return static_cast<u32>(r < 0 ? r + by.p : r);
    }
};

}  // namespace scalar

#if SECUREFAIR_X86

namespace avx2 {

#define OPERATION static INLINE TARGET_AVX2
struct M : V {
    OPERATION reg pack_low(reg x, reg y, const Digits& d) {
        const __m128i bits = _mm_cvtsi32_si128(static_cast<int>(16 - d.bits));
        const reg both = _mm256_blend_epi16(x, _mm256_slli_epi32(y, 16), 0xAA);
        return _mm256_sra_epi16(_mm256_sll_epi16(both, bits), bits);
    }
    OPERATION reg pack_high(reg x, reg y, const Digits& d) {
        const reg rounding = set1(d.rounding);
        return _mm256_blend_epi16(V::shift_right(V::add(x, rounding), d.bits),
                                  V::shift_left(V::add(y, rounding), 16 - d.bits), 0xAA);
    }
    OPERATION reg dot(reg sum, reg x, reg w) { return V::add(sum, _mm256_madd_epi16(x, w)); }
    OPERATION reg reduced(reg low, reg high, reg carry, const Reduction& by) {
        const __m256 inverse = _mm256_set1_ps(by.inverse);
        const __m256 quotient = _mm256_fmadd_ps(
            _mm256_cvtepi32_ps(high), _mm256_set1_ps(by.base_inverse),
            _mm256_fmadd_ps(_mm256_cvtepi32_ps(low), inverse,
                            _mm256_mul_ps(_mm256_cvtepi32_ps(carry), inverse)));
        const reg nearest = _mm256_cvttps_epi32(
            _mm256_round_ps(quotient, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
        const reg sum = V::add(V::add(low, carry), V::shift_left(high, by.digits.bits));
        const reg p = V::set1(by.p);
        const reg r = V::sub(sum, V::low_product(nearest, p));  // from -p to p
        return V::min(r, V::add(r, p));
    }
};
#undef OPERATION

}  // namespace avx2

namespace avx512 {

#define OPERATION static INLINE TARGET_AVX512
struct M : V {
    OPERATION reg pack_low(reg x, reg y, const Digits& d) {
        const __m128i bits = _mm_cvtsi32_si128(static_cast<int>(16 - d.bits));
        const reg both = _mm512_mask_blend_epi16(0xAAAAAAAA, x, _mm512_slli_epi32(y, 16));
        return _mm512_sra_epi16(_mm512_sll_epi16(both, bits), bits);
    }
    OPERATION reg pack_high(reg x, reg y, const Digits& d) {
        const reg rounding = set1(d.rounding);
        return _mm512_mask_blend_epi16(0xAAAAAAAA, V::shift_right(V::add(x, rounding), d.bits),
                                       V::shift_left(V::add(y, rounding), 16 - d.bits));
    }
    OPERATION reg dot(reg sum, reg x, reg w) {
        // As the intrinsic, but GCC 12 would copy and spill the sums around it.
        asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
        return sum;
    }
    OPERATION reg reduced(reg low, reg high, reg carry, const Reduction& by) {
        const __m512 inverse = _mm512_set1_ps(by.inverse);
        const __m512 quotient = _mm512_fmadd_ps(
            _mm512_cvtepi32_ps(high), _mm512_set1_ps(by.base_inverse),
            _mm512_fmadd_ps(_mm512_cvtepi32_ps(low), inverse,
                            _mm512_mul_ps(_mm512_cvtepi32_ps(carry), inverse)));
        const reg nearest = _mm512_cvt_roundps_epi32(
            quotient, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        const reg sum = V::add(V::add(low, carry), V::shift_left(high, by.digits.bits));
        const reg p = V::set1(by.p);
        const reg r = V::sub(sum, V::low_product(nearest, p));  // from -p to p
        return V::min(r, V::add(r, p));
    }
};
#undef OPERATION

}  // namespace avx512

#endif

}  // namespace securefair
