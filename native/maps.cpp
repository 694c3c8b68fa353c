#include "maps.hpp"

#include <algorithm>

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
        return 3 * map_.inputs * most_columns + map_.strips_words(most_columns);
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
            map_.pack_strips(strips, memory + part * columns, 3 * columns, columns, q);
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

void apply_paired_quadratic(u32* to, u32* hidden, const Arrived& x, const DenseMap& inner,
                            const DenseMap& outer, const SwitchingKey& key, const Basis& basis) {
    const Basis data = basis.first(basis.size() - 1);
    const std::size_t limbs = data.size(), n = data[0]->n, units = outer.inputs;
    for_each_tile(x, {inner, 2, data}, 0, data, [&](const Tile& tile) {
        // J is the root at 1 in the first half of a row, and its negative in the second.
        const Tables& q = *data[tile.limb];
        const u32 root = q.roots[1], j = tile.first < n / 2 ? root : q.p - root;
        const Factor minus_j = factor(q.p - j, q.p);
        const u32* const second = tile.values + 2 * units * tile.count;
        for (std::size_t row = 0; row < 2 * units; ++row)
            add_scaled(hidden + (row * limbs + tile.limb) * n + tile.first,
                       tile.values + row * tile.count, second + row * tile.count, minus_j,
                       tile.count, q);
    });
    // A key switch reads every coefficient, so all columns must be there.
    add_conjugates(hidden, hidden, units, key, basis);
    const OuterMap last(outer, data);
    const std::size_t columns = std::min(most_columns, n), tiles = n / columns;
    parallel_for(limbs * tiles, [&](std::size_t task) {
        const std::size_t limb = task / tiles, first = task % tiles * columns;
        last.apply(to, {hidden + limb * n + first, 2 * limbs * n, limbs * n}, limb, first, columns,
                   scratch(last.memory_words()));
    });
}

}  // namespace securefair
