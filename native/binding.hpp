// What the Python face is made of: typed arrays, and checks of what comes in.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <vector>

#include "modular.hpp"

namespace securefair {

namespace nb = nanobind;

template <typename T, int dimensions>
using Array = nb::ndarray<T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
using Rows = Array<std::int32_t, 2>;     // (rows, n)
using Tensor = Array<std::int32_t, 4>;   // (d, polys, limbs, n)
using Polynomials = Array<std::int32_t, 3>;  // (count, limbs, n)
using Reals = Array<double, 2>;          // (count, slots)
using Integers = Array<std::int64_t, 1>;
using Table = Array<std::int64_t, 2>;
using Primes = std::vector<u32>;

template <typename A>
u32* words(const A& x) {
    return reinterpret_cast<u32*>(x.data());
}

inline void require(bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(what);
}

inline void require_shape(const Tensor& x, std::size_t d, std::size_t polys, std::size_t limbs,
                          std::size_t n, const char* what) {
    require(x.shape(0) == d && x.shape(1) == polys && x.shape(2) == limbs && x.shape(3) == n,
            what);
}

inline void require_shape(const Polynomials& x, std::size_t count, std::size_t limbs) {
    require(limbs > 0 && x.shape(0) == count && x.shape(1) == limbs,
            "residues are not (count, limbs, n)");
}

// A switching key for ciphertexts of so many limbs.
inline void require_key(const Tensor& key, std::size_t limbs, std::size_t n) {
    require_shape(key, key.shape(0), 2, key.shape(2), n, "key is not (digits, 2, limbs, n)");
    require(key.shape(0) >= limbs && key.shape(2) > limbs, "the key has too few digits or limbs");
}

// Messages as they arrive, and the seeds in them.
void bind_arrivals(nb::module_& m);

}  // namespace securefair
