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
