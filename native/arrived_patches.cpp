#include "arrived_patches.hpp"

#include <algorithm>
#include <stdexcept>

#include "packing.hpp"
#include "parallel.hpp"
#include "patch_tile.hpp"
#include "prng.hpp"
#include "rows.hpp"
#include "scratch.hpp"

namespace securefair {

namespace {

// Of ciphertexts that are expanded at once; it divides a buffer of a stream.
constexpr std::size_t expanded_columns = 128;

struct PackedPatches {
    const PatchMap* map;
    std::vector<PackedPatch> patches;

    PackedPatches(const PatchMap& map_, const Basis& basis)
        : map(&map_), patches(pack(map_.patches, map_.bias, basis)) {}

    std::size_t pairs() const { return map->pairs.size() / 2; }
};

// Columns of one limb.
struct Columns {
    std::size_t limb, first;
};

// (count, expanded_columns) of the first polynomials.
void expand_first(u32* rows, const ArrivedRows& x, const Columns& at, const Basis& basis) {
    const unsigned bits = width(basis[at.limb]->p);
    const std::size_t inside = at.first % block_residues;
    std::size_t skipped = packed_bytes(at.first - inside, bits);
    for (const Tables* const q : basis.first(at.limb)) skipped += packed_bytes(q->n, width(q->p));
    for (std::size_t i = 0; i < x.first.size(); ++i)
        unpack_part(rows + i * expanded_columns, x.first[i] + skipped, bits, inside,
                    expanded_columns);
}

// The same of the second ones. roots: of the buffer that the columns are in.
void expand_second(u32* rows, const ArrivedRows& x, const u64* roots, const Columns& at,
                   const Basis& basis) {
    const std::size_t n = basis[0]->n, offset = at.limb * n + at.first;
    for (std::size_t i = 0; i < x.first.size(); ++i) {
        u32* const row = rows + i * expanded_columns;
        u64 words[expanded_columns];
        stream_words(words, roots + 8 * i, offset % buffer_words, expanded_columns);
        if (reduce_words(row, words, expanded_columns, *basis[at.limb])) {
            // A word that SEAL may reject: then what comes after it depends on the whole stream.
            std::vector<u32> whole(basis.size() * n);  // hardly ever, so not kept
            expand_seed(whole.data(), x.seeds.data() + i * seed_bytes, basis);
            std::copy_n(whole.data() + offset, expanded_columns, row);
        }
    }
}

// A thread's memory for a task: parts one after the other, each from a cache line on.
class Parts {
public:
    std::size_t add(std::size_t words) {
        const std::size_t at = total_;
        total_ += (words + 15) / 16 * 16;
        return at;
    }
    std::size_t total() const { return total_; }

private:
    std::size_t total_ = 0;
};

class PatchedQuadratic {
public:
    PatchedQuadratic(u32* to, const ArrivedRows& x, const std::vector<SquaredMap>& bands,
                     const PatchMap& outer, const Basis& basis)
        : to_(to), x_(x), basis_(basis), bands_(bands), outer_(outer, basis) {
        std::size_t pairs = outer_.pairs(), values = 0;
        for (const SquaredMap& band : bands) {
            inner_.emplace_back(band, basis);
            pairs = std::max(pairs, inner_.back().pairs());
            values = std::max(values, 2 * band.outputs);
            sums_ += band.sums();
        }
        columns_ = fitting_columns(2 * pairs + values + 3 * sums_, expanded_columns);
        const std::size_t count = x.first.size();
        rows_at_ = parts_.add(2 * count * expanded_columns);
        roots_at_ = parts_.add(16 * count);
        strips_at_ = parts_.add(digit_words(pairs, columns_));
        values_at_ = parts_.add(values * columns_);
        sums_at_ = parts_.add(3 * sums_ * columns_);
    }

