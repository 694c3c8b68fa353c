// The Python face of messages as they arrive.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>
#include <vector>

#include "arrived_patches.hpp"
#include "binding.hpp"
#include "maps.hpp"
#include "packing.hpp"
#include "parallel.hpp"
#include "patch_checks.hpp"
#include "prng.hpp"

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

using Bytes = View<std::uint8_t, 2>;
std::size_t row_bytes(const Primes& primes, std::size_t n) {
    std::size_t bytes = 0;
    for (const u32 p : primes) bytes += packed_bytes(n, width(p));
    return bytes;
}

// Rows of packed first polynomials and of seeds, as they stand in a message.
Message message(const Bytes& first, const Bytes& seeds, const Primes& primes, std::size_t n) {
    require(!primes.empty(), "no primes");
    require(n > 0 && n % block_residues == 0, "the ring degree is no multiple of 512");
    require(first.shape(0) == seeds.shape(0) && first.shape(1) == row_bytes(primes, n),
            "first polynomials are not (count, bytes)");
    require(seeds.shape(1) == seed_bytes, "seeds are not (count, 64)");
    require(first.stride(1) == 1 && seeds.stride(1) == 1 &&
                first.stride(0) >= static_cast<std::int64_t>(first.shape(1)) &&
                seeds.stride(0) >= static_cast<std::int64_t>(seed_bytes),
            "polynomials or seeds are not contiguous");
    return {first.data(), seeds.data(), first.shape(0), static_cast<std::size_t>(first.stride(0)),
            static_cast<std::size_t>(seeds.stride(0))};
}

bool receive(const Tensor& to, const Bytes& first, const Bytes& seeds, const Primes& primes) {
    const std::size_t n = to.shape(3);
    require_shape(to, seeds.shape(0), 2, primes.size(), n, "out is not (count, 2, limbs, n)");
    return receive_seeded(words(to), message(first, seeds, primes, n), tables(n, primes));
}

bool message_below_primes(const Bytes& first, const Bytes& seeds, std::size_t n,
                          const Primes& primes) {
    return below_primes(message(first, seeds, primes, n), tables(n, primes));
}

// Residues below their primes to bytes.
void pack_polynomials(const Array<std::uint8_t, 2>& to, const Polynomials& x,
                      const Primes& primes) {
    const std::size_t n = x.shape(2), bytes = row_bytes(primes, n);
    require_shape(x, to.shape(0), primes.size());
    require(n > 0 && n % block_residues == 0, "the ring degree is no multiple of 512");
    require(to.shape(1) == bytes, "out is not (count, bytes)");
    parallel_for(x.shape(0), [&](std::size_t i) {
        const u32* from = words(x) + i * primes.size() * n;
        std::uint8_t* at = to.data() + i * bytes;
        for (const u32 p : primes) {
            pack(at, from, width(p), n);
            from += n;
            at += packed_bytes(n, width(p));
        }
    });
}

DenseMap dense_map(const Rows& weights, const Rows& bias, std::size_t limbs) {
    require(weights.shape(0) > 0 && weights.shape(1) > 0, "a map is empty");
    require(bias.shape(0) == weights.shape(0) && bias.shape(1) == limbs,
            "bias is not (outputs, limbs)");
    return {weights.data(), words(bias), weights.shape(0), weights.shape(1)};
}

// second: null, or (count, limbs, n) that is read if `known` and written if not.
Arrived arrived(const Bytes& first, const Bytes& seeds, const std::optional<Polynomials>& second,
                bool known, const Primes& primes, std::size_t n) {
    const Message x = message(first, seeds, primes, n);
    require(!known || second, "nothing is known");
    require(!second || (second->shape(0) == x.count && second->shape(1) == primes.size() &&
                        second->shape(2) == n),
            "second polynomials are not (count, limbs, n)");
    return {x, second ? words(*second) : nullptr, known};
}

void arrived_maps(const Tensor& to, const Bytes& first, const Bytes& seeds,
                  const std::optional<Polynomials>& second, bool known, const Rows& weights,
                  const Rows& bias, const std::optional<Rows>& outer_weights,
                  const std::optional<Rows>& outer_bias, const Primes& primes) {
    const std::size_t limbs = primes.size(), n = to.shape(3);
    const Arrived x = arrived(first, seeds, second, known, primes, n);
    const DenseMap inner = dense_map(weights, bias, limbs);
    require(inner.inputs == x.count, "weights are not (outputs, inputs)");
    require(outer_weights.has_value() == outer_bias.has_value(), "half an outer map");
    if (!outer_weights) {
        require_shape(to, inner.outputs, 2, limbs, n, "out is not (outputs, 2, limbs, n)");
        apply_linear(words(to), x, inner, tables(n, primes));
        return;
    }
    const DenseMap outer = dense_map(*outer_weights, *outer_bias, limbs);
    require(outer.inputs == inner.outputs, "outer weights are not (outputs, hidden)");
    require_shape(to, outer.outputs, 3, limbs, n, "out is not (outputs, 3, limbs, n)");
    apply_quadratic(words(to), x, inner, outer, tables(n, primes));
}

