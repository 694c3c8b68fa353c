// Vector types that kernels are written on: the same operations for one word, AVX2 and AVX-512.
//
// `reg` holds `width` residues below 2^32; `wide` holds as many 64-bit values, which
// subtract_if_not_below compares as long as they are at most wide_limit. transpose<T> treats
// two registers as rows of blocks of T words and swaps blocks 1, 3, .. of the first with blocks
// 0, 2, .. of the second; expand<T> repeats each of the first words T times; reverse turns the
// order of the words around.
#pragma once

#include <algorithm>
#include <cstring>

#include "dispatch.hpp"
#include "modular.hpp"
#if SECUREFAIR_X86
#include <immintrin.h>
#endif

namespace securefair {

namespace scalar {

struct V {
    using reg = u32;
    using wide = u64;
    static constexpr std::size_t width = 1;
    static constexpr u64 wide_limit = ~u64{0};

    // Messages lie at any address, so words need not be aligned.
    static INLINE reg load(const u32* p) {
        u32 word;
        std::memcpy(&word, p, sizeof(word));
        return word;
    }
    static INLINE void store(u32* p, reg x) { std::memcpy(p, &x, sizeof(x)); }
    static INLINE reg set1(u32 x) { return x; }
    static INLINE reg add(reg a, reg b) { return a + b; }
    static INLINE reg sub(reg a, reg b) { return a - b; }
    static INLINE reg min(reg a, reg b) { return std::min(a, b); }
    static INLINE reg bit_or(reg a, reg b) { return a | b; }
    static INLINE reg bit_and(reg a, reg b) { return a & b; }
    static INLINE reg shift_left(reg a, unsigned bits) { return a << bits; }
    static INLINE reg shift_right(reg a, unsigned bits) { return a >> bits; }
    static INLINE reg low_product(reg a, reg b) { return a * b; }
    static INLINE reg high_product(reg a, reg b) { return static_cast<u32>(u64{a} * b >> 32); }
    static INLINE reg high_product_uniform(reg a, reg b) { return high_product(a, b); }

    // One word has no inside.
    template <int T>
    static INLINE void transpose(reg&, reg&) {}
    static INLINE void zip(reg&, reg&) {}
    static INLINE void unzip(reg&, reg&) {}
    static INLINE reg reverse(reg x) { return x; }
    template <int T>
    static INLINE reg expand(const u32* p) {
        return *p;
    }

    static INLINE wide product(reg a, reg b) { return u64{a} * b; }
    static INLINE wide zero() { return 0; }
    static INLINE wide plus(wide a, wide b) { return a + b; }
    static INLINE wide subtract_if_not_below(wide x, u64 m) { return x >= m ? x - m : x; }
    static INLINE reg remainder(wide v, const Prime& q) {
        const u64 quotient = ((v >> q.low) * q.mu) >> q.high;
        const u64 r = v - quotient * q.p;
        const u64 s = r >= 2 * u64{q.p} ? r - 2 * u64{q.p} : r;
        return static_cast<u32>(s >= q.p ? s - q.p : s);
    }
};

}  // namespace scalar

#if SECUREFAIR_X86

namespace avx2 {

#define OPERATION static INLINE TARGET_AVX2
struct V {
    using reg = __m256i;
    struct wide {
        __m256i even, odd;
    };
    static constexpr std::size_t width = 8;
    static constexpr u64 wide_limit = ~u64{0} >> 1;

