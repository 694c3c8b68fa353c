// The compression function of BLAKE2b (RFC 7693, section 3.2) on lanes of 64-bit words, so that
// several independent blocks are compressed at once.
#pragma once

#include <array>
#include <bit>

#include "dispatch.hpp"
#include "modular.hpp"
#if SECUREFAIR_X86
#include <immintrin.h>
#endif

namespace securefair {

constexpr std::array<u64, 8> blake2b_iv = {
    0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
    0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179};

constexpr std::uint8_t blake2b_sigma[12][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3}};

namespace scalar {

struct L {
    using reg = u64;
    static constexpr std::size_t width = 1;
    static INLINE reg set1(u64 x) { return x; }
    static INLINE reg load(const u64* p) { return *p; }
    static INLINE void store(u64* p, reg x) { *p = x; }
    // Lane l of the eight registers to to[8 l] .. to[8 l + 7].
    static INLINE void store_columns(u64* to, const reg* h) {
        for (int i = 0; i < 8; ++i) to[i] = h[i];
    }
    static INLINE reg add(reg a, reg b) { return a + b; }
    static INLINE reg bit_xor(reg a, reg b) { return a ^ b; }
    template <int k>
    static INLINE reg rotate_right(reg a) {
        return std::rotr(a, k);
    }
};

}  // namespace scalar

#if SECUREFAIR_X86

namespace avx2 {

#define OPERATION static INLINE TARGET_AVX2
struct L {
    using reg = __m256i;
    static constexpr std::size_t width = 4;
    OPERATION reg set1(u64 x) { return _mm256_set1_epi64x(static_cast<long long>(x)); }
    OPERATION reg load(const u64* p) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    }
    OPERATION void store(u64* p, reg x) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x);
    }
    OPERATION void store_columns(u64* to, const reg* h) {
        for (int i = 0; i < 8; i += 4) {
            const reg a = _mm256_unpacklo_epi64(h[i], h[i + 1]);
            const reg b = _mm256_unpackhi_epi64(h[i], h[i + 1]);
            const reg c = _mm256_unpacklo_epi64(h[i + 2], h[i + 3]);
            const reg d = _mm256_unpackhi_epi64(h[i + 2], h[i + 3]);
            store(to + i, _mm256_permute2x128_si256(a, c, 0x20));
            store(to + i + 8, _mm256_permute2x128_si256(b, d, 0x20));
            store(to + i + 16, _mm256_permute2x128_si256(a, c, 0x31));
            store(to + i + 24, _mm256_permute2x128_si256(b, d, 0x31));
        }
    }
    OPERATION reg add(reg a, reg b) { return _mm256_add_epi64(a, b); }
    OPERATION reg bit_xor(reg a, reg b) { return _mm256_xor_si256(a, b); }
    template <int k>
    OPERATION reg rotate_right(reg a) {
        return _mm256_or_si256(_mm256_srli_epi64(a, k), _mm256_slli_epi64(a, 64 - k));
    }
};
#undef OPERATION

}  // namespace avx2

namespace avx512 {

#define OPERATION static INLINE TARGET_AVX512
struct L {
    using reg = __m512i;
    static constexpr std::size_t width = 8;
    OPERATION reg set1(u64 x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
    OPERATION reg load(const u64* p) { return _mm512_loadu_si512(p); }
    OPERATION void store(u64* p, reg x) { _mm512_storeu_si512(p, x); }
    OPERATION void store_columns(u64* to, const reg* h) {
        // Pairs of words, then pairs of pairs: even[i] holds lanes 0, 2, 4, 6 of words 2i, 2i + 1.
        reg even[4], odd[4];
        for (int i = 0; i < 4; ++i) {
            even[i] = _mm512_unpacklo_epi64(h[2 * i], h[2 * i + 1]);
            odd[i] = _mm512_unpackhi_epi64(h[2 * i], h[2 * i + 1]);
        }
        store_quarters(to, even);
        store_quarters(to + 8, odd);
    }
    // Quarter k of the four registers to to[16 k] .. to[16 k + 7].
    OPERATION void store_quarters(u64* to, const reg* x) {
        const reg a = _mm512_shuffle_i64x2(x[0], x[1], 0x88);  // quarters 0, 2 of both
        const reg b = _mm512_shuffle_i64x2(x[2], x[3], 0x88);
        const reg c = _mm512_shuffle_i64x2(x[0], x[1], 0xDD);  // quarters 1, 3
        const reg d = _mm512_shuffle_i64x2(x[2], x[3], 0xDD);
        store(to, _mm512_shuffle_i64x2(a, b, 0x88));
        store(to + 16, _mm512_shuffle_i64x2(c, d, 0x88));
        store(to + 32, _mm512_shuffle_i64x2(a, b, 0xDD));
        store(to + 48, _mm512_shuffle_i64x2(c, d, 0xDD));
    }
    OPERATION reg add(reg a, reg b) { return _mm512_add_epi64(a, b); }
    OPERATION reg bit_xor(reg a, reg b) { return _mm512_xor_si512(a, b); }
    template <int k>
    OPERATION reg rotate_right(reg a) {
        return _mm512_ror_epi64(a, k);
    }
};
#undef OPERATION

}  // namespace avx512

#endif

}  // namespace securefair
