#include "arrivals.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "packing.hpp"
#include "parallel.hpp"
#include "prng.hpp"
#include "rows.hpp"
#include "scratch.hpp"

namespace securefair {

namespace {

// Strips of a tile's inputs, half of a second-level cache.
constexpr std::size_t cached_words = 128 * 1024;
constexpr std::size_t least_columns = 128;  // this and most_columns divide a buffer

std::size_t columns_of(std::size_t inputs) {
    return inputs * most_columns <= cached_words ? most_columns : least_columns;
}

// A thread's memory for a task, one after the other in one piece.
struct Workspace {
    u32 *strips, *values, *rows, *more;
    u64* roots;

    Workspace(const PackedMap& map, std::size_t columns, std::size_t memory) {
        const std::size_t sizes[] = {map.strips_words(columns), 2 * map.outputs * columns,
                                     2 * columns, memory, 16 * map.inputs};
        std::size_t total = 0;
        for (const std::size_t size : sizes) total += rounded(size);
        u32* at = scratch(total);
        u32** const parts[] = {&strips, &values, &rows, &more};
        for (std::size_t i = 0; i < 4; ++i) {
            *parts[i] = at;
            at += rounded(sizes[i]);
        }
        roots = reinterpret_cast<u64*>(at);
    }

    static std::size_t rounded(std::size_t words) { return (words + 15) / 16 * 16; }
};

// Columns of one limb.
struct Columns {
    std::size_t limb, first, count;
};

// Columns of the second polynomial of ciphertext i: in place where they are known.
const u32* second_row(const Arrived& x, std::size_t i, const Columns& at, const Workspace& memory,
                      u32* row, const Basis& basis) {
    const std::size_t n = basis[0]->n, offset = at.limb * n + at.first;
    u32* const kept = x.second == nullptr ? nullptr : x.second + i * basis.size() * n + offset;
    if (x.known) return kept;
    u64 words[most_columns];
    stream_words(words, memory.roots + 8 * i, offset % buffer_words, at.count);
    if (reduce_words(row, words, at.count, *basis[at.limb])) {
        // A word that SEAL may reject: then what comes after it depends on the whole stream.
        std::vector<u32> whole(basis.size() * n);  // hardly ever, so not kept
        expand_seed(whole.data(), x.seeds + i * x.seed_stride, basis);
        std::copy_n(whole.data() + offset, at.count, row);
    }
    if (kept != nullptr) std::copy_n(row, at.count, kept);
    return row;
}

// A tile's rows are far apart, so the processor does not foresee them: fetch some rows early.
constexpr std::size_t rows_ahead = 6, line_bytes = 64;

void pack_first(const Arrived& x, const PackedMap& map, const Columns& at, const Workspace& memory,
                const Basis& basis) {
    const std::size_t inputs = map.inputs;
    const Prime& q = *basis[at.limb];
    const unsigned bits = width(q.p);
    const std::size_t inside = at.first % block_residues, bytes = packed_bytes(at.count, bits);
    const std::uint8_t* block = x.at(0, at.limb, basis) + packed_bytes(at.first - inside, bits);
    const std::uint8_t* later = block + packed_bytes(inside, bits) + rows_ahead * x.first_stride;
    u32* const rows[] = {memory.rows, memory.rows + at.count};
    for (std::size_t i = 0; i < inputs; ++i) {
        if (i + rows_ahead < inputs)
            for (std::size_t byte = 0; byte < bytes; byte += line_bytes)
                __builtin_prefetch(later + byte);
        unpack_part(rows[i % 2], block, bits, inside, at.count);
        block += x.first_stride;
        later += x.first_stride;
        if (i % 2 == 1)
            map.pack_pair(memory.strips, i / 2, rows[0], rows[1], at.count, q);
        else if (i + 1 == inputs)
            map.pack_pair(memory.strips, i / 2, rows[0], nullptr, at.count, q);
    }
}

void pack_second(const Arrived& x, const PackedMap& map, const Columns& at,
                 const Workspace& memory, const Basis& basis) {
    const std::size_t inputs = map.inputs;
    u32* const other = memory.rows + at.count;
    for (std::size_t i = 0; i < inputs; i += 2) {
        const u32* const a = second_row(x, i, at, memory, memory.rows, basis);
        const u32* const b =
            i + 1 < inputs ? second_row(x, i + 1, at, memory, other, basis) : nullptr;
        map.pack_pair(memory.strips, i / 2, a, b, at.count, *basis[at.limb]);
    }
}

}  // namespace

void for_each_tile(const Arrived& x, const PackedMap& map, std::size_t memory_words,
                   const Basis& basis, const std::function<void(const Tile&)>& body) {
    const std::size_t limbs = basis.size(), n = basis[0]->n;
    if (n % buffer_words != 0) throw std::invalid_argument("the ring degree is below 512");
    const std::size_t inputs = map.inputs, columns = columns_of(inputs);
    const std::size_t buffers = n / buffer_words;
    parallel_for(limbs * buffers, [&](std::size_t task) {
        const std::size_t limb = task / buffers, start = task % buffers * buffer_words;
        const Workspace memory(map, columns, memory_words);
        if (!x.known) stream_roots(memory.roots, x.seeds, x.seed_stride, inputs, task);
        for (std::size_t column = start; column < start + buffer_words; column += columns) {
            const Columns at{limb, column, columns};
            for (std::size_t poly = 0; poly < 2; ++poly) {
                if (poly == 0)
                    pack_first(x, map, at, memory, basis);
                else
                    pack_second(x, map, at, memory, basis);
                map.multiply(memory.values + poly * columns, 2 * columns, poly * limbs + limb,
                             memory.strips, columns, *basis[limb]);
            }
            body({limb, column, columns, memory.values, memory.more});
        }
    });
}

}  // namespace securefair
