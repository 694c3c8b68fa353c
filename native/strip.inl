using reg = M::reg;

// `rows` outputs of one strip: the 32-bit sums of every chunk of pairs are added up in doubles.
// Pairs lie in the strip one after the other, or in the order of `order`.
template <int rows, bool ordered>
static TARGET void multiply_strip(u32* const* to, const RowBlock& block, const u32* strip,
                                  const i64* order, const double* constant, const Reduction& by) {
    alignas(64) double total[rows][M::width];
    const double p = by.p, inverse = by.inverse, base = by.base;
    const u32* weights = block.weights;
    const std::vector<Chunk>& chunks = block.chunks(by.digits);
    const std::size_t last = chunks.size() - 1;
    for (std::size_t i = 0; i <= last; ++i) {
        const Chunk& chunk = chunks[i];
        reg low[rows], high[rows];
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) low[r] = high[r] = M::set1(0);
        for (std::size_t k = 0; k < chunk.pairs; ++k) {
            const u32* const at = ordered ? strip + *order++ * (2 * M::width) : strip;
            const reg x_low = M::load(at), x_high = M::load(at + M::width);
#pragma GCC unroll 8
            for (int r = 0; r < rows; ++r) {
                const reg w = M::set1(weights[r]);
                low[r] = M::dot(low[r], x_low, w);
                high[r] = M::dot(high[r], x_high, w);
            }
            if constexpr (!ordered) strip += 2 * M::width;
            weights += rows;
        }
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) {
            if (i == last) {
                const double* const sum = last != 0 ? total[r] : nullptr;
                M::finish(to[r], sum, low[r], high[r], base, constant[r], p, inverse);
                continue;
            }
            M::add_digits(total[r], low[r], high[r], base, i != 0);
            if (chunk.fold) M::fold(total[r], p, inverse);
        }
    }
}

using StripKernel = decltype(&multiply_strip<1, true>);

template <bool ordered>
static constexpr StripKernel strip_kernels[] = {
    multiply_strip<1, ordered>, multiply_strip<2, ordered>, multiply_strip<3, ordered>,
    multiply_strip<4, ordered>, multiply_strip<5, ordered>, multiply_strip<6, ordered>,
    multiply_strip<7, ordered>, multiply_strip<8, ordered>};
