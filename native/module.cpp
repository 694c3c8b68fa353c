// The Python face: buffers in and out, no policy. Rows repeat over the primes, limb fastest.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "binding.hpp"
#include "dispatch.hpp"
#include "division.hpp"
#include "encode.hpp"
#include "gemm.hpp"
#include "keyswitch.hpp"
#include "ntt.hpp"
#include "parallel.hpp"
#include "patch_checks.hpp"
#include "product.hpp"
#include "rows.hpp"
#include "scratch.hpp"

using namespace nanobind::literals;

namespace securefair {
namespace {

std::span<const i64> indices(const Integers& x, std::size_t below) {
    const std::span<const i64> result(x.data(), x.shape(0));
    for (const i64 i : result)
        require(i >= 0 && static_cast<std::size_t>(i) < below, "index out of range");
    return result;
}

// Calls body(row, tables) for every row, limb by limb so that consecutive rows share tables.
template <typename Body>
void for_each_row(const Rows& rows, const Primes& primes, const Body& body) {
    const std::size_t n = rows.shape(1), limbs = primes.size();
    require(limbs > 0 && rows.shape(0) % limbs == 0, "rows are not a multiple of the primes");
    const auto basis = tables(n, primes);
    const std::size_t count = rows.shape(0) / limbs;
    parallel_for(rows.shape(0), [&](std::size_t task) {
        const std::size_t limb = task / count, row = task % count * limbs + limb;
        body(row, *basis[limb]);
    });
}

void transform_rows(const Rows& x, const Primes& primes, void (*transform)(u32*, const Tables&)) {
    for_each_row(x, primes, [&](std::size_t row, const Tables& t) {
        transform(words(x) + row * t.n, t);
    });
}

using RowOperation = void (*)(u32*, const u32*, const u32*, std::size_t, const Prime&);

void combine_rows(const Rows& to, const Rows& x, const Rows& y, const Primes& primes,
                  RowOperation operation) {
    require(to.shape(0) == x.shape(0) && x.shape(0) == y.shape(0) && to.shape(1) == x.shape(1) &&
                x.shape(1) == y.shape(1),
            "shapes differ");
    for_each_row(to, primes, [&](std::size_t row, const Tables& t) {
        const std::size_t at = row * t.n;
        operation(words(to) + at, words(x) + at, words(y) + at, t.n, t);
    });
}

void square_tensor(const Tensor& to, const Tensor& x, const Primes& primes) {
    const std::size_t d = x.shape(0), limbs = primes.size(), n = x.shape(3);
    require_shape(x, d, 2, limbs, n, "x is not (d, 2, limbs, n)");
    require_shape(to, d, 3, limbs, n, "out is not (d, 3, limbs, n)");
    square_each(words(to), words(x), d, tables(n, primes));
}

void sum_of_products(const Tensor& to, const Tensor& x, const Tensor& y, const Integers& left,
                     const Integers& right, const Primes& primes) {
    const std::size_t groups = to.shape(0), limbs = primes.size(), n = to.shape(3);
    require_shape(to, groups, 3, limbs, n, "out is not (groups, 3, limbs, n)");
    require_shape(x, x.shape(0), 2, limbs, n, "x is not (d, 2, limbs, n)");
    require_shape(y, y.shape(0), 2, limbs, n, "y is not (d, 2, limbs, n)");
    require(left.shape(0) == right.shape(0) && groups > 0 && left.shape(0) > 0 &&
                left.shape(0) % groups == 0,
            "indices do not fill the groups");
    sum_products_by_index(words(to), words(x), words(y), indices(left, x.shape(0)),
                          indices(right, y.shape(0)), left.shape(0) / groups, tables(n, primes));
}

void linear(const Tensor& to, const Rows& weights, const Tensor& x,
            const std::optional<Rows>& bias, const Primes& primes) {
    const std::size_t inputs = x.shape(0), polys = x.shape(1), limbs = primes.size();
    const std::size_t outputs = to.shape(0), n = x.shape(3);
    require_shape(x, inputs, polys, limbs, n, "x is not (inputs, polys, limbs, n)");
    require_shape(to, outputs, polys, limbs, n, "out is not (outputs, polys, limbs, n)");
    require(weights.shape(0) == outputs && weights.shape(1) == inputs,
            "weights are not (outputs, inputs)");
    require(!bias || (bias->shape(0) == outputs && bias->shape(1) == limbs),
            "bias is not (outputs, limbs)");
    linear_layer(words(to), weights.data(), words(x), bias ? words(*bias) : nullptr, outputs,
                 inputs, polys, tables(n, primes));
}

// Checked arguments of a product by patches. rows: (inputs, 2), of each input the block and the
// ciphertext in it.
struct Patches {
    std::vector<const u32*> sources;
    std::span<const i64> pairs;
    std::vector<Patch> patches;

