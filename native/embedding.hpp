// The canonical embedding in floating point: real slots at zeta^(3^j) <-> coefficients of a real
// polynomial of degree n, as a complex transform of n/2 points.
//
// The transform's own points are zeta^(5^k), the exponents that are 1 modulo 4, because zeta^(n/2)
// is i at all of them: coefficient n/2 + i is the imaginary part of number i. SEAL's 3^j or its
// negative is one of them, and a real slot has the same value at both.
#pragma once

#include <vector>

#include "modular.hpp"

namespace securefair {

struct Embedding {
    std::size_t points;                // n/2
    std::vector<double> cosine, sine;  // [h + j]: angle 2 pi (5^j mod 8h) / 8h of half-size h
    std::vector<u32> reversed;         // bit reversal of a position
    std::vector<u32> place;            // of slot j among the points

    explicit Embedding(std::size_t n);
};

// Shared, immutable; made on first use.
const Embedding& embedding(std::size_t n);

// Values at the points -> coefficients in place: re holds coefficients 0 .. n/2 - 1 afterwards, im
// the others, both in bit-reversed order and n/2 times too large.
void points_to_coefficients(double* re, double* im, const Embedding& e);

// The inverse without the factor: coefficients in bit-reversed order -> values at the points.
void coefficients_to_points(double* re, double* im, const Embedding& e);

}  // namespace securefair
