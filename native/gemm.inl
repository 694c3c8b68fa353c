using reg = M::reg;

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

// rows outputs of one strip: the 32-bit sums of every chunk of pairs are added up in doubles.
template <int rows>
static TARGET void multiply_strip(u32* const* to, const RowBlock& block, const u32* strip,
                                  const double* constant, const Prime& q) {
    alignas(64) double total[rows][M::width] = {};
    const double p = q.p, inverse = 1.0 / q.p;
    const u32* weights = block.weights;
    for (const Chunk& chunk : block.chunks) {
        reg low[rows], high[rows];
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) low[r] = high[r] = M::set1(0);
        for (std::size_t k = 0; k < chunk.pairs; ++k) {
            const reg x_low = M::load(strip), x_high = M::load(strip + M::width);
#pragma GCC unroll 8
            for (int r = 0; r < rows; ++r) {
                const reg w = M::set1(weights[r]);
                low[r] = M::dot(low[r], x_low, w);
                high[r] = M::dot(high[r], x_high, w);
            }
            strip += 2 * M::width;
            weights += rows;
        }
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) {
            M::add_digits(total[r], low[r], high[r]);
            if (chunk.fold) M::fold(total[r], p, inverse);
        }
    }
    for (int r = 0; r < rows; ++r) M::finish(to[r], total[r], constant[r], p);
}

TARGET void multiply_tile(const Tile& tile, const std::vector<RowBlock>& blocks, u32* strips) {
    static constexpr decltype(&multiply_strip<1>) kernels[] = {
        multiply_strip<1>, multiply_strip<2>, multiply_strip<3>, multiply_strip<4>,
        multiply_strip<5>, multiply_strip<6>, multiply_strip<7>, multiply_strip<8>};
    static_assert(std::size(kernels) == most_rows);
    pack_strips(strips, tile.x, tile.stride, tile.inputs, tile.columns);
    const std::size_t words = strip_words((tile.inputs + 1) / 2, M::width);
    for (std::size_t c = 0; c < tile.columns; c += M::width, strips += words) {
        for (const RowBlock& block : blocks) {
            u32* to[most_rows];
            for (std::size_t r = 0; r < block.rows; ++r)
                to[r] = tile.to + (block.first + r) * tile.stride + c;
            kernels[block.rows - 1](to, block, strips, tile.constant + block.first, *tile.prime);
        }
    }
}
