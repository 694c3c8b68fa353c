#include "maps.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "parallel.hpp"
#include "rows.hpp"
#include "scratch.hpp"

namespace securefair {

namespace {

// The outer map of squares of inner values, some columns at a time.
class OuterMap {
public:
    OuterMap(const DenseMap& map, const Basis& basis) : map_(map, 3, basis), basis_(basis) {}

    // Words that `apply` needs.
    std::size_t memory_words() const {
        return 3 * map_.inputs * most_columns + strips_words(map_.inputs, most_columns);
    }

    // Where columns of all values lie: ciphertexts and polynomials so many words apart.
    struct Values {
        const u32* at;
        std::size_t stride, polynomial;
    };

    void apply(u32* to, const Values& values, std::size_t limb, std::size_t first,
               std::size_t columns, u32* memory) const {
        const std::size_t limbs = basis_.size(), n = basis_[0]->n;
        const Prime& q = *basis_[limb];
        u32* const strips = memory + 3 * map_.inputs * most_columns;
        for (std::size_t i = 0; i < map_.inputs; ++i) {
            const u32* const y = values.at + i * values.stride;
            u32* const z = memory + 3 * i * columns;
            const Pair value{y, y + values.polynomial};
            sum_squares({z, z + columns, z + 2 * columns}, &value, 1, columns, q);
        }
        for (std::size_t part = 0; part < 3; ++part) {
            const std::size_t row = part * limbs + limb;
            pack_strips(strips, memory + part * columns, 3 * columns, map_.inputs, columns, q);
            map_.multiply(to + row * n + first, 3 * limbs * n, row, strips, columns, q);
        }
    }

private:
    PackedMap map_;
    Basis basis_;
};

}  // namespace

void apply_linear(u32* to, const Arrived& x, const DenseMap& map, const Basis& basis) {
    const std::size_t limbs = basis.size(), n = basis[0]->n;
    for_each_tile(x, {map, 2, basis}, 0, basis, [&](const Tile& tile) {
        for (std::size_t row = 0; row < 2 * map.outputs; ++row)
            std::copy_n(tile.values + row * tile.count, tile.count,
                        to + (row * limbs + tile.limb) * n + tile.first);
    });
}

void apply_quadratic(u32* to, const Arrived& x, const DenseMap& inner, const DenseMap& outer,
                     const Basis& basis) {
    const OuterMap last(outer, basis);
    for_each_tile(x, {inner, 2, basis}, last.memory_words(), basis, [&](const Tile& tile) {
        last.apply(to, {tile.values, 2 * tile.count, tile.count}, tile.limb, tile.first, tile.count,
                   tile.memory);
    });
}

void apply_paired_quadratic(u32* to, u32* hidden, const Arrived& x, Pairs pairs,
                            const DenseMap& inner, const DenseMap& outer, const SwitchingKey& key,
                            const Basis& basis) {
    const Basis data = basis.first(basis.size() - 1);
    const std::size_t limbs = data.size(), n = data[0]->n, units = outer.inputs;
    const bool two = pairs == Pairs::samples;
    for_each_tile(x, {inner, 2, data}, 0, data, [&](const Tile& tile) {
        // J is the root at 1 in the first half of a row, and its negative in the second.
        const Tables& q = *data[tile.limb];
        const u32 root = q.roots[1], j = tile.first < n / 2 ? root : q.p - root;
        const Factor minus_j = factor(q.p - j, q.p);
        const u32* const second = tile.values + 2 * units * tile.count;
        for (std::size_t row = 0; row < 2 * units; ++row) {
            u32* const at = hidden + (row * limbs + tile.limb) * n + tile.first;
            const u32* const from = tile.values + row * tile.count;
            if (!two) {
                add_scaled(at, from, second + row * tile.count, minus_j, tile.count, q);
            } else if (row % 2 == 1) {
                std::copy_n(from, tile.count, at);
            } else {  // the map has added its bias to x, and J y wants it too
                const u64 bias = inner.bias[row / 2 * limbs + tile.limb];
                add_constant(at, from, static_cast<u32>(bias * j % q.p), tile.count, q);
            }
        }
    });
    // A key switch reads every coefficient, so all columns must be there.
    u32* const sums = two ? hidden + 2 * units * limbs * n : hidden;
    add_conjugates(sums, hidden, units, key, basis);
    const OuterMap last(outer, data);
    const std::size_t columns = std::min(most_columns, n), tiles = n / columns;
    const auto square_and_map = [&](const OuterMap& map, u32* target, const u32* values) {
        parallel_for(limbs * tiles, [&](std::size_t task) {
            const std::size_t limb = task / tiles, first = task % tiles * columns;
            map.apply(target, {values + limb * n + first, 2 * limbs * n, limbs * n}, limb, first,
                      columns, scratch(map.memory_words()));
        });
    };
    square_and_map(last, to, sums);
    if (!two) return;
    // (-J)^2 = -1: negative weights spare the products with J.
    std::vector<std::int32_t> negative(outer.outputs * units);
    std::transform(outer.weights, outer.weights + negative.size(), negative.begin(),
                   std::negate<>());
    const OuterMap other({negative.data(), outer.bias, outer.outputs, units}, data);
    square_and_map(other, to + 3 * outer.outputs * limbs * n, hidden);
}

}  // namespace securefair
