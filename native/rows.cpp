#include "rows.hpp"

#include <algorithm>
#include <bit>

#include "simd.hpp"

namespace securefair {
namespace {

constexpr std::size_t sum_registers = 16;       // of each of the three sums of products
constexpr std::size_t quotient_registers = 4;   // of each of the two sums of a key switch
constexpr std::size_t columns_ahead = 128;      // that a key switch fetches early

}  // namespace
}  // namespace securefair

#define KERNELS "rows.inl"
#include "each_target.inl"

namespace securefair {

void add(u32* to, const u32* x, const u32* y, std::size_t n, const Prime& q) {
    DISPATCH(add, to, x, y, n, q)
}

void subtract(u32* to, const u32* x, const u32* y, std::size_t n, const Prime& q) {
    DISPATCH(subtract, to, x, y, n, q)
}

void add_constant(u32* to, const u32* x, u32 constant, std::size_t n, const Prime& q) {
    DISPATCH(add_constant, to, x, constant, n, q)
}

void multiply(u32* to, const u32* x, const u32* y, std::size_t n, const Prime& q) {
    DISPATCH(multiply, to, x, y, n, q)
}

void sum_squares(const Triple& to, const Pair* x, std::size_t terms, std::size_t n,
                 const Prime& q) {
    DISPATCH(sum_squares, to, x, terms, n, q)
}

void add_scaled(u32* to, const u32* x, const u32* y, Factor w, std::size_t n, const Prime& q) {
    DISPATCH(add_scaled, to, x, y, w, n, q)
}

void mirror(u32* to, const u32* x, std::size_t n) { DISPATCH(mirror, to, x, n) }

void add_mirrored(u32* x, std::size_t n, const Prime& q) { DISPATCH(add_mirrored, x, n, q) }

void sum_products(const Triple& to, const Pair* x, const Pair* y, std::size_t terms,
                  std::size_t n, const Prime& q) {
    DISPATCH(sum_products, to, x, y, terms, n, q)
}

void inner_quotients(const Both& to, Factor w, const Pair& corrections, const u32* const* x,
                     const Pair* y, std::size_t terms, std::size_t n, const Prime& q) {
    DISPATCH(inner_quotients, to, w, corrections, x, y, terms, n, q)
}

void reduce(u32* to, const u32* x, std::size_t n, const Prime& q) {
    DISPATCH(reduce, to, x, n, q)
}

bool reduce_words(u32* to, const u64* x, std::size_t n, const Prime& q) {
    DISPATCH(reduce_words, to, x, n, q)
}

void scale_subtract(u32* to, const u32* x, Factor w, const u32* y, std::size_t n, const Prime& q) {
    DISPATCH(scale_subtract, to, x, w, y, n, q)
}

void scale_offset(u32* to, const u32* x, Factor w, u32 constant, bool accumulate, std::size_t n,
                  const Prime& q) {
    DISPATCH(scale_offset, to, x, w, constant, accumulate, n, q)
}

bool all_below(const u32* x, std::size_t n, const Prime& q) { DISPATCH(all_below, x, n, q) }

}  // namespace securefair
