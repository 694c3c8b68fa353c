#include "strip.inl"

// Columns of a strip as digits: for every pair of rows one register of low digits, one of high.
static TARGET void pack_strips(u32* strips, const u32* x, std::size_t stride, std::size_t inputs,
                               std::size_t columns) {
    const std::size_t pairs = (inputs + 1) / 2;
    for (std::size_t k = 0; k < pairs; ++k) {
        const u32* const first = x + 2 * k * stride;
        const u32* const later = x + std::min(2 * k + rows_ahead, inputs - 1) * stride;
        const std::size_t stride_ahead = 2 * k + rows_ahead + 1 < inputs ? stride : 0;
        const bool whole = 2 * k + 1 < inputs;
        u32* to = strips + 2 * k * M::width;
        for (std::size_t c = 0; c < columns; c += M::width, to += strip_words(pairs, M::width)) {
            __builtin_prefetch(later + c);
            __builtin_prefetch(later + stride_ahead + c);
            const reg a = M::load(first + c);
            const reg b = whole ? M::load(first + stride + c) : M::set1(0);
            M::store(to, M::pack_low(a, b));
            M::store(to + M::width, M::pack_high(a, b));
        }
    }
}

TARGET void multiply_tile(const Tile& tile, const std::vector<RowBlock>& blocks, u32* strips) {
    pack_strips(strips, tile.x, tile.stride, tile.inputs, tile.columns);
    const std::size_t words = strip_words((tile.inputs + 1) / 2, M::width);
    for (std::size_t c = 0; c < tile.columns; c += M::width, strips += words) {
        for (const RowBlock& block : blocks) {
            u32* to[most_rows];
            for (std::size_t r = 0; r < block.rows; ++r)
                to[r] = tile.to + (block.first + r) * tile.stride + c;
            strip_kernels<false>[block.rows - 1](to, block, strips, nullptr,
                                                 tile.constant + block.first, *tile.prime);
        }
    }
}
