// The Python face: buffers in and out, no policy. Rows repeat over the primes, limb fastest.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "dispatch.hpp"
#include "ntt.hpp"
#include "parallel.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace securefair {
namespace {

using Rows = nb::ndarray<std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Primes = std::vector<u32>;

u32* words(const Rows& rows) { return reinterpret_cast<u32*>(rows.data()); }

// Calls transform on every row, limb by limb so that consecutive rows share their tables.
void transform_rows(const Rows& rows, const Primes& primes, void (*transform)(u32*, const Tables&)) {
    const std::size_t n = rows.shape(1), limbs = primes.size();
    if (limbs == 0 || rows.shape(0) % limbs != 0)
        throw std::invalid_argument("rows are not a multiple of the primes");
    const auto basis = tables(n, primes);
    const std::size_t count = rows.shape(0) / limbs;
    u32* const data = words(rows);
    parallel_for(rows.shape(0), [&](std::size_t task) {
        const std::size_t limb = task / count, item = task % count;
        transform(data + (item * limbs + limb) * n, *basis[limb]);
    });
}

std::string isa_name(Isa isa) {
    return isa == Isa::avx512 ? "avx512" : isa == Isa::avx2 ? "avx2" : "scalar";
}

Isa isa_of(const std::string& name) {
    for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512})
        if (name == isa_name(isa)) return isa;
    throw std::invalid_argument("unknown instruction set: " + name);
}

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "Kernels on residues modulo NTT primes below 2^31: public arithmetic only.";
    using release = nb::call_guard<nb::gil_scoped_release>;

    m.def("set_threads", &set_threads, "count"_a, "Threads that kernels may use.");
    m.def("threads", &threads);
    m.def("isa", [] { return isa_name(current_isa()); }, "Instruction set in use.");
    m.def("best_isa", [] { return isa_name(best_isa()); });
    m.def("use_isa", [](const std::string& name) { use_isa(isa_of(name)); }, "name"_a,
          "Use a narrower instruction set than the processor's best (for tests).");

    m.def(
        "ntt_forward",
        [](const Rows& x, const Primes& primes) { transform_rows(x, primes, ntt_forward); },
        "rows"_a, "primes"_a, release());
    m.def(
        "ntt_inverse",
        [](const Rows& x, const Primes& primes) { transform_rows(x, primes, ntt_inverse); },
        "rows"_a, "primes"_a, release());
}

}  // namespace securefair
