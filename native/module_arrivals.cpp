// The Python face of messages as they arrive.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <optional>

#include "arrivals.hpp"
#include "binding.hpp"
#include "parallel.hpp"
#include "prng.hpp"
#include "rows.hpp"

using namespace nanobind::literals;

namespace securefair {
namespace {

// The sampler on a stream that is given instead of one made from a seed (for tests).
void uniform(const Polynomials& to, const Array<std::uint64_t, 1>& stream, const Primes& primes) {
    require_shape(to, 1, primes.size());
    sample_uniform(words(to), {stream.data(), stream.shape(0)}, tables(to.shape(2), primes));
}

void expand(const Polynomials& to, const Array<std::uint8_t, 2>& seeds, const Primes& primes) {
    require_shape(to, seeds.shape(0), primes.size());
    require(seeds.shape(1) == seed_bytes, "seeds are not (count, 64)");
    expand_seeds(words(to), seeds.data(), seeds.shape(0), tables(to.shape(2), primes));
}

// Views of the bytes of a message: only their last dimensions must be contiguous.
template <typename T, int dimensions>
using View = nb::ndarray<const T, nb::ndim<dimensions>, nb::device::cpu>;

void require_message(const View<std::uint32_t, 3>& first, const View<std::uint8_t, 2>& seeds,
                     std::size_t limbs, std::size_t n) {
    require(limbs > 0, "no primes");
    require(first.shape(0) == seeds.shape(0) && first.shape(1) == limbs && first.shape(2) == n,
            "first polynomials are not (count, limbs, n)");
    require(seeds.shape(1) == seed_bytes, "seeds are not (count, 64)");
    require(first.stride(2) == 1 && first.stride(1) == static_cast<std::int64_t>(n) &&
                first.stride(0) >= static_cast<std::int64_t>(limbs * n) && seeds.stride(1) == 1 &&
                seeds.stride(0) >= static_cast<std::int64_t>(seed_bytes),
            "polynomials or seeds are not contiguous");
}

bool receive(const Tensor& to, const View<std::uint32_t, 3>& first,
             const View<std::uint8_t, 2>& seeds, const Primes& primes) {
    const std::size_t count = seeds.shape(0), limbs = primes.size(), n = to.shape(3);
    require_message(first, seeds, limbs, n);
    require_shape(to, count, 2, limbs, n, "out is not (count, 2, limbs, n)");
    const Arrivals arrivals{first.data(), seeds.data(), count,
                            static_cast<std::size_t>(first.stride(0)),
                            static_cast<std::size_t>(seeds.stride(0))};
    return receive_seeded(words(to), arrivals, tables(n, primes));
}

bool message_below_primes(const View<std::uint32_t, 3>& first, const View<std::uint8_t, 2>& seeds,
                          const Primes& primes) {
    const std::size_t count = first.shape(0), limbs = primes.size(), n = first.shape(2);
    require_message(first, seeds, limbs, n);
    const auto basis = tables(n, primes);
    std::atomic<bool> below = true;
    parallel_for(count, [&](std::size_t i) {
        const u32* const at = first.data() + i * static_cast<std::size_t>(first.stride(0));
        for (std::size_t limb = 0; limb < limbs; ++limb)
            if (!all_below(at + limb * n, n, *basis[limb])) below = false;
    });
    return below;
}

DenseMap dense_map(const Rows& weights, const Rows& bias, std::size_t limbs) {
    require(weights.shape(0) > 0 && weights.shape(1) > 0, "a map is empty");
    require(bias.shape(0) == weights.shape(0) && bias.shape(1) == limbs,
            "bias is not (outputs, limbs)");
    return {weights.data(), words(bias), weights.shape(0), weights.shape(1)};
}

// second: null, or (count, limbs, n) that is read if `known` and written if not.
void arrived_maps(const Tensor& to, const View<std::uint32_t, 3>& first,
                  const View<std::uint8_t, 2>& seeds, const std::optional<Polynomials>& second,
                  bool known, const Rows& weights, const Rows& bias,
                  const std::optional<Rows>& outer_weights, const std::optional<Rows>& outer_bias,
                  const Primes& primes) {
    const std::size_t limbs = primes.size(), n = to.shape(3);
    require_message(first, seeds, limbs, n);
    require(!known || second, "nothing is known");
    require(!second || (second->shape(0) == first.shape(0) && second->shape(1) == limbs &&
                        second->shape(2) == n),
            "second polynomials are not (count, limbs, n)");
    const DenseMap inner = dense_map(weights, bias, limbs);
    require(inner.inputs == first.shape(0), "weights are not (outputs, inputs)");
    require(outer_weights.has_value() == outer_bias.has_value(), "half an outer map");
    const Arrived x{first.data(),
                    static_cast<std::size_t>(first.stride(0)),
                    seeds.data(),
                    static_cast<std::size_t>(seeds.stride(0)),
                    second ? words(*second) : nullptr,
                    known};
    if (!outer_weights) {
        require_shape(to, inner.outputs, 2, limbs, n, "out is not (outputs, 2, limbs, n)");
        apply_maps(words(to), x, inner, nullptr, tables(n, primes));
        return;
    }
    const DenseMap outer = dense_map(*outer_weights, *outer_bias, limbs);
    require(outer.inputs == inner.outputs, "outer weights are not (outputs, hidden)");
    require_shape(to, outer.outputs, 3, limbs, n, "out is not (outputs, 3, limbs, n)");
    apply_maps(words(to), x, inner, &outer, tables(n, primes));
}

}  // namespace

void bind_arrivals(nb::module_& m) {
    using release = nb::call_guard<nb::gil_scoped_release>;
    m.def("expand_seeds", expand, "out"_a, "seeds"_a, "primes"_a, release());
    m.def("receive", receive, "out"_a, "first"_a, "seeds"_a, "primes"_a, release());
    m.def("message_below_primes", message_below_primes, "first"_a, "seeds"_a, "primes"_a,
          release());
    m.def("arrived_maps", arrived_maps, "out"_a, "first"_a, "seeds"_a, "second"_a.none(), "known"_a,
          "weights"_a, "bias"_a, "outer_weights"_a.none(), "outer_bias"_a.none(), "primes"_a,
          release());
    m.def("uniform", uniform, "out"_a, "stream"_a, "primes"_a, release());
}

}  // namespace securefair
