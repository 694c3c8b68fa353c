#include "product.hpp"

#include <algorithm>
#include <vector>

#include "parallel.hpp"
#include "rows.hpp"

namespace securefair {

namespace {

// Columns of a sum that are finished before the next ones are read: with a page of each of the
// many rows the sum reads along whole cache lines that the processor can fetch ahead.
constexpr std::size_t tile = 1024;

}  // namespace

void square_each(u32* to, const u32* x, std::size_t count, const Basis& basis) {
    const std::size_t limbs = basis.size(), n = basis[0]->n, poly = limbs * n;
    parallel_for(count * limbs, [&](std::size_t task) {
        const std::size_t i = task / limbs, limb = task % limbs;
        const u32* const from = x + 2 * i * poly + limb * n;
        u32* const at = to + 3 * i * poly + limb * n;
        const Pair value{from, from + poly};
        sum_squares({at, at + poly, at + 2 * poly}, &value, 1, n, *basis[limb]);
    });
}

void sum_products_by_index(u32* to, const u32* x, const u32* y, std::span<const i64> left,
                           std::span<const i64> right, std::size_t terms, const Basis& basis) {
    const std::size_t limbs = basis.size(), n = basis[0]->n, poly = limbs * n;
    const std::size_t groups = left.size() / terms, width = std::min(tile, n), tiles = n / width;
    parallel_for(groups * limbs * tiles, [&](std::size_t task) {
        const std::size_t column = task % tiles * width;
        const std::size_t limb = task / tiles % limbs, group = task / tiles / limbs;
        const std::size_t offset = limb * n + column;
        thread_local std::vector<Pair> first, second;
        first.resize(terms);
        second.resize(terms);
        for (std::size_t t = 0; t < terms; ++t) {
            const u32* const a = x + 2 * static_cast<std::size_t>(left[group * terms + t]) * poly;
            const u32* const b = y + 2 * static_cast<std::size_t>(right[group * terms + t]) * poly;
            first[t] = {a + offset, a + poly + offset};
            second[t] = {b + offset, b + poly + offset};
        }
        u32* const at = to + 3 * group * poly + offset;
        sum_products({at, at + poly, at + 2 * poly}, first.data(), second.data(), terms, width,
                     *basis[limb]);
    });
}

}  // namespace securefair
