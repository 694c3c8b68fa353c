using reg = M::reg;

// `rows` outputs of one strip: the 32-bit sums of every chunk of pairs are reduced, and what was
// there before is added. Pairs lie in the strip one after the other, or in the order of `order`.
template <int rows, bool ordered>
static TARGET void multiply_strip(u32* const* to, const RowBlock& block, const u32* strip,
                                  const i64* order, const u32* constant, const Reduction& by) {
    alignas(64) u32 total[rows][M::width];
    const u32* weights = block.weights;
    const std::vector<std::size_t>& chunks = block.chunks(by.digits);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        reg low[rows], high[rows];
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) low[r] = high[r] = M::set1(0);
        for (std::size_t k = 0; k < chunks[i]; ++k) {
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
        const bool last = i + 1 == chunks.size();
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) {
            const reg carry = i == 0 ? M::set1(constant[r]) : M::load(total[r]);
            M::store(last ? to[r] : total[r], M::reduced(low[r], high[r], carry, by));
        }
    }
}

using StripKernel = decltype(&multiply_strip<1, true>);

template <bool ordered>
static constexpr StripKernel strip_kernels[] = {
    multiply_strip<1, ordered>, multiply_strip<2, ordered>, multiply_strip<3, ordered>,
    multiply_strip<4, ordered>, multiply_strip<5, ordered>, multiply_strip<6, ordered>,
    multiply_strip<7, ordered>, multiply_strip<8, ordered>};
