#include "gemm_bytes.hpp"

#include <algorithm>

#include "gemm_simd.hpp"

namespace securefair {

namespace {

constexpr std::size_t side = 16;         // outputs of a tile, and columns
constexpr std::size_t depth = 64;        // inputs of a tile
constexpr std::size_t tile_bytes = side * depth, tile_words = tile_bytes / 4;
constexpr std::size_t residue_bytes = 4, weight_bytes = 2;
constexpr std::size_t shifts = residue_bytes + weight_bytes - 1;  // byte i times byte j: i + j

// Up to here a sum of products of bytes is below 2^30, and sums of those fit 32 bits.
constexpr std::size_t most_inputs = 16384;
// Below, sums are hardly longer than what reduces them.
constexpr std::size_t least_inputs = 128, least_outputs = 8;

std::size_t tiles(std::size_t count, std::size_t size) { return (count + size - 1) / size; }

using Sums = u32[shifts][side * side];

// What matrix registers do, for processors without: tests check everything around them there.
struct Emulated {
    Sums sums;

    Emulated() { clear(); }
    void clear() { std::fill_n(&sums[0][0], shifts * side * side, 0); }
    void store(Sums& to) const { std::copy_n(&sums[0][0], shifts * side * side, &to[0][0]); }

    void multiply(const std::uint8_t* weights, const u32* strip) {
        const auto* const digits = reinterpret_cast<const std::uint8_t*>(strip);
        for (std::size_t i = 0; i < residue_bytes; ++i)
            for (std::size_t row = 0; row < side; ++row)
                for (std::size_t column = 0; column < side; ++column)
                    for (std::size_t k = 0; k < depth; ++k) {
                        const std::size_t at = row * depth + k;
                        const i64 low = weights[at];
                        const i64 high = static_cast<std::int8_t>(weights[tile_bytes + at]);
                        const i64 x =
                            digits[i * tile_bytes + k / 4 * depth + column * 4 + k % 4];
                        sums[i][row * side + column] += static_cast<u32>(low * x);
                        sums[i + 1][row * side + column] += static_cast<u32>(high * x);
                    }
    }
};

#if SECUREFAIR_AMX

// Palette, first row, 14 bytes that are zero, bytes of a row and rows of each tile: all of them full.
struct alignas(64) TileConfiguration {
    std::uint8_t palette = 1, start = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfiguration configuration;

// Tiles 0 to 4 are the sums by shift, 5 and 6 low and high bytes of weights, 7 bytes of residues.
struct MatrixRegisters {
    INLINE TARGET_AMX MatrixRegisters() {
        // GCC's loads of tiles do not say that they read memory: all stores come before.
        asm volatile("" ::: "memory");
        _tile_loadconfig(&configuration);
    }
    INLINE TARGET_AMX ~MatrixRegisters() { _tile_release(); }

