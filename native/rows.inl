using reg = V::reg;

static INLINE TARGET reg reduce_once(reg x, reg p) { return V::min(x, V::sub(x, p)); }

static INLINE TARGET reg scale(reg x, reg value, reg quotient, reg p) {
    const reg q = V::high_product_uniform(x, quotient);
    return reduce_once(V::sub(V::low_product(x, value), V::low_product(q, p)), p);
}

static INLINE TARGET reg difference(reg x, reg y, reg p) {
    const reg d = V::sub(x, y);
    return V::min(d, V::add(d, p));
}

// Sums of products stay below p^2: one more product fits below 2^63.
static INLINE TARGET V::wide accumulate(V::wide sum, reg x, reg y, const Prime& q) {
    return V::subtract_if_not_below(V::plus(sum, V::product(x, y)), q.square);
}

// A sum below 2^doublings p^2 -> below p^2.
static INLINE TARGET V::wide settle(V::wide sum, int doublings, const Prime& q) {
    while (doublings-- > 0) sum = V::subtract_if_not_below(sum, q.square << doublings);
    return sum;
}

static INLINE TARGET bool any(reg x) {
    u32 words[V::width];
    V::store(words, x);
    for (const u32 word : words)
        if (word != 0) return true;
    return false;
}

TARGET void add(u32* to, const u32* x, const u32* y, std::size_t n, const Prime& q) {
    const reg p = V::set1(q.p);
    for (std::size_t i = 0; i < n; i += V::width)
        V::store(to + i, reduce_once(V::add(V::load(x + i), V::load(y + i)), p));
}

TARGET void subtract(u32* to, const u32* x, const u32* y, std::size_t n, const Prime& q) {
    const reg p = V::set1(q.p);
    for (std::size_t i = 0; i < n; i += V::width)
        V::store(to + i, difference(V::load(x + i), V::load(y + i), p));
}

TARGET void add_constant(u32* to, const u32* x, u32 constant, std::size_t n, const Prime& q) {
    const reg p = V::set1(q.p), c = V::set1(constant);
    for (std::size_t i = 0; i < n; i += V::width)
        V::store(to + i, reduce_once(V::add(V::load(x + i), c), p));
}

TARGET void multiply(u32* to, const u32* x, const u32* y, std::size_t n, const Prime& q) {
    for (std::size_t i = 0; i < n; i += V::width)
        V::store(to + i, V::remainder(V::product(V::load(x + i), V::load(y + i)), q));
}

TARGET void add_scaled(u32* to, const u32* x, const u32* y, Factor w, std::size_t n,
                       const Prime& q) {
    const reg p = V::set1(q.p), value = V::set1(w.value), quotient = V::set1(w.quotient);
    for (std::size_t i = 0; i < n; i += V::width) {
        const reg product = scale(V::load(y + i), value, quotient, p);
        V::store(to + i, reduce_once(V::add(V::load(x + i), product), p));
    }
}

TARGET void mirror(u32* to, const u32* x, std::size_t n) {
    for (std::size_t i = 0; i < n; i += V::width)
        V::store(to + i, V::reverse(V::load(x + n - V::width - i)));
}

TARGET void add_mirrored(u32* x, std::size_t n, const Prime& q) {
    const reg p = V::set1(q.p);
    for (std::size_t i = 0; i < n / 2; i += V::width) {
        u32* const late = x + n - V::width - i;
        const reg sum = reduce_once(V::add(V::load(x + i), V::reverse(V::load(late))), p);
        V::store(x + i, sum);
        V::store(late, V::reverse(sum));
    }
}

// Sums of a^2, a b and b^2 stay in registers; that of a b is doubled last.
TARGET void sum_squares(const Triple& to, const Pair* x, std::size_t terms, std::size_t n,
                        const Prime& q) {
    const reg p = V::set1(q.p);
    const std::size_t most = std::min<u64>(terms, V::wide_limit / q.square);
    const int doublings = std::bit_width(most - 1);
    for (std::size_t i = 0; i < n; i += V::width) {
        V::wide sums[3] = {V::zero(), V::zero(), V::zero()};
        for (std::size_t t = 0, room = most; t < terms; ++t, --room) {
            if (room == 0) {
                for (V::wide& sum : sums) sum = settle(sum, doublings, q);
                room = most - 1;
            }
            const reg a = V::load(x[t].c0 + i), b = V::load(x[t].c1 + i);
            sums[0] = V::plus(sums[0], V::product(a, a));
            sums[1] = V::plus(sums[1], V::product(a, b));
            sums[2] = V::plus(sums[2], V::product(b, b));
        }
        const reg cross = V::remainder(settle(sums[1], doublings, q), q);
        V::store(to.c0 + i, V::remainder(settle(sums[0], doublings, q), q));
        V::store(to.c1 + i, reduce_once(V::add(cross, cross), p));
        V::store(to.c2 + i, V::remainder(settle(sums[2], doublings, q), q));
    }
}

