// One or two dense maps of ciphertexts as they arrived, with squares between them.
#pragma once

#include "arrivals.hpp"
#include "keyswitch.hpp"

namespace securefair {

// to = map(x), (outputs, 2, limbs, n).
void apply_linear(u32* to, const Arrived& x, const DenseMap& map, const Basis& basis);

// to = outer(inner(x)^2), (outputs, 3, limbs, n).
void apply_quadratic(u32* to, const Arrived& x, const DenseMap& inner, const DenseMap& outer,
                     const Basis& basis);

// The same of pairs of features x + J y, J = X^(n/2): to = outer((z + conj(z))^2) for
// z = (w - J v) (x + J y).
//
// inner: all rows w, then all rows v. hidden: memory for what is squared, as many ciphertexts as
// `outer` has inputs. key: as of `switch_key`, for conjugates. basis: the data primes, then the
// special one.
void apply_paired_quadratic(u32* to, u32* hidden, const Arrived& x, const DenseMap& inner,
                            const DenseMap& outer, const SwitchingKey& key, const Basis& basis);

}  // namespace securefair
