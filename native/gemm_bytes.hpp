// The product of gemm.cpp on bytes, by matrix registers (AMX): 16 outputs and 16 columns of 64 inputs
// at a time. A residue has four bytes and a weight two, so a product of both takes eight of bytes,
// of which an instruction does 16,384.
//
// Strips hold 16 columns. Of 64 inputs they have four tiles of 16 x 64 bytes, one for each byte of
// the residues: a row has four inputs, beside each other for every column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dispatch.hpp"
#include "product_columns.hpp"

namespace securefair {

struct ByteWeights {
    // (ceil(outputs / 16), ceil(inputs / 64), low and high, 16, 64): the low bytes count from 0 to
    // 255, the high ones from -128 to 127.
    std::vector<std::uint8_t> bytes;
    std::size_t outputs, inputs;

    // |w| <= 32767
    ByteWeights(const std::int32_t* weights, std::size_t outputs, std::size_t inputs);

    // Whether this processor multiplies maps of this size faster by bytes.
    static bool pay(std::size_t outputs, std::size_t inputs);

    std::size_t strip_words() const;
    void pack_pair(u32* strips, std::size_t k, const u32* first, const u32* second,
                   std::size_t columns) const;
    void pack_strips(u32* strips, const u32* x, std::size_t stride, std::size_t columns) const;
    void multiply(const Product& product, const u32* strips) const;
};

#if SECUREFAIR_AMX
// Whether the processor's matrix registers do what tests do without them: processors that have them
// are rare, so each is tried before it is trusted.
bool matrix_registers_agree();
#endif

}  // namespace securefair