static TARGET void multiply_pair(const Triple& to, const Pair& x, const Pair& y, std::size_t n,
                                 const Prime& q) {
    for (std::size_t i = 0; i < n; i += V::width) {
        const reg a = V::load(x.c0 + i), b = V::load(x.c1 + i);
        const reg c = V::load(y.c0 + i), d = V::load(y.c1 + i);
        V::store(to.c0 + i, V::remainder(V::product(a, c), q));
        V::store(to.c1 + i, V::remainder(accumulate(V::product(a, d), b, c, q), q));
        V::store(to.c2 + i, V::remainder(V::product(b, d), q));
    }
}

// Adds the products of one pair of factors to sums of `count` registers each.
static INLINE TARGET void add_products(V::wide (*sums)[sum_registers], const Pair& x, const Pair& y,
                                       std::size_t count, const Prime& q) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = i * V::width;
        const reg a = V::load(x.c0 + at), b = V::load(x.c1 + at);
        const reg c = V::load(y.c0 + at), d = V::load(y.c1 + at);
        sums[0][i] = accumulate(sums[0][i], a, c, q);
        sums[1][i] = accumulate(accumulate(sums[1][i], a, d, q), b, c, q);
        sums[2][i] = accumulate(sums[2][i], b, d, q);
    }
}

TARGET void sum_products(const Triple& to, const Pair* x, const Pair* y, std::size_t terms,
                         std::size_t n, const Prime& q) {
    if (terms == 1) return multiply_pair(to, *x, *y, n, q);
    // Some columns of all terms at a time: the sums stay in the first-level cache, and each of the
    // many rows is read in runs of whole cache lines.
    constexpr std::size_t columns = sum_registers * V::width;
    for (std::size_t first = 0; first < n; first += columns) {
        const std::size_t count = std::min(columns, n - first) / V::width;
        V::wide sums[3][sum_registers];
        for (auto& sum : sums) std::fill_n(sum, count, V::zero());
        for (std::size_t t = 0; t < terms; ++t)
            add_products(sums, {x[t].c0 + first, x[t].c1 + first},
                         {y[t].c0 + first, y[t].c1 + first}, count, q);
        u32* const results[] = {to.c0 + first, to.c1 + first, to.c2 + first};
        for (int part = 0; part < 3; ++part)
            for (std::size_t i = 0; i < count; ++i)
                V::store(results[part] + i * V::width, V::remainder(sums[part][i], q));
    }
}

// w (sum_i x_i y_i) - correction, or the sum alone, for `registers` registers of both rows.
template <std::size_t registers>
static INLINE TARGET void quotients(const Both& to, Factor w, const Pair& corrections,
                                    const u32* const* x, const Pair* y, std::size_t terms,
                                    std::size_t first, const Prime& q) {
    constexpr std::size_t columns = registers * V::width;
    const reg p = V::set1(q.p), value = V::set1(w.value), quotient = V::set1(w.quotient);
    // Products are below p^2: so many of them fit a sum before it must be reduced.
    const std::size_t most = std::min<u64>(terms, V::wide_limit / q.square);
    const int doublings = std::bit_width(most - 1);
    V::wide sums[2][registers];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < registers; ++i) sums[0][i] = sums[1][i] = V::zero();
    for (std::size_t t = 0, room = most; t < terms; ++t, --room) {
        if (room == 0) {
#pragma GCC unroll 4
            for (std::size_t i = 0; i < registers; ++i) {
                sums[0][i] = settle(sums[0][i], doublings, q);
                sums[1][i] = settle(sums[1][i], doublings, q);
            }
            room = most - 1;
        }
        const u32 *const v = x[t] + first, *const c0 = y[t].c0 + first, *const c1 = y[t].c1 + first;
#pragma GCC unroll 4
        for (std::size_t line = 0; line < columns; line += 16) {
            // The many rows are read in runs too short to be foreseen.
            __builtin_prefetch(c0 + columns_ahead + line);
            __builtin_prefetch(c1 + columns_ahead + line);
        }
#pragma GCC unroll 4
        for (std::size_t i = 0; i < registers; ++i) {
            const reg factor = V::load(v + i * V::width);
            const std::size_t at = i * V::width;
            sums[0][i] = V::plus(sums[0][i], V::product(factor, V::load(c0 + at)));
            sums[1][i] = V::plus(sums[1][i], V::product(factor, V::load(c1 + at)));
        }
    }
    u32* const rows[] = {to.c0 + first, to.c1 + first};
    const u32* const subtracted[] = {corrections.c0, corrections.c1};
    for (int part = 0; part < 2; ++part) {
#pragma GCC unroll 4
        for (std::size_t i = 0; i < registers; ++i) {
            const std::size_t at = i * V::width;
            reg v = V::remainder(settle(sums[part][i], doublings, q), q);
            if (subtracted[part] != nullptr)
                v = difference(scale(v, value, quotient, p),
                               V::load(subtracted[part] + first + at), p);
            V::store(rows[part] + at, v);
        }
    }
}