    OPERATION reg load(const u32* p) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    }
    OPERATION void store(u32* p, reg x) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x);
    }
    OPERATION reg set1(u32 x) { return _mm256_set1_epi32(static_cast<int>(x)); }
    OPERATION reg add(reg a, reg b) { return _mm256_add_epi32(a, b); }
    OPERATION reg sub(reg a, reg b) { return _mm256_sub_epi32(a, b); }
    OPERATION reg min(reg a, reg b) { return _mm256_min_epu32(a, b); }
    OPERATION reg bit_or(reg a, reg b) { return _mm256_or_si256(a, b); }
    OPERATION reg bit_and(reg a, reg b) { return _mm256_and_si256(a, b); }
    OPERATION reg shift_left(reg a, unsigned bits) {
        return _mm256_sll_epi32(a, _mm_cvtsi32_si128(static_cast<int>(bits)));
    }
    OPERATION reg shift_right(reg a, unsigned bits) {
        return _mm256_srl_epi32(a, _mm_cvtsi32_si128(static_cast<int>(bits)));
    }
    OPERATION reg low_product(reg a, reg b) { return _mm256_mullo_epi32(a, b); }
    OPERATION reg odd(reg a) { return _mm256_srli_epi64(a, 32); }
    OPERATION reg high_product(reg a, reg b) {
        return high_halves(_mm256_mul_epu32(a, b), _mm256_mul_epu32(odd(a), odd(b)));
    }
    OPERATION reg high_product_uniform(reg a, reg b) {
        return high_halves(_mm256_mul_epu32(a, b), _mm256_mul_epu32(odd(a), b));
    }
    OPERATION reg high_halves(reg even, reg odd_) {
        return _mm256_blend_epi32(odd(even), odd_, 0xAA);
    }

    template <int T>
    OPERATION void transpose(reg& x, reg& y) {
        reg a, b;
        if constexpr (T == 4) {
            a = _mm256_permute2x128_si256(x, y, 0x20);
            b = _mm256_permute2x128_si256(x, y, 0x31);
        } else if constexpr (T == 2) {
            a = _mm256_unpacklo_epi64(x, y);
            b = _mm256_unpackhi_epi64(x, y);
        } else {
            a = _mm256_blend_epi32(x, _mm256_slli_epi64(y, 32), 0xAA);
            b = _mm256_blend_epi32(odd(x), y, 0xAA);
        }
        x = a;
        y = b;
    }
    // Interleaves the words of two registers, or takes even and odd words apart.
    OPERATION void zip(reg& x, reg& y) {
        const reg a = _mm256_unpacklo_epi32(x, y), b = _mm256_unpackhi_epi32(x, y);
        x = _mm256_permute2x128_si256(a, b, 0x20);
        y = _mm256_permute2x128_si256(a, b, 0x31);
    }
    OPERATION void unzip(reg& x, reg& y) {
        const __m256 a = _mm256_castsi256_ps(x), b = _mm256_castsi256_ps(y);
        const reg even = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88));
        const reg odd_ = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xDD));
        x = _mm256_permute4x64_epi64(even, 0xD8);
        y = _mm256_permute4x64_epi64(odd_, 0xD8);
    }
    OPERATION reg reverse(reg x) {
        return _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0));
    }
    template <int T>
    OPERATION reg expand(const u32* p) {
        if constexpr (T == 1) return load(p);
        const __m256i lane = _mm256_setr_epi32(0, 1 / T, 2 / T, 3 / T, 4 / T, 5 / T, 6 / T, 7 / T);
        return _mm256_permutevar8x32_epi32(load(p), lane);
    }

    OPERATION wide product(reg a, reg b) {
        return {_mm256_mul_epu32(a, b), _mm256_mul_epu32(odd(a), odd(b))};
    }
    OPERATION wide zero() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
    OPERATION wide plus(wide a, wide b) {
        return {_mm256_add_epi64(a.even, b.even), _mm256_add_epi64(a.odd, b.odd)};
    }
    OPERATION __m256i below(__m256i x, __m256i m) {
        const __m256i less = _mm256_sub_epi64(x, m);  // the sign picks: values stay below 2^63
        return _mm256_castpd_si256(_mm256_blendv_pd(_mm256_castsi256_pd(less),
                                                    _mm256_castsi256_pd(x),
                                                    _mm256_castsi256_pd(less)));
    }
    OPERATION wide subtract_if_not_below(wide x, u64 m) {
        const __m256i v = _mm256_set1_epi64x(static_cast<long long>(m));
        return {below(x.even, v), below(x.odd, v)};
    }
    OPERATION __m256i barrett(__m256i v, const Prime& q) {
        const __m256i mu = _mm256_set1_epi64x(q.mu), p = _mm256_set1_epi64x(q.p);
        const __m256i top = _mm256_srli_epi64(v, q.low);
        const __m256i quotient = _mm256_srli_epi64(_mm256_mul_epu32(top, mu), q.high);
        const __m256i r = _mm256_sub_epi64(v, _mm256_mul_epu32(quotient, p));
        return below(r, _mm256_add_epi64(p, p));
    }
    OPERATION reg remainder(wide v, const Prime& q) {
        const reg r = _mm256_blend_epi32(barrett(v.even, q),
                                         _mm256_slli_epi64(barrett(v.odd, q), 32), 0xAA);
        return min(r, sub(r, set1(q.p)));
    }
};
#undef OPERATION

}  // namespace avx2

namespace avx512 {

#define OPERATION static INLINE TARGET_AVX512
struct V {
    using reg = __m512i;
    struct wide {
        __m512i even, odd;
    };
    static constexpr std::size_t width = 16;
    static constexpr u64 wide_limit = ~u64{0};

