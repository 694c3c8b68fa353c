// Arithmetic modulo one NTT prime below 2^31, and the tables that belong to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace securefair {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;
using u128 = unsigned __int128;

// A constant factor w with floor(w 2^32 / p) (Shoup): x w mod p for any 32-bit x costs two low
// products and one high one, and no division.
struct Factor {
    u32 value;
    u32 quotient;
};

inline Factor factor(u32 w, u32 p) { return {w, static_cast<u32>((u64{w} << 32) / p)}; }

inline u32 multiply(u32 x, Factor w, u32 p) {
    const u32 q = static_cast<u32>((u64{x} * w.quotient) >> 32);
    const u32 r = x * w.value - q * p;  // below 2p, which still fits
    return r >= p ? r - p : r;
}

inline u32 multiply(u32 x, u32 y, u32 p) { return static_cast<u32>(u64{x} * y % p); }

inline u32 power(u32 base, u64 exponent, u32 p) {
    u32 result = 1 % p;
    for (; exponent != 0; exponent >>= 1, base = multiply(base, base, p))
        if (exponent & 1) result = multiply(result, base, p);
    return result;
}

inline u32 inverse(u32 x, u32 p) { return power(x % p, p - 2, p); }

// Primes are above it: they are 1 modulo 2N, and rings are at least 1024.
constexpr u32 smallest_prime = 1 << 13;

// Constants for a 64-bit value below p^2: q = ((v >> low) mu) >> high is at most 2 too small.
struct Prime {
    u32 p;
    u32 mu;     // floor(2^(low + high) / p), below 2^32
    int low;    // bits - 1
    int high;   // bits + 1
    u64 square; // p^2

    explicit Prime(u32 prime);
};

// Twiddle factors in the order the butterflies want them: index m + i holds the factor of block i
// in the stage of m blocks, psi^bitreverse(i) with psi the smallest primitive 2N-th root (SEAL's).
struct Tables : Prime {
    std::size_t n;
    std::vector<u32> roots, roots_quotient;
    std::vector<u32> inverse_roots, inverse_roots_quotient;
    Factor n_inverse;
    Factor n_inverse_root;  // n^-1 times the last inverse stage's only factor

    Tables(std::size_t n, u32 prime);
};

// Division of a polynomial, known modulo `from` and the target prime q, by `from` with rounding:
//
//     (x - t) / from,   t = ((x + half) mod from) - half,   half = floor(from / 2),
//
// which SEAL computes per prime. With w = from^-1 mod q this is w x - (w r - w half), where the
// digit r = (x + half) mod from is the same for all target primes. When more divisions follow,
// their inverses are multiplied into w.
struct DivisionStep {
    Factor w;
    u32 offset;  // w half mod q

    DivisionStep(u32 from, u32 later, u32 q);
};

// Shared, immutable tables; made on first use, kept for the life of the process.
const Tables& tables(std::size_t n, u32 prime);

// The tables of a list of primes, in its order.
std::vector<const Tables*> tables(std::size_t n, const std::vector<u32>& primes);

}  // namespace securefair