TARGET void inner_quotients(const Both& to, Factor w, const Pair& corrections, const u32* const* x,
                            const Pair* y, std::size_t terms, std::size_t n, const Prime& q) {
    // Both sums of some columns of all terms stay in registers.
    constexpr std::size_t columns = quotient_registers * V::width;
    for (std::size_t first = 0; first < n; first += columns)
        quotients<quotient_registers>(to, w, corrections, x, y, terms, first, q);
}

TARGET void reduce(u32* to, const u32* x, std::size_t n, const Prime& q) {
    const Factor one = factor(1, q.p);
    const reg p = V::set1(q.p), quotient = V::set1(one.quotient);
    for (std::size_t i = 0; i < n; i += V::width) {
        const reg v = V::load(x + i);
        const reg multiple = V::low_product(V::high_product_uniform(v, quotient), p);
        V::store(to + i, reduce_once(V::sub(v, multiple), p));
    }
}

TARGET bool reduce_words(u32* to, const u64* x, std::size_t n, const Prime& q) {
    // high 2^32 + low; only words whose high half is all ones can be close to 2^64.
    const Factor one = factor(1, q.p);
    const Factor shift = factor(static_cast<u32>((u64{1} << 32) % q.p), q.p);
    const reg p = V::set1(q.p), one_quotient = V::set1(one.quotient);
    const reg shift_value = V::set1(shift.value), shift_quotient = V::set1(shift.quotient);
    const reg ordinary = V::set1(~u32{1});
    reg excess = V::set1(0);
    for (std::size_t i = 0; i < n; i += V::width) {
        const u32* const halves = reinterpret_cast<const u32*>(x + i);
        reg low = V::load(halves), high = V::load(halves + V::width);
        V::unzip(low, high);
        excess = V::bit_or(excess, V::sub(high, V::min(high, ordinary)));
        const reg multiple = V::low_product(V::high_product_uniform(low, one_quotient), p);
        const reg low_part = reduce_once(V::sub(low, multiple), p);
        const reg high_part = scale(high, shift_value, shift_quotient, p);
        V::store(to + i, reduce_once(V::add(low_part, high_part), p));
    }
    return any(excess);
}

TARGET void scale_subtract(u32* to, const u32* x, Factor w, const u32* y, std::size_t n,
                           const Prime& q) {
    const reg p = V::set1(q.p), value = V::set1(w.value), quotient = V::set1(w.quotient);
    for (std::size_t i = 0; i < n; i += V::width)
        V::store(to + i, difference(scale(V::load(x + i), value, quotient, p), V::load(y + i), p));
}

TARGET void scale_offset(u32* to, const u32* x, Factor w, u32 constant, bool accumulate_,
                         std::size_t n, const Prime& q) {
    const reg p = V::set1(q.p), value = V::set1(w.value), quotient = V::set1(w.quotient);
    const reg offset = V::set1(constant);
    for (std::size_t i = 0; i < n; i += V::width) {
        reg v = difference(scale(V::load(x + i), value, quotient, p), offset, p);
        if (accumulate_) v = reduce_once(V::add(v, V::load(to + i)), p);
        V::store(to + i, v);
    }
}

TARGET bool all_below(const u32* x, std::size_t n, const Prime& q) {
    // min(x, p - 1) differs from x exactly where x is too large.
    const reg largest = V::set1(q.p - 1);
    reg excess = V::set1(0);
    for (std::size_t i = 0; i < n; i += V::width) {
        const reg v = V::load(x + i);
        excess = V::bit_or(excess, V::sub(v, V::min(v, largest)));
    }
    return !any(excess);
}
