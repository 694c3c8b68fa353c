// Vector operations of the matrix product: 16-bit pairs, 32-bit sums, exact sums in doubles.
//
// A word of `pack_low` or `pack_high` holds 16-bit digits of the same column of two rows; `dot`
// multiplies them with a word that holds the two rows' weights and adds both products.
#pragma once

#include <cmath>

#include "packed_weights.hpp"
#include "simd.hpp"

namespace securefair {

namespace scalar {

struct M : V {
    struct doubles {
        double value;
    };
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
    // at = low + base high, plus what is there already
    static INLINE void add_digits(double* at, reg low, reg high, double base, bool already) {
        const double r = static_cast<std::int32_t>(low) + base * static_cast<std::int32_t>(high);
        *at = already ? *at + r : r;
    }
    // at -= nearest multiple of p
    static INLINE void fold(double* at, double p, double inverse) {
        *at = std::fma(-std::nearbyint(*at * inverse), p, *at);
    }
    // (sum + low + base high + constant) mod p, for a constant in [0, p); sum may be null
    static INLINE void finish(u32* to, const double* sum, reg low, reg high, double base,
                              double constant, double p, double inverse) {
        double r = static_cast<std::int32_t>(low) + base * static_cast<std::int32_t>(high);
        if (sum != nullptr) r += *sum;
        r += constant;
        fold(&r, p, inverse);
        *to = static_cast<u32>(r < 0 ? r + p : r);
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
    OPERATION __m256d join(__m128i low, __m128i high, double base) {
        return _mm256_fmadd_pd(_mm256_cvtepi32_pd(high), _mm256_set1_pd(base),
                               _mm256_cvtepi32_pd(low));
    }
    OPERATION __m128i lower(reg x) { return _mm256_castsi256_si128(x); }
    OPERATION __m128i upper(reg x) { return _mm256_extracti128_si256(x, 1); }
    OPERATION __m256d nearest(__m256d v, double p, double inverse) {
        const __m256d q = _mm256_round_pd(_mm256_mul_pd(v, _mm256_set1_pd(inverse)),
                                          _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        return _mm256_fnmadd_pd(q, _mm256_set1_pd(p), v);
    }
    OPERATION void add_digits(double* at, reg low, reg high, double base, bool already) {
        __m256d a = join(lower(low), lower(high), base);
        __m256d b = join(upper(low), upper(high), base);
        if (already) {
            a = _mm256_add_pd(_mm256_loadu_pd(at), a);
            b = _mm256_add_pd(_mm256_loadu_pd(at + 4), b);
        }
        _mm256_storeu_pd(at, a);
        _mm256_storeu_pd(at + 4, b);
    }
    OPERATION void fold(double* at, double p, double inverse) {
        for (int i = 0; i < 8; i += 4)
            _mm256_storeu_pd(at + i, nearest(_mm256_loadu_pd(at + i), p, inverse));
    }
    // From -p to p.
    OPERATION __m128i close(__m256d v, double constant, double p, double inverse) {
        return _mm256_cvttpd_epi32(
            nearest(_mm256_add_pd(v, _mm256_set1_pd(constant)), p, inverse));
    }
    OPERATION void finish(u32* to, const double* sum, reg low, reg high, double base,
                          double constant, double p, double inverse) {
        __m256d a = join(lower(low), lower(high), base), b = join(upper(low), upper(high), base);
        if (sum != nullptr) {
            a = _mm256_add_pd(a, _mm256_loadu_pd(sum));
            b = _mm256_add_pd(b, _mm256_loadu_pd(sum + 4));
        }
        const __m128i x = close(a, constant, p, inverse), y = close(b, constant, p, inverse);
        const reg r = _mm256_inserti128_si256(_mm256_castsi128_si256(x), y, 1);
        V::store(to, V::min(r, V::add(r, V::set1(static_cast<u32>(p)))));
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
    OPERATION __m512d join(__m256i low, __m256i high, double base) {
        return _mm512_fmadd_pd(_mm512_cvtepi32_pd(high), _mm512_set1_pd(base),
                               _mm512_cvtepi32_pd(low));
    }
    OPERATION __m256i lower(reg x) { return _mm512_castsi512_si256(x); }
    OPERATION __m256i upper(reg x) { return _mm512_extracti64x4_epi64(x, 1); }
    OPERATION __m512d nearest(__m512d v, double p, double inverse) {
        const __m512d q = _mm512_roundscale_pd(_mm512_mul_pd(v, _mm512_set1_pd(inverse)),
                                               _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        return _mm512_fnmadd_pd(q, _mm512_set1_pd(p), v);
    }
    OPERATION void add_digits(double* at, reg low, reg high, double base, bool already) {
        __m512d a = join(lower(low), lower(high), base);
        __m512d b = join(upper(low), upper(high), base);
        if (already) {
            a = _mm512_add_pd(_mm512_loadu_pd(at), a);
            b = _mm512_add_pd(_mm512_loadu_pd(at + 8), b);
        }
        _mm512_storeu_pd(at, a);
        _mm512_storeu_pd(at + 8, b);
    }
    OPERATION void fold(double* at, double p, double inverse) {
        for (int i = 0; i < 16; i += 8)
            _mm512_storeu_pd(at + i, nearest(_mm512_loadu_pd(at + i), p, inverse));
    }
    // From -p to p.
    OPERATION __m256i close(__m512d v, double constant, double p, double inverse) {
        return _mm512_cvttpd_epi32(
            nearest(_mm512_add_pd(v, _mm512_set1_pd(constant)), p, inverse));
    }
    OPERATION void finish(u32* to, const double* sum, reg low, reg high, double base,
                          double constant, double p, double inverse) {
        __m512d a = join(lower(low), lower(high), base), b = join(upper(low), upper(high), base);
        if (sum != nullptr) {
            a = _mm512_add_pd(a, _mm512_loadu_pd(sum));
            b = _mm512_add_pd(b, _mm512_loadu_pd(sum + 8));
        }
        const __m256i x = close(a, constant, p, inverse), y = close(b, constant, p, inverse);
        const reg r = _mm512_inserti64x4(_mm512_castsi256_si512(x), y, 1);
        V::store(to, V::min(r, V::add(r, V::set1(static_cast<u32>(p)))));
    }
};
#undef OPERATION

}  // namespace avx512

#endif

}  // namespace securefair
