#include "prng.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "blake2b.hpp"
#include "parallel.hpp"
#include "rows.hpp"

namespace securefair {

#define TARGET
namespace scalar {
#include "prng.inl"
}
#undef TARGET

#if SECUREFAIR_X86
#define TARGET TARGET_AVX2
namespace avx2 {
#include "prng.inl"
}
#undef TARGET
#define TARGET TARGET_AVX512
namespace avx512 {
#include "prng.inl"
}
#undef TARGET
#endif

namespace {

void output_nodes(u64* to, const std::array<u64, 8>& root) { DISPATCH(output_nodes, to, root) }

// The root hash of BLAKE2Xb: keyed BLAKE2b of the counter, 4096 bytes of output announced.
std::array<u64, 8> root_hash(const std::uint8_t* seed, u64 counter) {
    std::array<u64, 8> h = blake2b_iv;
    h[0] ^= 64 | seed_bytes << 8 | u64{1} << 16 | u64{1} << 24;  // digest, key, fanout, depth
    h[1] ^= u64{8 * buffer_words} << 32;
    u64 block[16] = {};
    std::memcpy(block, seed, seed_bytes);
    scalar::compress<16>(h.data(), block, 128, false);
    std::fill_n(block, 16, 0);
    block[0] = counter;
    scalar::compress<16>(h.data(), block, 128 + sizeof counter, true);
    return h;
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

// 512 words at a time of a seed's stream.
class SeedStream {
public:
    explicit SeedStream(const std::uint8_t* seed) : seed_(seed) {}

    std::span<const u64> refill() {
        output_nodes(buffer_, root_hash(seed_, counter_++));
        return buffer_;
    }

private:
    const std::uint8_t* seed_;
    u64 counter_ = 0;
    alignas(64) u64 buffer_[buffer_words];
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
void sample(u32* to, Stream stream, const Basis& basis) {
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

void expand_seeds(u32* to, const std::uint8_t* seeds, std::size_t count, const Basis& basis) {
    const std::size_t words = basis.size() * basis[0]->n;
    parallel_for(count, [&](std::size_t i) {
        sample(to + i * words, SeedStream(seeds + i * seed_bytes), basis);
    });
}

void sample_uniform(u32* to, std::span<const u64> stream, const Basis& basis) {
    if (stream.size() % buffer_words != 0)
        throw std::invalid_argument("the stream is not a multiple of 512 words");
    sample(to, GivenStream(stream), basis);
}

}  // namespace securefair
