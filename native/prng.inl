using lanes = L::reg;

static INLINE TARGET void mix(lanes* v, int a, int b, int c, int d, lanes x, lanes y) {
    v[a] = L::add(L::add(v[a], v[b]), x);
    v[d] = L::template rotate_right<32>(L::bit_xor(v[d], v[a]));
    v[c] = L::add(v[c], v[d]);
    v[b] = L::template rotate_right<24>(L::bit_xor(v[b], v[c]));
    v[a] = L::add(L::add(v[a], v[b]), y);
    v[d] = L::template rotate_right<16>(L::bit_xor(v[d], v[a]));
    v[c] = L::add(v[c], v[d]);
    v[b] = L::template rotate_right<63>(L::bit_xor(v[b], v[c]));
}

template <int words>
static INLINE TARGET lanes word(const u64* m, int i) {
    return L::set1(i < words ? m[i] : 0);
}

// One block in every lane: h becomes the next state. Words of m from `words` on are zero.
template <int words>
static INLINE TARGET void compress(lanes* h, const u64* m, u64 bytes, bool last) {
    lanes v[16];
    for (int i = 0; i < 8; ++i) v[i] = h[i];
    for (int i = 0; i < 8; ++i) v[8 + i] = L::set1(blake2b_iv[i]);
    v[12] = L::bit_xor(v[12], L::set1(bytes));
    if (last) v[14] = L::bit_xor(v[14], L::set1(~u64{0}));
#pragma GCC unroll 12
    for (int round = 0; round < 12; ++round) {
        const std::uint8_t* const s = blake2b_sigma[round];
        mix(v, 0, 4, 8, 12, word<words>(m, s[0]), word<words>(m, s[1]));
        mix(v, 1, 5, 9, 13, word<words>(m, s[2]), word<words>(m, s[3]));
        mix(v, 2, 6, 10, 14, word<words>(m, s[4]), word<words>(m, s[5]));
        mix(v, 3, 7, 11, 15, word<words>(m, s[6]), word<words>(m, s[7]));
        mix(v, 0, 5, 10, 15, word<words>(m, s[8]), word<words>(m, s[9]));
        mix(v, 1, 6, 11, 12, word<words>(m, s[10]), word<words>(m, s[11]));
        mix(v, 2, 7, 8, 13, word<words>(m, s[12]), word<words>(m, s[13]));
        mix(v, 3, 4, 9, 14, word<words>(m, s[14]), word<words>(m, s[15]));
    }
    for (int i = 0; i < 8; ++i) h[i] = L::bit_xor(h[i], L::bit_xor(v[i], v[8 + i]));
}

// All output nodes of one buffer: node i is an unkeyed BLAKE2b of the root hash.
TARGET void output_nodes(u64* to, const std::array<u64, 8>& root) {
    constexpr u64 count = buffer_words / node_words;
    constexpr u64 lengths = 64 | u64{64} << 32;  // digest, leaf; fanout and depth are 0
    constexpr u64 inner_length = u64{64} << 8;
    u64 numbers[L::width];
    for (u64 first = 0; first < count; first += L::width) {
        for (std::size_t l = 0; l < L::width; ++l)
            numbers[l] = blake2b_iv[1] ^ ((first + l) | u64{8 * buffer_words} << 32);
        lanes h[8];
        for (int i = 0; i < 8; ++i) h[i] = L::set1(blake2b_iv[i]);
        h[0] = L::set1(blake2b_iv[0] ^ lengths);
        h[1] = L::load(numbers);
        h[2] = L::set1(blake2b_iv[2] ^ inner_length);
        compress<8>(h, root.data(), 64, true);
        for (std::size_t i = 0; i < node_words; ++i) {
            L::store(numbers, h[i]);
            for (std::size_t l = 0; l < L::width; ++l)
                to[(first + l) * node_words + i] = numbers[l];
        }
    }
}
