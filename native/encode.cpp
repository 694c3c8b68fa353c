#include "encode.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "dispatch.hpp"
#include "embedding.hpp"
#include "ntt.hpp"
#include "parallel.hpp"
#include "rows.hpp"
#include "scratch.hpp"

namespace securefair {

namespace {

// Signed words are shifted into the unsigned range before they are reduced.
constexpr u64 word_offset = u64{1} << 63;

}  // namespace

}  // namespace securefair

#define KERNELS "encode.inl"
#include "each_target.inl"

namespace securefair {

namespace {

double gather_scaled(double* values, const double* re, const double* im, double factor_,
                     const Embedding& e) {
    DISPATCH(gather_scaled, values, re, im, factor_, e)
}

void round_to_words(u64* words, const double* values, std::size_t n) {
    DISPATCH(round_to_words, words, values, n)
}

void split_high_words(u64* words, double* values, std::size_t n) {
    DISPATCH(split_high_words, words, values, n)
}

void reduce_signed(u32* to, const u64* words, std::size_t n, const Prime& q) {
    reduce_words(to, words, n, q);
    add_constant(to, to, static_cast<u32>(q.p - word_offset % q.p), n, q);
}

struct Workspace {
    std::vector<double> re, im, values;
    std::vector<u64> low, high;

    explicit Workspace(std::size_t n) : re(n / 2), im(n / 2), values(n), low(n), high(n) {}
};

void encode_one(u32* to, const double* slots, std::size_t used, double scale, const Basis& basis,
                const Embedding& e) {
    const std::size_t n = basis[0]->n;
    Workspace w(n);
    for (std::size_t j = 0; j < std::min(used, e.points); ++j) w.re[e.place[j]] = slots[j];
    // X^(n/2) is i at all points of the transform.
    for (std::size_t j = e.points; j < used; ++j) w.im[e.place[j - e.points]] = slots[j];
    points_to_coefficients(w.re.data(), w.im.data(), e);
    const double size = gather_scaled(w.values.data(), w.re.data(), w.im.data(),
                                      scale / static_cast<double>(e.points), e);
    if (!(size < 0x1p120)) throw std::invalid_argument("a scaled coefficient is not below 2^120");
    const bool large = size >= 0x1p62;
    if (large) split_high_words(w.high.data(), w.values.data(), n);
    round_to_words(w.low.data(), w.values.data(), n);
    for (const Tables* const q : basis) {
        reduce_signed(to, w.low.data(), n, *q);
        if (large) {
            u32* const high = scratch(n);
            reduce_signed(high, w.high.data(), n, *q);
            const u32 unit = static_cast<u32>((u64{1} << 60) % q->p);
            scale_offset(to, high, factor(unit, q->p), 0, true, n, *q);
        }
        ntt_forward(to, *q);
        to += n;
    }
}

// Mixed-radix digits, each centred: value = e_0 + p_0 (e_1 + p_1 (e_2 + ..)) with |e| <= p / 2
// covers exactly the values below half the product, and leaves the high digits of small values
// zero, so that the sum in doubles is accurate. Rows become e + floor(p / 2).
void centred_digits(u32* rows, u32* correction, const Basis& basis) {
    const std::size_t n = basis[0]->n;
    for (std::size_t k = 0; k < basis.size(); ++k) {
        const Tables& q = *basis[k];
        u32* const row = rows + k * n;
        ntt_inverse(row, q);
        for (std::size_t j = 0; j < k; ++j) {
            const DivisionStep step(basis[j]->p, 1, q.p);
            scale_offset(correction, rows + j * n, step.w, step.offset, false, n, q);
            scale_subtract(row, row, step.w, correction, n, q);
        }
        add_constant(row, row, q.p >> 1, n, q);
    }
}

void decode_one(double* slots, const u32* x, double scale, const Basis& basis,
                const Embedding& e) {
    const std::size_t n = basis[0]->n, limbs = basis.size();
    u32* const rows = scratch((limbs + 1) * n);
    std::copy_n(x, limbs * n, rows);
    centred_digits(rows, rows + limbs * n, basis);
    std::vector<double> values(n, 0.0);
    for (std::size_t k = limbs; k-- > 0;) {
        const double p = basis[k]->p, half = basis[k]->p >> 1;
        const u32* const row = rows + k * n;
        for (std::size_t i = 0; i < n; ++i) values[i] = values[i] * p + (row[i] - half);
    }
    std::vector<double> re(e.points), im(e.points);
    for (std::size_t k = 0; k < e.points; ++k) {
        re[e.reversed[k]] = values[k] / scale;
        im[e.reversed[k]] = values[k + e.points] / scale;
    }
    coefficients_to_points(re.data(), im.data(), e);
    for (std::size_t j = 0; j < e.points; ++j) slots[j] = re[e.place[j]];
}

}  // namespace

void encode(u32* to, const double* slots, std::size_t count, std::size_t used, double scale,
            const Basis& basis) {
    const std::size_t words = basis.size() * basis[0]->n;
    const Embedding& e = embedding(basis[0]->n);
    parallel_for(count, [&](std::size_t i) {
        encode_one(to + i * words, slots + i * used, used, scale, basis, e);
    });
}

void decode(double* slots, const u32* x, std::size_t count, double scale, const Basis& basis) {
    const std::size_t words = basis.size() * basis[0]->n;
    const Embedding& e = embedding(basis[0]->n);
    parallel_for(count, [&](std::size_t i) {
        decode_one(slots + i * e.points, x + i * words, scale, basis, e);
    });
}

}  // namespace securefair
