// Butterflies on full residues: p reaches 2^31, so 4p, which lazy butterflies would need, does not
// fit a word; x < 2p does, and one subtraction with an unsigned minimum reduces it.

using reg = V::reg;

struct Twiddle {
    reg value, quotient;
};

static INLINE TARGET reg reduce(reg x, reg p) { return V::min(x, V::sub(x, p)); }

// x w mod p for any x below 2^32.
template <bool uniform>
static INLINE TARGET reg scale(reg x, const Twiddle& w, reg p) {
    const reg q = uniform ? V::high_product_uniform(x, w.quotient) : V::high_product(x, w.quotient);
    return reduce(V::sub(V::low_product(x, w.value), V::low_product(q, p)), p);
}

// (x, y) -> (x + w y, x - w y)
template <bool uniform>
static INLINE TARGET void split(reg& x, reg& y, const Twiddle& w, reg p) {
    const reg t = scale<uniform>(y, w, p);
    const reg difference = V::sub(x, t);
    x = reduce(V::add(x, t), p);
    y = V::min(difference, V::add(difference, p));
}

// (x, y) -> (x + y, w (x - y))
template <bool uniform>
static INLINE TARGET void join(reg& x, reg& y, const Twiddle& w, reg p) {
    const reg difference = V::add(V::sub(x, y), p);
    x = reduce(V::add(x, y), p);
    y = scale<uniform>(difference, w, p);
}

static INLINE TARGET Twiddle uniform_twiddle(const u32* value, const u32* quotient) {
    return {V::set1(*value), V::set1(*quotient)};
}

template <int T>
static INLINE TARGET Twiddle expanded_twiddle(const u32* value, const u32* quotient) {
    return {V::template expand<T>(value), V::template expand<T>(quotient)};
}

// The last stages, half-sizes T down to 1, inside the registers of group g.
template <int T>
static INLINE TARGET void split_inside(reg& x, reg& y, std::size_t g, const Tables& t, reg p) {
    if constexpr (T >= 1) {
        const std::size_t at = t.n / (2 * T) + g * (V::width / T);
        V::template transpose<T>(x, y);
        split<false>(x, y, expanded_twiddle<T>(&t.roots[at], &t.roots_quotient[at]), p);
        split_inside<T / 2>(x, y, g, t, p);
    }
}

template <int T>
static INLINE TARGET void join_inside(reg& x, reg& y, std::size_t g, const Tables& t, reg p) {
    if constexpr (T < static_cast<int>(V::width)) {
        const std::size_t at = t.n / (2 * T) + g * (V::width / T);
        join<false>(x, y, expanded_twiddle<T>(&t.inverse_roots[at], &t.inverse_roots_quotient[at]),
                    p);
        V::template transpose<T>(x, y);
        join_inside<2 * T>(x, y, g, t, p);
    }
}

// Two stages at once on the four quarters, `step` apart, of block i of m.
static TARGET void split_quarters(u32* row, std::size_t step, std::size_t m, std::size_t i,
                                  const Tables& t) {
    const u32 *w = t.roots.data(), *v = t.roots_quotient.data();
    const reg p = V::set1(t.p);
    const Twiddle outer = uniform_twiddle(w + m + i, v + m + i);
    const Twiddle first = uniform_twiddle(w + 2 * (m + i), v + 2 * (m + i));
    const Twiddle second = uniform_twiddle(w + 2 * (m + i) + 1, v + 2 * (m + i) + 1);
    for (std::size_t j = 0; j < step; j += V::width) {
        u32* at = row + j;
        reg a = V::load(at), b = V::load(at + step);
        reg c = V::load(at + 2 * step), d = V::load(at + 3 * step);
        split<true>(a, c, outer, p);
        split<true>(b, d, outer, p);
        split<true>(a, b, first, p);
        split<true>(c, d, second, p);
        V::store(at, a);
        V::store(at + step, b);
        V::store(at + 2 * step, c);
        V::store(at + 3 * step, d);
    }
}

template <bool last>
static TARGET void join_quarters(u32* row, std::size_t step, std::size_t m, std::size_t i,
                                 const Tables& t) {
    const u32 *w = t.inverse_roots.data(), *v = t.inverse_roots_quotient.data();
    const reg p = V::set1(t.p);
    const Twiddle first = uniform_twiddle(w + 2 * (m + i), v + 2 * (m + i));
    const Twiddle second = uniform_twiddle(w + 2 * (m + i) + 1, v + 2 * (m + i) + 1);
    const Factor& scaled = t.n_inverse_root;
    const Twiddle outer = last ? uniform_twiddle(&scaled.value, &scaled.quotient)
                               : uniform_twiddle(w + m + i, v + m + i);
    const Twiddle shrink = uniform_twiddle(&t.n_inverse.value, &t.n_inverse.quotient);
    for (std::size_t j = 0; j < step; j += V::width) {
        u32* at = row + j;
        reg a = V::load(at), b = V::load(at + step);
        reg c = V::load(at + 2 * step), d = V::load(at + 3 * step);
        join<true>(a, b, first, p);
        join<true>(c, d, second, p);
        join<true>(a, c, outer, p);
        join<true>(b, d, outer, p);
        if constexpr (last) {
            a = scale<true>(a, shrink, p);
            b = scale<true>(b, shrink, p);
        }
        V::store(at, a);
        V::store(at + step, b);
        V::store(at + 2 * step, c);
        V::store(at + 3 * step, d);
    }
}

