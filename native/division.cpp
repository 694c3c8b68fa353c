#include "division.hpp"

#include <algorithm>

#include "ntt.hpp"
#include "parallel.hpp"
#include "rows.hpp"
#include "scratch.hpp"

namespace securefair {

Division::Division(const Basis& basis, std::size_t drop) : basis_(basis), drop_(drop) {
    const std::size_t left = basis.size() - drop;
    among_.resize(drop);
    for (std::size_t k = 0; k < drop; ++k)
        for (std::size_t j = k + 1; j < drop; ++j)
            among_[k].emplace_back(basis[left + j]->p, 1, basis[left + k]->p);
    onto_.resize(left);
    for (std::size_t i = 0; i < left; ++i) {
        u32 later = 1;
        for (std::size_t k = 0; k < drop; ++k) {
            onto_[i].emplace_back(basis[left + k]->p, later, basis[i]->p);
            later = onto_[i].back().w.value;
        }
    }
}

void Division::digits(u32* to, const u32* x) const {
    const std::size_t n = basis_[0]->n;
    u32* const correction = to + drop_ * n;
    for (std::size_t k = drop_; k-- > 0;) {
        const Tables& q = *basis_[left() + k];
        u32* const digit = to + k * n;
        std::copy_n(x + (left() + k) * n, n, digit);
        ntt_inverse(digit, q);
        for (std::size_t j = drop_; j-- > k + 1;) {
            const DivisionStep& step = among_[k][j - k - 1];
            scale_offset(correction, to + j * n, step.w, step.offset, false, n, q);
            scale_subtract(digit, digit, step.w, correction, n, q);
        }
        add_constant(digit, digit, q.p >> 1, n, q);
    }
}

void Division::offset(u32* to, const u32* digits, std::size_t i, bool accumulate) const {
    const Tables& q = *basis_[i];
    for (std::size_t k = 0; k < drop_; ++k) {
        const DivisionStep& step = onto_[i][k];
        scale_offset(to, digits + k * q.n, step.w, step.offset, accumulate || k != 0, q.n, q);
    }
}

void Division::divide_row(u32* to, const u32* x, const u32* digits, std::size_t i,
                          u32* row) const {
    const Tables& q = *basis_[i];
    offset(row, digits, i, false);
    ntt_forward(row, q);
    scale_subtract(to, x + i * q.n, factor(i), row, q.n, q);
}

void divide_by_last(u32* to, const u32* x, std::size_t count, const Basis& basis,
                    std::size_t drop) {
    const Division division(basis, drop);
    const std::size_t n = basis[0]->n, limbs = basis.size(), left = division.left();
    parallel_for(count, [&](std::size_t task) {
        u32* const digits = scratch(division.words());
        u32* const row = digits + drop * n;
        const u32* const from = x + task * limbs * n;
        division.digits(digits, from);
        for (std::size_t i = 0; i < left; ++i)
            division.divide_row(to + (task * left + i) * n, from, digits, i, row);
    });
}

void divided_square_sums(u32* to, const u32* x, std::span<const i64> groups, std::size_t terms,
                         const Basis& basis, std::size_t drop) {
    const Division division(basis, drop);
    const std::size_t n = basis[0]->n, poly = basis.size() * n, left = division.left();
    const std::size_t count = groups.size() / terms, polys = 2 * terms;
    parallel_for(count, [&](std::size_t g) {
        // Digits of all polynomials of a group, then one row of each after the other.
        u32* const memory = scratch((polys * (drop + 1) + 1) * n);
        u32* const rows = memory + (polys * drop + 1) * n;
        const auto source = [&](std::size_t k) {
            return x + (2 * static_cast<std::size_t>(groups[g * terms + k / 2]) + k % 2) * poly;
        };
        for (std::size_t k = 0; k < polys; ++k) division.digits(memory + k * drop * n, source(k));
        thread_local std::vector<Pair> factors;
        factors.resize(terms);
        for (std::size_t i = 0; i < left; ++i) {
            for (std::size_t k = 0; k < polys; ++k) {
                u32* const row = rows + k * n;
                division.divide_row(row, source(k), memory + k * drop * n, i, row);
            }
            for (std::size_t t = 0; t < terms; ++t)
                factors[t] = {rows + 2 * t * n, rows + (2 * t + 1) * n};
            u32* const at = to + (3 * g * left + i) * n;
            const Triple target{at, at + left * n, at + 2 * left * n};
            sum_squares(target, factors.data(), terms, n, *basis[i]);
        }
    });
}

}  // namespace securefair