// hidden: memory for what is squared, (units, 2, limbs, n); weights: (2 units, inputs); primes: those
// of the ciphertexts, then the special one.
void paired_maps(const Tensor& to, const Tensor& hidden, const Bytes& first, const Bytes& seeds,
                 const std::optional<Polynomials>& second, bool known, const Rows& weights,
                 const Rows& bias, const Rows& outer_weights, const Rows& outer_bias,
                 const Tensor& key, const Primes& primes) {
    require(primes.size() >= 2, "a special prime is needed");
    const Primes data(primes.begin(), primes.end() - 1);
    const std::size_t limbs = data.size(), n = to.shape(3);
    const Arrived x = arrived(first, seeds, second, known, data, n);
    const DenseMap inner = dense_map(weights, bias, limbs);
    const DenseMap outer = dense_map(outer_weights, outer_bias, limbs);
    const std::size_t units = outer.inputs;
    require(inner.inputs == x.count && inner.outputs == 2 * units,
            "weights are not (2 units, inputs)");
    require_shape(hidden, units, 2, limbs, n, "hidden is not (units, 2, limbs, n)");
    require_shape(to, outer.outputs, 3, limbs, n, "out is not (outputs, 3, limbs, n)");
    require_key(key, limbs, n);
    apply_paired_quadratic(words(to), words(hidden), x, inner, outer,
                           {words(key), key.shape(0), key.shape(2)}, tables(n, primes));
}

// Inputs, pairs, weights, reads and writes of every patch, bias; then groups.
using Map = std::tuple<Integers, Table, std::vector<Rows>, std::vector<Table>, std::vector<Table>,
                       Rows>;
using Band = std::tuple<Map, Table>;

PatchMap patch_map(const Map& map, std::size_t values, std::size_t limbs) {
    const auto& [inputs, pairs, weights, reads, writes, bias] = map;
    require(bias.shape(1) == limbs, "bias is not (outputs, limbs)");
    const std::span<const i64> numbers(inputs.data(), inputs.shape(0));
    for (const i64 i : numbers)
        require(i >= 0 && static_cast<std::size_t>(i) < values, "no such input");
    return {numbers, checked_pairs(pairs, numbers.size()),
            checked_patches(weights, reads, writes, pairs.shape(0), bias.shape(0)), words(bias),
            bias.shape(0)};
}

// Messages lie one after the other in `first` and `seeds`; inputs of bands are numbers of their
// ciphertexts, inputs of the outer map numbers of groups.
void patched_quadratic(const Tensor& to, const std::vector<Bytes>& first,
                       const std::vector<Bytes>& seeds, const std::vector<Band>& bands,
                       const Map& outer, const Primes& primes) {
    const std::size_t limbs = primes.size(), n = to.shape(3);
    require(first.size() == seeds.size() && !bands.empty(), "no messages, or no bands");
    ArrivedRows x;
    for (std::size_t i = 0; i < first.size(); ++i) {
        const Message part = message(first[i], seeds[i], primes, n);
        for (std::size_t k = 0; k < part.count; ++k) {
            x.first.push_back(part.first + k * part.first_stride);
            const std::uint8_t* const seed = part.seeds + k * part.seed_stride;
            x.seeds.insert(x.seeds.end(), seed, seed + seed_bytes);
        }
    }
    std::vector<SquaredMap> maps;
    std::size_t sums = 0;
    for (const auto& [map, groups] : bands) {
        require(groups.shape(0) > 0 && groups.shape(1) > 0, "a group is empty");
        maps.push_back({patch_map(map, x.first.size(), limbs),
                        {groups.data(), groups.size()},
                        groups.shape(1)});
        require_below(groups, 0, maps.back().outputs);
        sums += maps.back().sums();
    }
    const PatchMap last = patch_map(outer, sums, limbs);
    require_shape(to, last.outputs, 3, limbs, n, "out is not (outputs, 3, limbs, n)");
    apply_patched_quadratic(words(to), x, maps, last, tables(n, primes));
}

}  // namespace

void bind_arrivals(nb::module_& m) {
    using release = nb::call_guard<nb::gil_scoped_release>;
    m.def("expand_seeds", expand, "out"_a, "seeds"_a, "primes"_a, release());
    m.def("pack", pack_polynomials, "out"_a, "x"_a, "primes"_a, release());
    m.def("receive", receive, "out"_a, "first"_a, "seeds"_a, "primes"_a, release());
    m.def("message_below_primes", message_below_primes, "first"_a, "seeds"_a, "n"_a,
          "primes"_a, release());
    m.def("arrived_maps", arrived_maps, "out"_a, "first"_a, "seeds"_a,
          "second"_a.none(), "known"_a, "weights"_a, "bias"_a, "outer_weights"_a.none(),
          "outer_bias"_a.none(), "primes"_a, release());
    m.def("patched_quadratic", patched_quadratic, "out"_a, "first"_a, "seeds"_a, "bands"_a,
          "outer"_a, "primes"_a, release());
    m.def("paired_maps", paired_maps, "out"_a, "hidden"_a, "first"_a, "seeds"_a,
          "second"_a.none(), "known"_a, "weights"_a, "bias"_a, "outer_weights"_a,
          "outer_bias"_a, "key"_a, "primes"_a, release());
    m.def("uniform", uniform, "out"_a, "stream"_a, "primes"_a, release());
}

}  // namespace securefair