// One stage on block i of m, halves `step` apart, where the number of stages is odd.
static TARGET void split_halves(u32* row, std::size_t step, std::size_t m, std::size_t i,
                                const Tables& t) {
    const reg p = V::set1(t.p);
    const Twiddle w = uniform_twiddle(&t.roots[m + i], &t.roots_quotient[m + i]);
    for (std::size_t j = 0; j < step; j += V::width) {
        reg x = V::load(row + j), y = V::load(row + j + step);
        split<true>(x, y, w, p);
        V::store(row + j, x);
        V::store(row + j + step, y);
    }
}

static TARGET void join_halves(u32* row, std::size_t step, std::size_t m, std::size_t i,
                               const Tables& t) {
    const reg p = V::set1(t.p);
    const Twiddle w = uniform_twiddle(&t.inverse_roots[m + i], &t.inverse_roots_quotient[m + i]);
    for (std::size_t j = 0; j < step; j += V::width) {
        reg x = V::load(row + j), y = V::load(row + j + step);
        join<true>(x, y, w, p);
        V::store(row + j, x);
        V::store(row + j + step, y);
    }
}

// Groups of two registers, from number `first` of the whole row on: everything that stays inside
// them, in one pass.
static TARGET void split_groups(u32* row, std::size_t words, std::size_t first, const Tables& t) {
    constexpr std::size_t group = 2 * V::width;
    const reg p = V::set1(t.p);
    for (std::size_t g = first; g < first + words / group; ++g) {
        u32* at = row + (g - first) * group;
        const std::size_t w = t.n / group + g;
        reg x = V::load(at), y = V::load(at + V::width);
        split<true>(x, y, uniform_twiddle(&t.roots[w], &t.roots_quotient[w]), p);
        if constexpr (V::width > 1) {
            split_inside<V::width / 2>(x, y, g, t, p);
            V::zip(x, y);
        }
        V::store(at, x);
        V::store(at + V::width, y);
    }
}

static TARGET void join_groups(u32* row, std::size_t words, std::size_t first, const Tables& t) {
    constexpr std::size_t group = 2 * V::width;
    const reg p = V::set1(t.p);
    for (std::size_t g = first; g < first + words / group; ++g) {
        u32* at = row + (g - first) * group;
        const std::size_t w = t.n / group + g;
        reg x = V::load(at), y = V::load(at + V::width);
        if constexpr (V::width > 1) {
            V::unzip(x, y);
            join_inside<1>(x, y, g, t, p);
        }
        join<true>(x, y, uniform_twiddle(&t.inverse_roots[w], &t.inverse_roots_quotient[w]), p);
        V::store(at, x);
        V::store(at + V::width, y);
    }
}

// Words of a block that stays in the first-level cache while its stages are finished: longer rows
// are split (or joined) block by block, not stage by stage.
constexpr std::size_t cached_words = 8192;

// Block i of m, `size` words, from its first stage down to single words.
static TARGET void split_block(u32* row, std::size_t size, std::size_t m, std::size_t i,
                               const Tables& t) {
    if (size > cached_words) {
        split_quarters(row, size / 4, m, i, t);
        for (std::size_t k = 0; k < 4; ++k)
            split_block(row + k * (size / 4), size / 4, 4 * m, 4 * i + k, t);
        return;
    }
    const std::size_t words = size;
    std::size_t blocks = 1;  // `blocks` blocks of `size` words are left to split
    for (; size >= 8 * V::width; blocks *= 4, size /= 4)
        for (std::size_t k = 0; k < blocks; ++k)
            split_quarters(row + k * size, size / 4, blocks * m, blocks * i + k, t);
    if (size == 4 * V::width)
        for (std::size_t k = 0; k < blocks; ++k)
            split_halves(row + k * size, size / 2, blocks * m, blocks * i + k, t);
    split_groups(row, words, i * (words / (2 * V::width)), t);
}

// The inverse, without the last two stages of the whole row.
static TARGET void join_block(u32* row, std::size_t words, std::size_t m, std::size_t i,
                              const Tables& t) {
    if (words > cached_words) {
        for (std::size_t k = 0; k < 4; ++k)
            join_block(row + k * (words / 4), words / 4, 4 * m, 4 * i + k, t);
        if (m > 1) join_quarters<false>(row, words / 4, m, i, t);
        return;
    }
    std::size_t size = 2 * V::width, blocks = words / size;  // blocks of `size` words are joined
    join_groups(row, words, i * blocks, t);
    if (std::countr_zero(blocks) % 2 == 1) {
        size *= 2;
        blocks /= 2;
        for (std::size_t k = 0; k < blocks; ++k)
            join_halves(row + k * size, size / 2, blocks * m, blocks * i + k, t);
    }
    for (const std::size_t left = m > 1 ? 1 : 4; blocks > left;) {
        size *= 4;
        blocks /= 4;
        for (std::size_t k = 0; k < blocks; ++k)
            join_quarters<false>(row + k * size, size / 4, blocks * m, blocks * i + k, t);
    }
}

TARGET void ntt_forward(u32* row, const Tables& t) { split_block(row, t.n, 1, 0, t); }

TARGET void ntt_inverse(u32* row, const Tables& t) {
    join_block(row, t.n, 1, 0, t);
    join_quarters<true>(row, t.n / 4, 1, 0, t);
}
