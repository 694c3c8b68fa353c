// Divisions by the last primes of a basis with rounding, on polynomials in transformed form.
#pragma once

#include <span>
#include <vector>

#include "modular.hpp"

namespace securefair {

using Basis = std::span<const Tables* const>;

// Division by the last `drop` primes of a basis: constants once, any number of polynomials. What is
// divided away is a sum of digits, one for each of these primes, which are known as coefficients:
//
//     x / (q_1 .. q_drop) = factor x - offset(digits)   under each prime that is left.
class Division {
public:
    Division(const Basis& basis, std::size_t drop);

    std::size_t left() const { return onto_.size(); }

    // Words that `digits` writes, and what it works on behind them.
    std::size_t words() const { return (drop_ + 1) * basis_[0]->n; }

    // Digits (drop, n) of one polynomial, a row for each prime of the basis.
    void digits(u32* to, const u32* x) const;

    // to, or zero without `accumulate`, plus the offset under prime i, as coefficients.
    void offset(u32* to, const u32* digits, std::size_t i, bool accumulate) const;

    // What x is multiplied by under prime i.
    const Factor& factor(std::size_t i) const { return onto_[i].back().w; }

    // Row i of the quotient. row: memory for n words; it may be `to`, and `to` not be x.
    void divide_row(u32* to, const u32* x, const u32* digits, std::size_t i, u32* row) const;

private:
    Basis basis_;
    std::size_t drop_;
    std::vector<std::vector<DivisionStep>> among_, onto_;
};

// Divides `count` polynomials over `basis` by the last `drop` primes, one after the other with
// rounding as SEAL's rescale_to_next. x: count rows of basis limbs; to: count rows of the rest.
void divide_by_last(u32* to, const u32* x, std::size_t count, const Basis& basis,
                    std::size_t drop);

// to[g] = sum_t y[groups[g, t]]^2, three polynomials, of ciphertexts y that are those of x after
// such a division and are never there as a whole.
//
// to: (groups, 3, rest, n); x: (d, 2, limbs, n); groups: (count, terms).
void divided_square_sums(u32* to, const u32* x, std::span<const i64> groups, std::size_t terms,
                         const Basis& basis, std::size_t drop);

}  // namespace securefair
