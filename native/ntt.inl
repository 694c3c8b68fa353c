// Butterflies. A product by a constant is below 2p for any word, so values need no reduction while
// they fit one: `Lazy` says how far the bits of p let them grow.

using reg = V::reg;

struct Twiddle {
    reg value, quotient;
};

static INLINE TARGET reg reduce(reg x, reg p) { return V::min(x, V::sub(x, p)); }

// x w modulo p for any x below 2^32, below 2p.
template <bool uniform>
static INLINE TARGET reg scale_lazily(reg x, const Twiddle& w, reg p) {
    const reg q = uniform ? V::high_product_uniform(x, w.quotient) : V::high_product(x, w.quotient);
    return V::sub(V::low_product(x, w.value), V::low_product(q, p));
}

// x w mod p.
template <bool uniform>
static INLINE TARGET reg scale(reg x, const Twiddle& w, reg p) {
    return reduce(scale_lazily<uniform>(x, w, p), p);
}

// (x, y) -> (x + w y, x - w y). never: the bound grows by 2p. halfway: from below 4p to below 4p.
template <Lazy lazy, bool uniform>
static INLINE TARGET void split(reg& x, reg& y, const Twiddle& w, reg p, reg twice) {
    if constexpr (lazy == Lazy::fully) {
        const reg t = scale<uniform>(y, w, p);
        const reg difference = V::sub(x, t);
        x = reduce(V::add(x, t), p);
        y = V::min(difference, V::add(difference, p));
    } else {
        const reg t = scale_lazily<uniform>(y, w, p);
        if constexpr (lazy == Lazy::halfway) x = reduce(x, twice);
        y = V::add(x, V::sub(twice, t));
        x = V::add(x, t);
    }
}

