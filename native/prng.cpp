#include "prng.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "blake2b.hpp"
#include "parallel.hpp"
#include "rows.hpp"

namespace securefair {

namespace {

constexpr std::size_t node_words = 8;  // one BLAKE2b call makes 64 bytes of a buffer
constexpr std::size_t buffers_at_once = 8;

// Parameter words of the BLAKE2X note. Root: digest, key, fanout and depth; node: digest and leaf,
// fanout and depth are 0; the length of the output stands beside the number of the node.
constexpr u64 root_lengths = 64 | seed_bytes << 8 | u64{1} << 16 | u64{1} << 24;
constexpr u64 node_lengths = 64 | u64{64} << 32;
constexpr u64 output_length = u64{8 * buffer_words} << 32;
constexpr u64 inner_length = u64{64} << 8;

}  // namespace

}  // namespace securefair

#define KERNELS "prng.inl"
#include "each_target.inl"

namespace securefair {

namespace {

void stream_buffers(u64* to, const u64* seed, u64 counter) {
    DISPATCH(stream_buffers, to, seed, counter)
}

struct Rejected {
    u32* at;
    const Tables* prime;
};

// SEAL's limit: words from here on are drawn again.
u64 first_rejected(u32 p) {
    const u64 largest = ~u64{0};
    return largest - largest % p - 1;
}

// The words of a seed's stream, some buffers at a time.
class SeedStream {
public:
    explicit SeedStream(const std::uint8_t* seed) { std::memcpy(seed_, seed, seed_bytes); }

    std::span<const u64> refill() {
        stream_buffers(words_, seed_, counter_);
        counter_ += buffers_at_once;
        return words_;
    }

private:
    u64 seed_[seed_bytes / sizeof(u64)];
    u64 counter_ = 0;
    alignas(64) u64 words_[buffers_at_once * buffer_words];
};

class GivenStream {
public:
    explicit GivenStream(std::span<const u64> words) : words_(words) {}

    std::span<const u64> refill() {
        if (words_.empty()) throw std::invalid_argument("the stream is used up");
        const auto head = words_.first(std::min(words_.size(), buffer_words));
        words_ = words_.subspan(head.size());
        return head;
    }

private:
    std::span<const u64> words_;
};

template <typename Stream>
void sample(u32* to, Stream&& stream, const Basis& basis) {
    const std::size_t n = basis[0]->n;
    std::vector<Rejected> rejected;
    std::span<const u64> words;
    for (const Tables* const q : basis) {
        const u64 limit = first_rejected(q->p);
        for (std::size_t done = 0; done < n;) {
            if (words.empty()) words = stream.refill();
            const std::size_t count = std::min(n - done, words.size());
            if (reduce_words(to, words.data(), count, *q))
                for (std::size_t i = 0; i < count; ++i)
                    if (words[i] >= limit) rejected.push_back({to + i, q});
            words = words.subspan(count);
            to += count;
            done += count;
        }
    }
    // Rejected words are drawn again after the whole polynomial, from the rest of the stream.
    for (const auto& [at, q] : rejected) {
        u64 word;
        do {
            if (words.empty()) words = stream.refill();
            word = words.front();
            words = words.subspan(1);
        } while (word >= first_rejected(q->p));
        *at = static_cast<u32>(word % q->p);
    }
}

}  // namespace

void stream_roots(u64* roots, const std::uint8_t* seeds, std::size_t stride, std::size_t count,
                  u64 buffer) {
    DISPATCH(stream_roots, roots, seeds, stride, count, buffer)
}

void stream_words(u64* to, const u64* root, std::size_t first, std::size_t count) {
    DISPATCH(stream_words, to, root, first, count)
}

void expand_seed(u32* to, const std::uint8_t* seed, const Basis& basis) {
    sample(to, SeedStream(seed), basis);
}

void expand_seeds(u32* to, const std::uint8_t* seeds, std::size_t count, const Basis& basis) {
    const std::size_t words = basis.size() * basis[0]->n;
    parallel_for(count, [&](std::size_t i) {
        sample(to + i * words, SeedStream(seeds + i * seed_bytes), basis);
    });
}

bool below_primes(const Message& x, const Basis& basis) {
    const std::size_t n = basis[0]->n;
    std::atomic<bool> below = true;
    parallel_for(x.count, [&](std::size_t i) {
        const std::uint8_t* at = x.at(i, 0, basis);
        u32 residues[block_residues];
        for (const Tables* const q : basis)
            for (std::size_t done = 0; done < n; done += block_residues) {
                unpack(residues, at, width(q->p), block_residues);
                if (!all_below(residues, block_residues, *q)) below = false;
                at += packed_bytes(block_residues, width(q->p));
            }
    });
    return below;
}

bool receive_seeded(u32* to, const Message& x, const Basis& basis) {
    const std::size_t n = basis[0]->n, words = basis.size() * n;
    std::atomic<bool> below = true;
    parallel_for(x.count, [&](std::size_t i) {
        u32* at = to + 2 * i * words;
        const std::uint8_t* from = x.at(i, 0, basis);
        for (const Tables* const q : basis) {
            unpack(at, from, width(q->p), n);
            // The copy: whoever owns the message may change it.
            if (!all_below(at, n, *q)) below = false;
            from += packed_bytes(n, width(q->p));
            at += n;
        }
        sample(at, SeedStream(x.seeds + i * x.seed_stride), basis);
    });
    return below;
}

void sample_uniform(u32* to, std::span<const u64> stream, const Basis& basis) {
    if (stream.size() % buffer_words != 0)
        throw std::invalid_argument("the stream is not a multiple of 512 words");
    sample(to, GivenStream(stream), basis);
}

}  // namespace securefair