    Patches(const std::vector<Tensor>& blocks, const Table& rows, const Table& pairs_,
            const std::vector<Rows>& weights, const std::vector<Table>& reads,
            const std::vector<Table>& writes, const Rows& bias, std::size_t polys,
            const Primes& primes, std::size_t n) {
        const std::size_t limbs = primes.size(), inputs = rows.shape(0), outputs = bias.shape(0);
        for (const Tensor& block : blocks)
            require_shape(block, block.shape(0), polys, limbs, n,
                          "a block is not (count, polys, limbs, n)");
        require(rows.shape(1) == 2, "rows have two columns");
        require(bias.shape(1) == limbs, "bias is not (outputs, limbs)");
        for (std::size_t i = 0; i < inputs; ++i) {
            const i64 block = rows.data()[2 * i], row = rows.data()[2 * i + 1];
            require(block >= 0 && static_cast<std::size_t>(block) < blocks.size(), "no such block");
            require(row >= 0 && static_cast<std::size_t>(row) < blocks[block].shape(0),
                    "no such ciphertext");
            sources.push_back(words(blocks[block]) + row * polys * limbs * n);
        }
        pairs = checked_pairs(pairs_, inputs);
        patches = checked_patches(weights, reads, writes, pairs_.shape(0), outputs);
    }
};

void patched(const Tensor& to, const std::vector<Tensor>& blocks, const Table& rows,
             const Table& pairs, const std::vector<Rows>& weights, const std::vector<Table>& reads,
             const std::vector<Table>& writes, const Rows& bias, const Primes& primes) {
    const std::size_t polys = to.shape(1), n = to.shape(3);
    require_shape(to, bias.shape(0), polys, primes.size(), n,
                  "out is not (outputs, polys, limbs, n)");
    const Patches x(blocks, rows, pairs, weights, reads, writes, bias, polys, primes, n);
    linear_patches(words(to), x.sources, x.pairs, x.patches, words(bias), polys, tables(n, primes));
}

void squared(const Tensor& to, const std::vector<Tensor>& blocks, const Table& rows,
             const Table& pairs, const std::vector<Rows>& weights, const std::vector<Table>& reads,
             const std::vector<Table>& writes, const Rows& bias, const Table& groups,
             const Primes& primes) {
    const std::size_t n = to.shape(3), outputs = bias.shape(0);
    require_shape(to, groups.shape(0), 3, primes.size(), n, "out is not (groups, 3, limbs, n)");
    require(groups.shape(1) > 0, "a group is empty");
    require_below(groups, 0, outputs);
    const Patches x(blocks, rows, pairs, weights, reads, writes, bias, 2, primes, n);
    square_patches(words(to), x.sources, x.pairs, x.patches, words(bias), outputs,
                   {groups.data(), groups.size()}, groups.shape(1), tables(n, primes));
}

void rescale(const Tensor& to, const Tensor& x, const Primes& primes) {
    const std::size_t d = x.shape(0), polys = x.shape(1), limbs = primes.size(), n = x.shape(3);
    require_shape(x, d, polys, limbs, n, "x is not (d, polys, limbs, n)");
    require(to.shape(2) >= 1 && to.shape(2) < limbs, "nothing is left, or nothing to drop");
    require_shape(to, d, polys, to.shape(2), n, "out is not (d, polys, fewer limbs, n)");
    divide_by_last(words(to), words(x), d * polys, tables(n, primes), limbs - to.shape(2));
}

// to[g] = sum_t y[groups[g, t]]^2, y = x rescaled to the limbs of `to`.
void rescaled_square_sums(const Tensor& to, const Tensor& x, const Table& groups,
                          const Primes& primes) {
    const std::size_t d = x.shape(0), limbs = primes.size(), n = x.shape(3);
    require_shape(x, d, 2, limbs, n, "x is not (d, 2, limbs, n)");
    require(to.shape(2) >= 1 && to.shape(2) < limbs, "nothing is left, or nothing to drop");
    require_shape(to, groups.shape(0), 3, to.shape(2), n, "out is not (groups, 3, fewer limbs, n)");
    require(groups.shape(1) > 0, "a group is empty");
    require_below(groups, 0, d);
    divided_square_sums(words(to), words(x), {groups.data(), groups.size()}, groups.shape(1),
                        tables(n, primes), limbs - to.shape(2));
}

// primes: those of x, then the special one; x is rescaled to the limbs of `to` first.
void relinearize_to(const Tensor& to, const Tensor& x, const Tensor& key, const Primes& primes) {
    require(primes.size() >= 2, "a special prime is needed");
    const std::size_t d = x.shape(0), limbs = primes.size() - 1, n = x.shape(3);
    const std::size_t left = to.shape(2);
    require_shape(x, d, 3, limbs, n, "x is not (d, 3, limbs, n)");
    require(left >= 1 && left <= limbs, "nothing is left, or more limbs than x has");
    require_shape(to, d, 2, left, n, "out is not (d, 2, left, n)");
    require_key(key, left, n);
    relinearize(words(to), words(x), d, {words(key), key.shape(0), key.shape(2)},
                tables(n, primes), limbs - left);
}

// Calls body(row of x, row of plain, tables) for the first `polys` polynomials of every x.
template <typename Body>
void for_each_plain(const Tensor& x, const Polynomials& plain, std::size_t polys,
                    const Primes& primes, const Body& body) {
    const std::size_t d = x.shape(0), limbs = primes.size(), n = x.shape(3);
    require_shape(x, d, x.shape(1), limbs, n, "x is not (d, polys, limbs, n)");
    require(polys <= x.shape(1), "x has no first polynomial");
    require(plain.shape(0) == d && plain.shape(1) == limbs && plain.shape(2) == n,
            "plain is not (d, limbs, n)");
    const auto basis = tables(n, primes);
    parallel_for(d * polys * limbs, [&](std::size_t task) {
        const std::size_t limb = task % limbs, poly = task / limbs % polys;
        const std::size_t i = task / limbs / polys;
        body((i * x.shape(1) + poly) * limbs + limb, i * limbs + limb, *basis[limb]);
    });
}

void add_to_first(const Tensor& x, const Polynomials& plain, const Primes& primes) {
    for_each_plain(x, plain, 1, primes, [&](std::size_t row, std::size_t other, const Tables& t) {
        u32* const at = words(x) + row * t.n;
        add(at, at, words(plain) + other * t.n, t.n, t);
    });
}

void multiply_by_plain(const Tensor& to, const Tensor& x, const Polynomials& plain,
                       const Primes& primes) {
    require_shape(to, x.shape(0), x.shape(1), x.shape(2), x.shape(3), "out is not shaped as x");
    for_each_plain(x, plain, x.shape(1), primes,
                   [&](std::size_t row, std::size_t other, const Tables& t) {
                       multiply(words(to) + row * t.n, words(x) + row * t.n,
                                words(plain) + other * t.n, t.n, t);
                   });
}

// Selected coefficients of every row: (rows, n) in transformed form -> (rows, selected).
void coefficients(const Rows& to, const Rows& x, const Integers& which, const Primes& primes) {
    const std::size_t n = x.shape(1);
    const auto selected = indices(which, n);
    require(to.shape(0) == x.shape(0) && to.shape(1) == selected.size(),
            "out is not (rows, selected)");
    for_each_row(x, primes, [&](std::size_t row, const Tables& t) {
        u32* const memory = scratch(n);
        std::copy_n(words(x) + row * n, n, memory);
        ntt_inverse(memory, t);
        u32* const at = words(to) + row * selected.size();
        for (std::size_t i = 0; i < selected.size(); ++i) at[i] = memory[selected[i]];
    });
}

void encode_slots(const Polynomials& to, const Reals& slots, double scale, const Primes& primes) {
    require_shape(to, slots.shape(0), primes.size());
    require(slots.shape(1) <= to.shape(2), "too many slots");
    encode(words(to), slots.data(), slots.shape(0), slots.shape(1), scale,
           tables(to.shape(2), primes));
}

void decode_slots(const Reals& slots, const Polynomials& x, double scale, const Primes& primes) {
    require_shape(x, slots.shape(0), primes.size());
    require(slots.shape(1) == x.shape(2) / 2, "out is not (count, n/2)");
    decode(slots.data(), words(x), x.shape(0), scale, tables(x.shape(2), primes));
}

std::string isa_name(Isa isa) {
    constexpr const char* names[] = {"scalar", "avx2", "avx512", "amx"};
    return names[static_cast<int>(isa)];
}

Isa isa_of(const std::string& name) {
    for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512, Isa::amx})
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
          "Use another instruction set than the processor's best (for tests).");

    m.def(
        "ntt_forward",
        [](const Rows& x, const Primes& primes) { transform_rows(x, primes, ntt_forward); },
        "rows"_a, "primes"_a, release());
    m.def(
        "ntt_inverse",
        [](const Rows& x, const Primes& primes) { transform_rows(x, primes, ntt_inverse); },
        "rows"_a, "primes"_a, release());
    m.def(
        "add",
        [](const Rows& to, const Rows& x, const Rows& y, const Primes& primes) {
            combine_rows(to, x, y, primes, add);
        },
        "out"_a, "x"_a, "y"_a, "primes"_a, release());
    m.def(
        "subtract",
        [](const Rows& to, const Rows& x, const Rows& y, const Primes& primes) {
            combine_rows(to, x, y, primes, subtract);
        },
        "out"_a, "x"_a, "y"_a, "primes"_a, release());
    m.def("multiply_plain", multiply_by_plain, "out"_a, "x"_a, "plain"_a, "primes"_a, release());
    m.def("add_to_first", add_to_first, "x"_a, "plain"_a, "primes"_a, release());
    m.def("coefficients", coefficients, "out"_a, "x"_a, "which"_a, "primes"_a, release());
    m.def("encode", encode_slots, "out"_a, "slots"_a, "scale"_a, "primes"_a, release());
    m.def("decode", decode_slots, "out"_a, "x"_a, "scale"_a, "primes"_a, release());
    // Python refuses a module with another number: grows whenever a function
    // is added or changes its arguments.
    m.attr("INTERFACE") = 6;
    bind_arrivals(m);
    m.def("square", square_tensor, "out"_a, "x"_a, "primes"_a, release());
    m.def("sum_products", sum_of_products, "out"_a, "x"_a, "y"_a, "left"_a, "right"_a, "primes"_a,
          release());
    m.def("linear", linear, "out"_a, "weights"_a, "x"_a, "bias"_a.none(), "primes"_a, release());
    m.def("linear_patches", patched, "out"_a, "blocks"_a, "rows"_a, "pairs"_a, "weights"_a,
          "reads"_a, "writes"_a, "bias"_a, "primes"_a, release());
    m.def("square_patches", squared, "out"_a, "blocks"_a, "rows"_a, "pairs"_a, "weights"_a,
          "reads"_a, "writes"_a, "bias"_a, "groups"_a, "primes"_a, release());
    m.def("rescale", rescale, "out"_a, "x"_a, "primes"_a, release());
    m.def("rescaled_square_sums", rescaled_square_sums, "out"_a, "x"_a, "groups"_a, "primes"_a,
          release());
    m.def("relinearize", relinearize_to, "out"_a, "x"_a, "key"_a, "primes"_a, release());
}

}  // namespace securefair