// What butterflies left, below p.
template <Lazy lazy>
static INLINE TARGET reg finish(reg x, reg p, reg twice, reg one_quotient) {
    if constexpr (lazy == Lazy::fully) return x;
    if constexpr (lazy == Lazy::halfway) return reduce(reduce(x, twice), p);
    return reduce(V::sub(x, V::low_product(V::high_product_uniform(x, one_quotient), p)), p);
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

constexpr std::size_t registers = 8;  // of a block whose last stages are done at once

// The last stages, half-sizes T down to 1, inside the pairs of registers of block g.
template <Lazy lazy, int T>
static INLINE TARGET void split_inside(reg (&x)[registers], std::size_t g, const Tables& t, reg p,
                                       reg twice) {
    if constexpr (T >= 1) {
        constexpr std::size_t step = V::width / T;
        const std::size_t at = t.n / (2 * T) + g * (registers / 2) * step;
#pragma GCC unroll 4
        for (std::size_t k = 0; k < registers / 2; ++k) {
            const u32 *w = &t.roots[at + k * step], *v = &t.roots_quotient[at + k * step];
            V::template transpose<T>(x[2 * k], x[2 * k + 1]);
            split<lazy, false>(x[2 * k], x[2 * k + 1], expanded_twiddle<T>(w, v), p, twice);
        }
        split_inside<lazy, T / 2>(x, g, t, p, twice);
    }
}

// `count` stages on 2^count registers: those of block i of m.
template <Lazy lazy, int count>
static INLINE TARGET void split_registers(reg* x, std::size_t m, std::size_t i, const Tables& t,
                                          reg p, reg twice) {
    const u32 *w = t.roots.data(), *v = t.roots_quotient.data();
#pragma GCC unroll 3
    for (int stage = 0; stage < count; ++stage) {
        const int blocks = 1 << stage, half = 1 << (count - 1 - stage);
#pragma GCC unroll 4
        for (int block = 0; block < blocks; ++block) {
            const std::size_t at = blocks * (m + i) + block;
            const Twiddle twiddle = uniform_twiddle(w + at, v + at);
#pragma GCC unroll 4
            for (int k = 0; k < half; ++k)
                split<lazy, true>(x[2 * half * block + k], x[2 * half * block + k + half], twiddle,
                                  p, twice);
        }
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

// `count` stages at once on the parts, `step` apart, of block i of m.
template <Lazy lazy, int count>
static TARGET void split_parts(u32* to, const u32* from, std::size_t step, std::size_t m,
                               std::size_t i, const Tables& t) {
    constexpr std::size_t parts = 1 << count;
    const reg p = V::set1(t.p), twice = V::set1(2 * t.p);
    for (std::size_t j = 0; j < step; j += V::width) {
        reg x[parts];
#pragma GCC unroll 8
        for (std::size_t k = 0; k < parts; ++k) x[k] = V::load(from + k * step + j);
        split_registers<lazy, count>(x, m, i, t, p, twice);
#pragma GCC unroll 8
        for (std::size_t k = 0; k < parts; ++k) V::store(to + k * step + j, x[k]);
    }
}

// Everything that stays inside blocks of eight registers, from number `first` of the whole row on.
template <Lazy lazy>
static TARGET void split_last(u32* to, const u32* from, std::size_t words, std::size_t first,
                              const Tables& t) {
    constexpr std::size_t block = registers * V::width;
    const reg p = V::set1(t.p), twice = V::set1(2 * t.p), one = V::set1(factor(1, t.p).quotient);
    for (std::size_t g = first; g < first + words / block; ++g, to += block, from += block) {
        reg x[registers];
#pragma GCC unroll 8
        for (std::size_t k = 0; k < registers; ++k) x[k] = V::load(from + k * V::width);
        split_registers<lazy, 3>(x, t.n / block, g, t, p, twice);
        if constexpr (V::width > 1) {
            split_inside<lazy, V::width / 2>(x, g, t, p, twice);
#pragma GCC unroll 4
            for (std::size_t k = 0; k < registers; k += 2) V::zip(x[k], x[k + 1]);
        }
#pragma GCC unroll 8
        for (std::size_t k = 0; k < registers; ++k)
            V::store(to + k * V::width, finish<lazy>(x[k], p, twice, one));
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
template <Lazy lazy>
static TARGET void split_block(u32* row, const u32* from, std::size_t size, std::size_t m,
                               std::size_t i, const Tables& t) {
    if (size > cached_words) {
        split_parts<lazy, 2>(row, from, size / 4, m, i, t);
        for (std::size_t k = 0; k < 4; ++k) {
            u32* const part = row + k * (size / 4);
            split_block<lazy>(part, part, size / 4, 4 * m, 4 * i + k, t);
        }
        return;
    }
    constexpr std::size_t block = registers * V::width;
    const std::size_t words = size;
    // `blocks` blocks of `size` words are left to split: by three stages at once, or by two where
    // that comes out even.
    for (std::size_t blocks = 1; size > block; from = row) {
        const int stages = std::countr_zero(size / block);
        const int count = stages == 1 ? 1 : stages == 2 || stages == 4 ? 2 : 3;
        const auto pass = count == 1   ? split_parts<lazy, 1>
                          : count == 2 ? split_parts<lazy, 2>
                                       : split_parts<lazy, 3>;
        for (std::size_t k = 0; k < blocks; ++k)
            pass(row + k * size, from + k * size, size >> count, blocks * m, blocks * i + k, t);
        blocks <<= count;
        size >>= count;
    }
    split_last<lazy>(row, from, words, i * (words / block), t);
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

TARGET void ntt_forward(u32* to, const u32* from, Lazy lazy, const Tables& t) {
    if (lazy == Lazy::never)
        split_block<Lazy::never>(to, from, t.n, 1, 0, t);
    else if (lazy == Lazy::halfway)
        split_block<Lazy::halfway>(to, from, t.n, 1, 0, t);
    else
        split_block<Lazy::fully>(to, from, t.n, 1, 0, t);
}

TARGET void ntt_inverse(u32* row, const Tables& t) {
    join_block(row, t.n, 1, 0, t);
    join_quarters<true>(row, t.n / 4, 1, 0, t);
}