    INLINE TARGET_AMX void clear() {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        _tile_zero(4);
    }
    INLINE TARGET_AMX void store(Sums& to) const {
        _tile_stored(0, to[0], 64);
        _tile_stored(1, to[1], 64);
        _tile_stored(2, to[2], 64);
        _tile_stored(3, to[3], 64);
        _tile_stored(4, to[4], 64);
    }
    INLINE TARGET_AMX void multiply(const std::uint8_t* weights, const u32* strip) {
        _tile_loadd(5, weights, 64);
        _tile_loadd(6, weights + tile_bytes, 64);
        _tile_loadd(7, strip, 64);
        _tile_dpbuud(0, 5, 7);
        _tile_dpbsud(1, 6, 7);
        _tile_loadd(7, strip + tile_words, 64);
        _tile_dpbuud(1, 5, 7);
        _tile_dpbsud(2, 6, 7);
        _tile_loadd(7, strip + 2 * tile_words, 64);
        _tile_dpbuud(2, 5, 7);
        _tile_dpbsud(3, 6, 7);
        _tile_loadd(7, strip + 3 * tile_words, 64);
        _tile_dpbuud(3, 5, 7);
        _tile_dpbsud(4, 6, 7);
    }
};

#endif

#if SECUREFAIR_X86

#define TARGET TARGET_AVX512

using avx512::M;
using reg = M::reg;

INLINE TARGET reg signed_shift(reg x) { return _mm512_srai_epi32(x, 8); }

// The sum of 2^(8 i) sums[i], and a constant, modulo a prime: as low + 2^16 middle + 2^32 high,
// each below 2^31.
INLINE TARGET reg reduced(const Sums& sums, std::size_t at, reg constant, const Reduction& by) {
    const reg byte = M::set1(255), second = M::load(&sums[1][at]), fourth = M::load(&sums[3][at]);
    const reg low = M::add(M::load(&sums[0][at]), M::shift_left(M::bit_and(second, byte), 8));
    const reg middle = M::add(M::add(M::load(&sums[2][at]), signed_shift(second)),
                              M::shift_left(M::bit_and(fourth, byte), 8));
    const reg high = M::add(M::load(&sums[4][at]), signed_shift(fourth));
    const reg upper = M::reduced(middle, high, M::set1(0), by);
    return M::reduced(low, upper, constant, by);
}

// Two rows to their places in four tiles of bytes: `later` of the two pairs of four inputs, or not.
template <bool later>
INLINE TARGET void pack_columns(u32* to, reg a, reg b) {
    constexpr __mmask64 odd_bytes = 0xAAAAAAAAAAAAAAAA;
    constexpr __mmask32 words = later ? 0xAAAAAAAA : 0x55555555;
    // Bytes 0 of both beside each other, and bytes 2; the same of bytes 1 and 3.
    const reg even = _mm512_mask_blend_epi8(odd_bytes, a, _mm512_slli_epi32(b, 8));
    const reg odd = _mm512_mask_blend_epi8(odd_bytes, _mm512_srli_epi32(a, 8), b);
    const reg parts[] = {later ? _mm512_slli_epi32(even, 16) : even,
                         later ? _mm512_slli_epi32(odd, 16) : odd,
                         later ? even : _mm512_srli_epi32(even, 16),
                         later ? odd : _mm512_srli_epi32(odd, 16)};
    for (std::size_t byte = 0; byte < residue_bytes; ++byte)
        _mm512_mask_storeu_epi16(to + byte * tile_words, words, parts[byte]);
}

template <bool later>
TARGET void pack_rows(u32* at, const u32* first, const u32* second, std::size_t columns,
                      std::size_t strip_words) {
    for (std::size_t c = 0; c < columns; c += side, at += strip_words)
        pack_columns<later>(at, M::load(first + c),
                            second != nullptr ? M::load(second + c) : M::set1(0));
}

#undef TARGET

#if SECUREFAIR_AMX
#define TARGET TARGET_AMX
#else
#define TARGET TARGET_AVX512
#endif

template <typename Tiles>
TARGET void multiply_strips(const Product& product, const ByteWeights& weights, const u32* strips) {
    const Reduction by(product.prime->p, 16);
    const std::size_t deep = tiles(weights.inputs, depth), words = weights.strip_words();
    alignas(64) Sums sums;
    Tiles registers;
    for (std::size_t c = 0; c < product.columns; c += side, strips += words) {
        const std::uint8_t* at = weights.bytes.data();
        for (std::size_t first = 0; first < weights.outputs; first += side) {
            registers.clear();
            for (std::size_t k = 0; k < deep; ++k, at += weight_bytes * tile_bytes)
                registers.multiply(at, strips + k * residue_bytes * tile_words);
            registers.store(sums);
            const std::size_t rows = std::min(side, weights.outputs - first);
            for (std::size_t r = 0; r < rows; ++r) {
                const reg constant = M::set1(product.constant[first + r]);
                M::store(product.to + (first + r) * product.stride + c,
                         reduced(sums, r * side, constant, by));
            }
        }
    }
}

#endif

}  // namespace

ByteWeights::ByteWeights(const std::int32_t* weights, std::size_t outputs_, std::size_t inputs_)
    : outputs(outputs_), inputs(inputs_) {
    const std::size_t deep = tiles(inputs, depth);
    bytes.resize(tiles(outputs, side) * deep * weight_bytes * tile_bytes);
    for (std::size_t o = 0; o < outputs; ++o)
        for (std::size_t i = 0; i < inputs; ++i) {
            const std::int32_t w = weights[o * inputs + i];
            std::uint8_t* const tile =
                &bytes[(o / side * deep + i / depth) * weight_bytes * tile_bytes];
            const std::size_t at = o % side * depth + i % depth;
            tile[at] = static_cast<std::uint8_t>(w);
            tile[tile_bytes + at] = static_cast<std::uint8_t>(w >> 8);
        }
}

void ByteWeights::pack_strips(u32* strips, const u32* x, std::size_t stride,
                              std::size_t columns) const {
    for (std::size_t k = 0; 2 * k < inputs; ++k) {
        const u32* const first = x + 2 * k * stride;
        pack_pair(strips, k, first, 2 * k + 1 < inputs ? first + stride : nullptr, columns);
    }
}

bool ByteWeights::pay(std::size_t outputs, std::size_t inputs) {
    return current_isa() == Isa::amx && least_outputs <= outputs && least_inputs <= inputs &&
           inputs <= most_inputs;
}

// An odd number of cache lines, so that strips do not compete for the same places of the cache.
std::size_t ByteWeights::strip_words() const {
    return tiles(inputs, depth) * residue_bytes * tile_words + side;
}

#if SECUREFAIR_AMX

TARGET_AMX bool matrix_registers_agree() {
    std::vector<std::uint8_t> weights(weight_bytes * tile_bytes);
    std::vector<u32> strip(residue_bytes * tile_words);
    u32 state = 1;
    const auto next = [&] { return state = 1664525 * state + 1013904223; };
    for (auto& byte : weights) byte = static_cast<std::uint8_t>(next() >> 24);
    for (auto& word : strip) word = next();
    alignas(64) Sums found, expected;
    Emulated emulated;
    MatrixRegisters registers;
    registers.clear();
    for (int i = 0; i < 2; ++i) {
        emulated.multiply(weights.data(), strip.data());
        registers.multiply(weights.data(), strip.data());
    }
    emulated.store(expected);
    registers.store(found);
    return std::equal(&found[0][0], &found[0][0] + shifts * side * side, &expected[0][0]);
}

#endif

#if SECUREFAIR_X86

void ByteWeights::pack_pair(u32* strips, std::size_t k, const u32* first, const u32* second,
                            std::size_t columns) const {
    const std::size_t group = k / 2;
    u32* const at =
        strips + group / side * residue_bytes * tile_words + group % side * side;
    const auto pack = k % 2 == 0 ? pack_rows<false> : pack_rows<true>;
    pack(at, first, second, columns, strip_words());
}

void ByteWeights::multiply(const Product& product, const u32* strips) const {
#if SECUREFAIR_AMX
    if (best_isa() == Isa::amx) return multiply_strips<MatrixRegisters>(product, *this, strips);
#endif
    multiply_strips<Emulated>(product, *this, strips);
}

#else  // where they never pay

void ByteWeights::pack_pair(u32*, std::size_t, const u32*, const u32*, std::size_t) const {}
void ByteWeights::multiply(const Product&, const u32*) const {}

#endif

}  // namespace securefair
