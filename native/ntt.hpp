// Negacyclic number-theoretic transform of one row, in SEAL's order and with SEAL's roots.
#pragma once

#include "modular.hpp"

namespace securefair {

// Coefficients below p -> values below p, at psi^(2 bitreverse(i) + 1) in place i.
void ntt_forward(u32* row, const Tables& t);

// The same of words below `below`, whatever the prime, from another place.
void ntt_forward(u32* to, const u32* from, u64 below, const Tables& t);

// The inverse, N^-1 included.
void ntt_inverse(u32* row, const Tables& t);

}  // namespace securefair
