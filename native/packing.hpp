// Residues of fewer than 32 bits without the bits that are always zero, as uploads travel.
//
// 512 residues below 2^width are one block of 16 width words. Residue 16 r + l stands in lane l:
// words l, l + 16, l + 32, .. of a block are one string of bits, lowest first, in which it has bits
// r width to (r + 1) width. So 16 residues at a time are shifted alike, and 32 bits are plain words.
#pragma once

#include <bit>
#include <cstddef>

#include "modular.hpp"

namespace securefair {

// Bits of a residue below p.
inline unsigned width(u32 p) { return static_cast<unsigned>(std::bit_width(p)); }

constexpr std::size_t block_residues = 512, block_lanes = 16;

// Bytes of so many residues, a multiple of 512.
constexpr std::size_t packed_bytes(std::size_t n, unsigned width) { return n / 8 * width; }

// n residues below 2^width, a multiple of 512, to blocks that lie anywhere in memory.
void pack(std::uint8_t* to, const u32* x, unsigned width, std::size_t n);

// Residues first .. first + n of what starts at x: both multiples of 16, all in one block.
void unpack_part(u32* to, const std::uint8_t* x, unsigned width, std::size_t first, std::size_t n);

// The first n residues of what starts at x, a multiple of 512.
void unpack(u32* to, const std::uint8_t* x, unsigned width, std::size_t n);

}  // namespace securefair
