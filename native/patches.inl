#include "strip.inl"

// Columns of all pairs as digits: for every pair one register of low digits, one of high.
static TARGET void pack_pairs(u32* strips, const PairedRows& x, std::size_t offset,
                              std::size_t columns, const Prime& q) {
    const Digits digits(q.p);
    const std::size_t count = x.pairs.size() / 2;
    for (std::size_t k = 0; k < count; ++k) {
        const i64 i = x.pairs[2 * k], j = x.pairs[2 * k + 1];
        const u32* const first = x.sources[i] + offset;
        const u32* const second = j < 0 ? nullptr : x.sources[j] + offset;
        const std::size_t ahead = std::min(k + pairs_ahead, count - 1);
        const u32* const later = x.sources[x.pairs[2 * ahead]] + offset;
        const u32* const beside =
            x.pairs[2 * ahead + 1] < 0 ? later : x.sources[x.pairs[2 * ahead + 1]] + offset;
        u32* to = strips + 2 * k * M::width;
        for (std::size_t c = 0; c < columns; c += M::width, to += strip_words(count, M::width)) {
            __builtin_prefetch(later + c);
            __builtin_prefetch(beside + c);
            const reg a = M::load(first + c);
            const reg b = second != nullptr ? M::load(second + c) : M::set1(0);
            M::store(to, M::pack_low(a, b, digits));
            M::store(to + M::width, M::pack_high(a, b, digits));
        }
    }
}

TARGET void multiply_patches(const PatchTile& tile, u32* strips) {
    pack_pairs(strips, tile.x, tile.offset, tile.columns, *tile.prime);
    const std::size_t words = strip_words(tile.x.pairs.size() / 2, M::width);
    const Reduction by(tile.prime->p);
    for (std::size_t c = 0; c < tile.columns; c += M::width, strips += words) {
        for (const PackedPatch& patch : *tile.patches) {
            const std::size_t all = patch.places * patch.outputs;
            const u32* const constants =
                (tile.first ? patch.biased : patch.plain).data() + tile.limb * all;
            // All outputs of a place, then the next place: what it reads stays in the first-level
            // cache, and weights come one after the other.
            for (std::size_t place = 0; place < patch.places; ++place) {
                for (const RowBlock& block : patch.weights.blocks) {
                    const std::size_t at = place * patch.outputs + block.first;
                    u32* to[most_rows];
                    for (std::size_t r = 0; r < block.rows; ++r)
                        to[r] = tile.to +
                                static_cast<std::size_t>(patch.writes[at + r]) * tile.stride + c;
                    strip_kernels<true>[block.rows - 1](to, block, strips,
                                                        patch.reads + place * patch.pairs,
                                                        constants + at, by);
                }
            }
        }
    }
}
