// The canonical embedding in floating point: slots at zeta^(5^j) <-> coefficients of a real
// polynomial of degree n, as a complex transform of n/2 points.
#pragma once

#include <vector>

#include "modular.hpp"

namespace securefair {

struct Embedding {
    std::size_t points;                // n/2
    std::vector<double> cosine, sine;  // [h + j]: angle 2 pi (5^j mod 8h) / 8h of half-size h
    std::vector<u32> reversed;         // bit reversal of a position

    explicit Embedding(std::size_t n);
};

// Shared, immutable; made on first use.
const Embedding& embedding(std::size_t n);

// Slots -> coefficients in place: re holds coefficients 0 .. n/2 - 1 afterwards, im the others,
// both in bit-reversed order and n/2 times too large.
void slots_to_coefficients(double* re, double* im, const Embedding& e);

// The inverse without the factor: coefficients in bit-reversed order -> slots in order.
void coefficients_to_slots(double* re, double* im, const Embedding& e);

}  // namespace securefair
