#include "strip.inl"

// `at`: of the pair in the first strip.
static INLINE TARGET void pack_columns(u32* at, const u32* first, const u32* second, std::size_t c,
                                       std::size_t words, const Digits& digits) {
    u32* const to = at + c / M::width * words;
    const reg a = M::load(first + c);
    const reg b = second != nullptr ? M::load(second + c) : M::set1(0);
    M::store(to, M::pack_low(a, b, digits));
    M::store(to + M::width, M::pack_high(a, b, digits));
}

TARGET void pack_pair(u32* strips, std::size_t k, std::size_t inputs, const u32* first,
                      const u32* second, std::size_t columns, const Prime& q) {
    const Digits digits(q.p);
    const std::size_t words = strip_words((inputs + 1) / 2, M::width);
    for (std::size_t c = 0; c < columns; c += M::width)
        pack_columns(strips + 2 * k * M::width, first, second, c, words, digits);
}

TARGET void pack_strips(u32* strips, const u32* x, std::size_t stride, std::size_t inputs,
                        std::size_t columns, const Prime& q) {
    const Digits digits(q.p);
    const std::size_t pairs = (inputs + 1) / 2, words = strip_words(pairs, M::width);
    for (std::size_t k = 0; k < pairs; ++k) {
        const u32* const first = x + 2 * k * stride;
        const u32* const second = 2 * k + 1 < inputs ? first + stride : nullptr;
        const u32* const later = x + std::min(2 * k + rows_ahead, inputs - 1) * stride;
        const std::size_t stride_ahead = 2 * k + rows_ahead + 1 < inputs ? stride : 0;
        for (std::size_t c = 0; c < columns; c += M::width) {
            __builtin_prefetch(later + c);
            __builtin_prefetch(later + stride_ahead + c);
            pack_columns(strips + 2 * k * M::width, first, second, c, words, digits);
        }
    }
}

TARGET void multiply_strips(const Product& product, const std::vector<RowBlock>& blocks,
                            const u32* strips) {
    const std::size_t words = strip_words((product.inputs + 1) / 2, M::width);
    const Reduction by(product.prime->p);
    for (std::size_t c = 0; c < product.columns; c += M::width, strips += words) {
        for (const RowBlock& block : blocks) {
            u32* to[most_rows];
            for (std::size_t r = 0; r < block.rows; ++r)
                to[r] = product.to + (block.first + r) * product.stride + c;
            strip_kernels<false>[block.rows - 1](to, block, strips, nullptr,
                                                 product.constant + block.first, by);
        }
    }
}