    // One buffer of the streams of all seeds: columns of one limb.
    void run(std::size_t task) const {
        const std::size_t buffers = basis_[0]->n / buffer_words, count = x_.first.size();
        u32* const memory = scratch(parts_.total());
        u64* const roots = reinterpret_cast<u64*>(memory + roots_at_);
        stream_roots(roots, x_.seeds.data(), seed_bytes, count, task);
        const std::size_t start = task % buffers * buffer_words;
        for (std::size_t first = start; first < start + buffer_words; first += expanded_columns) {
            const Columns at{task / buffers, first};
            u32* const rows = memory + rows_at_;
            expand_first(rows, x_, at, basis_);
            expand_second(rows + count * expanded_columns, x_, roots, at, basis_);
            for (std::size_t c = 0; c < expanded_columns; c += columns_)
                map_columns(memory, {at.limb, first + c}, c);
        }
    }

private:
    // `inside`: of the columns among those that are expanded.
    void map_columns(u32* memory, const Columns& at, std::size_t inside) const {
        const Tables& q = *basis_[at.limb];
        const std::size_t limbs = basis_.size(), count = x_.first.size();
        u32 *const strips = memory + strips_at_, *const values = memory + values_at_;
        u32* sum = memory + sums_at_;
        thread_local std::vector<const u32*> sources;
        thread_local std::vector<Pair> factors;
        for (std::size_t b = 0; b < bands_.size(); ++b) {
            const SquaredMap& band = bands_[b];
            const std::size_t poly = band.outputs * columns_;
            for (std::size_t part = 0; part < 2; ++part) {
                sources.clear();
                for (const i64 i : band.reads)
                    sources.push_back(memory + rows_at_ +
                                      (part * count + static_cast<std::size_t>(i)) *
                                          expanded_columns);
                multiply_patches({{sources, band.pairs}, inside, values + part * poly, columns_,
                                  columns_, at.limb, &inner_[b].patches, part == 0, &q},
                                 strips);
            }
            factors.resize(band.terms);
            for (std::size_t g = 0; g < band.sums(); ++g, sum += columns_) {
                for (std::size_t t = 0; t < band.terms; ++t) {
                    const i64 o = band.groups[g * band.terms + t];
                    const u32* const value = values + static_cast<std::size_t>(o) * columns_;
                    factors[t] = {value, value + poly};
                }
                const std::size_t next = sums_ * columns_;
                sum_squares({sum, sum + next, sum + 2 * next}, factors.data(), band.terms, columns_,
                            q);
            }
        }
        for (std::size_t part = 0; part < 3; ++part) {
            sources.clear();
            for (const i64 i : outer_.map->reads)
                sources.push_back(memory + sums_at_ +
                                  (part * sums_ + static_cast<std::size_t>(i)) * columns_);
            multiply_patches({{sources, outer_.map->pairs}, 0,
                              to_ + (part * limbs + at.limb) * q.n + at.first, 3 * limbs * q.n,
                              columns_, at.limb, &outer_.patches, part == 0, &q},
                             strips);
        }
    }

    u32* to_;
    const ArrivedRows& x_;
    Basis basis_;
    const std::vector<SquaredMap>& bands_;
    std::vector<PackedPatches> inner_;
    PackedPatches outer_;
    std::size_t sums_ = 0, columns_;
    Parts parts_;
    std::size_t rows_at_, roots_at_, strips_at_, values_at_, sums_at_;
};

}  // namespace

void apply_patched_quadratic(u32* to, const ArrivedRows& x, const std::vector<SquaredMap>& bands,
                             const PatchMap& outer, const Basis& basis) {
    if (basis[0]->n % buffer_words != 0) throw std::invalid_argument("the ring degree is below 512");
    const PatchedQuadratic maps(to, x, bands, outer, basis);
    parallel_for(basis.size() * (basis[0]->n / buffer_words),
                 [&](std::size_t task) { maps.run(task); });
}

}  // namespace securefair
