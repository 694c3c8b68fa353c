using lanes = L::reg;

template <int words>
static INLINE TARGET lanes add_word(lanes v, const lanes* m, int word) {
    return word < words ? L::add(v, m[word]) : v;
}

template <int words>
static INLINE TARGET void mix(lanes* v, int a, int b, int c, int d, const lanes* m, int x, int y) {
    v[a] = L::add(add_word<words>(v[a], m, x), v[b]);
    v[d] = L::template rotate_right<32>(L::bit_xor(v[d], v[a]));
    v[c] = L::add(v[c], v[d]);
    v[b] = L::template rotate_right<24>(L::bit_xor(v[b], v[c]));
    v[a] = L::add(add_word<words>(v[a], m, y), v[b]);
    v[d] = L::template rotate_right<16>(L::bit_xor(v[d], v[a]));
    v[c] = L::add(v[c], v[d]);
    v[b] = L::template rotate_right<63>(L::bit_xor(v[b], v[c]));
}

// One message block in every lane of `ways` sets of lanes: states h become the next. The sets take
// turns, because the steps of one wait for each other. m holds the block's first `words` words,
// the others are zero.
template <int words, int ways>
static INLINE TARGET void compress(lanes (&h)[ways][8], const lanes* m, u64 bytes, bool last) {
    lanes v[ways][16];
    for (int s = 0; s < ways; ++s) {
        for (int i = 0; i < 8; ++i) v[s][i] = h[s][i];
        for (int i = 0; i < 8; ++i) v[s][8 + i] = L::set1(blake2b_iv[i]);
        v[s][12] = L::bit_xor(v[s][12], L::set1(bytes));
        if (last) v[s][14] = L::bit_xor(v[s][14], L::set1(~u64{0}));
    }
#pragma GCC unroll 12
    for (int round = 0; round < 12; ++round) {
#pragma GCC unroll 2
        for (int turn = 0; turn < 2; ++turn) {  // columns, then diagonals
            const std::uint8_t* const order = blake2b_sigma[round] + 8 * turn;
#pragma GCC unroll 2
            for (int s = 0; s < ways; ++s) {
                // The registers are all needed for v: keep the message an operand in memory.
                asm volatile("" : "+r"(m));
#pragma GCC unroll 4
                for (int g = 0; g < 4; ++g)
                    mix<words>(v[s], g, 4 + (g + turn) % 4, 8 + (g + 2 * turn) % 4,
                               12 + (g + 3 * turn) % 4, m, order[2 * g], order[2 * g + 1]);
            }
        }
    }
    for (int s = 0; s < ways; ++s)
        for (int i = 0; i < 8; ++i) h[s][i] = L::bit_xor(h[s][i], L::bit_xor(v[s][i], v[s][8 + i]));
}

static INLINE TARGET void first_state(lanes* h, const u64 (&parameters)[3]) {
    for (int i = 0; i < 8; ++i) h[i] = L::set1(blake2b_iv[i] ^ (i < 3 ? parameters[i] : 0));
}

// A keyed BLAKE2b of a counter in every lane: the root hashes of buffers. m holds the keys.
static INLINE TARGET void hash_counters(lanes (&h)[1][8], lanes* m, lanes counters) {
    first_state(h[0], {root_lengths, output_length, 0});
    compress<8, 1>(h, m, 128, false);
    m[0] = counters;
    compress<1, 1>(h, m, 128 + sizeof(u64), true);
}

// The root hashes of consecutive buffers of one seed. root[i] holds word i.
static TARGET void root_hashes(u64 (*root)[buffers_at_once], const u64* seed, u64 counter) {
    lanes h[1][8], m[8];
    for (std::size_t b = 0; b < buffers_at_once; b += L::width) {
        for (int i = 0; i < 8; ++i) m[i] = L::set1(seed[i]);
        u64 counters[L::width];
        for (std::size_t l = 0; l < L::width; ++l) counters[l] = counter + b + l;
        hash_counters(h, m, L::load(counters));
        for (int i = 0; i < 8; ++i) L::store(root[i] + b, h[0][i]);
    }
}

// Nodes first .. first + count of the tree below one root; count is a multiple of 16.
static INLINE TARGET void hash_nodes(u64* to, const lanes* m, std::size_t first,
                                     std::size_t count) {
    for (const std::size_t end = first + count; first < end; first += 2 * L::width) {
        lanes h[2][8];
        for (int s = 0; s < 2; ++s) {
            u64 numbers[L::width];
            for (std::size_t l = 0; l < L::width; ++l) numbers[l] = first + s * L::width + l;
            first_state(h[s], {node_lengths, output_length, inner_length});
            h[s][1] = L::bit_xor(h[s][1], L::load(numbers));
        }
        compress<8, 2>(h, m, 64, true);
        for (int s = 0; s < 2; ++s, to += L::width * node_words) L::store_columns(to, h[s]);
    }
}

TARGET void stream_buffers(u64* to, const u64* seed, u64 counter) {
    u64 root[8][buffers_at_once];
    root_hashes(root, seed, counter);
    constexpr std::size_t nodes = buffer_words / node_words;
    for (std::size_t b = 0; b < buffers_at_once; ++b, to += buffer_words) {
        lanes m[8];
        for (int i = 0; i < 8; ++i) m[i] = L::set1(root[i][b]);
        hash_nodes(to, m, 0, nodes);
    }
}

TARGET void stream_words(u64* to, const u64* root, std::size_t first, std::size_t count) {
    lanes m[8];
    for (int i = 0; i < 8; ++i) m[i] = L::set1(root[i]);
    hash_nodes(to, m, first / node_words, count / node_words);
}

// Lanes are seeds here, which need as many of them as a register holds.
TARGET void stream_roots(u64* roots, const std::uint8_t* seeds, std::size_t stride,
                         std::size_t count, u64 buffer) {
    for (std::size_t first = 0; first < count; first += L::width) {
        lanes h[1][8], m[8];
        u64 words[8][L::width];
        for (std::size_t l = 0; l < L::width; ++l)
            for (std::size_t i = 0; i < 8; ++i)
                std::memcpy(&words[i][l], seeds + std::min(first + l, count - 1) * stride + 8 * i,
                            sizeof(u64));
        for (int i = 0; i < 8; ++i) m[i] = L::load(words[i]);
        hash_counters(h, m, L::set1(buffer));
        u64 columns[8 * L::width];
        L::store_columns(columns, h[0]);
        const std::size_t lanes_used = std::min(L::width, count - first);
        std::copy_n(columns, 8 * lanes_used, roots + 8 * first);
    }
}
