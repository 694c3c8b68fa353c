#include "packing.hpp"

#include "simd.hpp"

#define KERNELS "packing.inl"
#include "each_target.inl"

namespace securefair {

namespace {

void pack_block(u32* to, const u32* x, unsigned width) { DISPATCH(pack_block, to, x, width) }

}  // namespace

// Messages lie at any address: loads and stores of `V` need no alignment.
void unpack_part(u32* to, const std::uint8_t* x, unsigned width, std::size_t first, std::size_t n) {
    DISPATCH(unpack_rows, to, reinterpret_cast<const u32*>(x), width, first, n)
}

void unpack(u32* to, const std::uint8_t* x, unsigned width, std::size_t n) {
    for (std::size_t done = 0; done < n; done += block_residues)
        unpack_part(to + done, x + packed_bytes(done, width), width, 0, block_residues);
}

void pack(std::uint8_t* to, const u32* x, unsigned width, std::size_t n) {
    for (std::size_t done = 0; done < n; done += block_residues)
        pack_block(reinterpret_cast<u32*>(to + packed_bytes(done, width)), x + done, width);
}

}  // namespace securefair
