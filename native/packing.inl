TARGET void pack_block(u32* to, const u32* x, unsigned width) {
    for (unsigned row = 0; row < block_residues / block_lanes; ++row) {
        const unsigned word = row * width / 32, shift = row * width % 32;
        for (std::size_t lane = 0; lane < block_lanes; lane += V::width) {
            u32* const at = to + word * block_lanes + lane;
            const V::reg value = V::load(x + row * block_lanes + lane);
            // The row that fills a word's last bit begins the next word with what is left of it.
            V::store(at, shift == 0 ? value : V::bit_or(V::load(at), V::shift_left(value, shift)));
            if (shift + width > 32) V::store(at + block_lanes, V::shift_right(value, 32 - shift));
        }
    }
}

TARGET void unpack_rows(u32* to, const u32* x, unsigned width, std::size_t first, std::size_t n) {
    const V::reg mask = V::set1(static_cast<u32>((u64{1} << width) - 1));
    for (std::size_t row = first / block_lanes; row < (first + n) / block_lanes; ++row) {
        const unsigned word = static_cast<unsigned>(row) * width / 32;
        const unsigned shift = static_cast<unsigned>(row) * width % 32;
        for (std::size_t lane = 0; lane < block_lanes; lane += V::width, to += V::width) {
            const u32* const at = x + word * block_lanes + lane;
            V::reg value = V::shift_right(V::load(at), shift);
            if (shift + width > 32)
                value = V::bit_or(value, V::shift_left(V::load(at + block_lanes), 32 - shift));
            V::store(to, V::bit_and(value, mask));
        }
    }
}