    OPERATION reg load(const u32* p) { return _mm512_loadu_si512(p); }
    OPERATION void store(u32* p, reg x) { _mm512_storeu_si512(p, x); }
    OPERATION reg set1(u32 x) { return _mm512_set1_epi32(static_cast<int>(x)); }
    OPERATION reg add(reg a, reg b) { return _mm512_add_epi32(a, b); }
    OPERATION reg sub(reg a, reg b) { return _mm512_sub_epi32(a, b); }
    OPERATION reg min(reg a, reg b) { return _mm512_min_epu32(a, b); }
    OPERATION reg bit_or(reg a, reg b) { return _mm512_or_si512(a, b); }
    OPERATION reg bit_and(reg a, reg b) { return _mm512_and_si512(a, b); }
    OPERATION reg shift_left(reg a, unsigned bits) {
        return _mm512_sll_epi32(a, _mm_cvtsi32_si128(static_cast<int>(bits)));
    }
    OPERATION reg shift_right(reg a, unsigned bits) {
        return _mm512_srl_epi32(a, _mm_cvtsi32_si128(static_cast<int>(bits)));
    }
    OPERATION reg low_product(reg a, reg b) { return _mm512_mullo_epi32(a, b); }
    OPERATION reg odd(reg a) { return _mm512_srli_epi64(a, 32); }
    OPERATION reg high_product(reg a, reg b) {
        return high_halves(_mm512_mul_epu32(a, b), _mm512_mul_epu32(odd(a), odd(b)));
    }
    OPERATION reg high_product_uniform(reg a, reg b) {
        return high_halves(_mm512_mul_epu32(a, b), _mm512_mul_epu32(odd(a), b));
    }
    OPERATION reg high_halves(reg even, reg odd_) {
        return _mm512_mask_shuffle_epi32(odd_, 0x5555, even, _MM_PERM_DDBB);
    }

    template <int T>
    OPERATION void transpose(reg& x, reg& y) {
        reg a, b;
        if constexpr (T == 8) {
            a = _mm512_shuffle_i64x2(x, y, 0x44);
            b = _mm512_shuffle_i64x2(x, y, 0xEE);
        } else if constexpr (T == 4) {
            const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
            const __m512i second = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
            a = _mm512_permutex2var_epi64(x, first, y);
            b = _mm512_permutex2var_epi64(x, second, y);
        } else if constexpr (T == 2) {
            a = _mm512_unpacklo_epi64(x, y);
            b = _mm512_unpackhi_epi64(x, y);
        } else {
            a = _mm512_mask_shuffle_epi32(x, 0xAAAA, y, _MM_PERM_CCAA);
            b = _mm512_mask_shuffle_epi32(y, 0x5555, x, _MM_PERM_DDBB);
        }
        x = a;
        y = b;
    }
    // Interleaves the words of two registers, or takes even and odd words apart.
    OPERATION void zip(reg& x, reg& y) {
        const __m512i first =
            _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        const reg a = _mm512_permutex2var_epi32(x, first, y);
        y = _mm512_permutex2var_epi32(x, add(first, set1(8)), y);
        x = a;
    }
    OPERATION void unzip(reg& x, reg& y) {
        const __m512i even =
            _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        const reg a = _mm512_permutex2var_epi32(x, even, y);
        y = _mm512_permutex2var_epi32(x, add(even, set1(1)), y);
        x = a;
    }
    OPERATION reg reverse(reg x) {
        const __m512i lane =
            _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
        return _mm512_permutexvar_epi32(lane, x);
    }
    template <int T>
    OPERATION reg expand(const u32* p) {
        if constexpr (T == 1) return load(p);
        const __m512i lane =
            _mm512_setr_epi32(0, 1 / T, 2 / T, 3 / T, 4 / T, 5 / T, 6 / T, 7 / T, 8 / T, 9 / T,
                              10 / T, 11 / T, 12 / T, 13 / T, 14 / T, 15 / T);
        return _mm512_permutexvar_epi32(lane, load(p));
    }

    OPERATION wide product(reg a, reg b) {
        return {_mm512_mul_epu32(a, b), _mm512_mul_epu32(odd(a), odd(b))};
    }
    OPERATION wide zero() { return {_mm512_setzero_si512(), _mm512_setzero_si512()}; }
    OPERATION wide plus(wide a, wide b) {
        return {_mm512_add_epi64(a.even, b.even), _mm512_add_epi64(a.odd, b.odd)};
    }
    OPERATION __m512i below(__m512i x, __m512i m) {
        return _mm512_min_epu64(x, _mm512_sub_epi64(x, m));
    }
    OPERATION wide subtract_if_not_below(wide x, u64 m) {
        const __m512i v = _mm512_set1_epi64(static_cast<long long>(m));
        return {below(x.even, v), below(x.odd, v)};
    }
    OPERATION __m512i barrett(__m512i v, const Prime& q) {
        const __m512i mu = _mm512_set1_epi64(q.mu), p = _mm512_set1_epi64(q.p);
        const __m512i top = _mm512_srl_epi64(v, _mm_cvtsi32_si128(q.low));
        const __m512i quotient =
            _mm512_srl_epi64(_mm512_mul_epu32(top, mu), _mm_cvtsi32_si128(q.high));
        const __m512i r = _mm512_sub_epi64(v, _mm512_mul_epu32(quotient, p));
        return below(r, _mm512_add_epi64(p, p));
    }
    OPERATION reg remainder(wide v, const Prime& q) {
        const reg even = barrett(v.even, q), odd_ = barrett(v.odd, q);
        const reg r = _mm512_mask_shuffle_epi32(even, 0xAAAA, odd_, _MM_PERM_CCAA);
        return min(r, sub(r, set1(q.p)));
    }
};
#undef OPERATION

}  // namespace avx512

#endif

}  // namespace securefair
