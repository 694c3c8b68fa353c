#include "modular.hpp"

#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

namespace securefair {

namespace {

// Vectors read their factors a full register at a time, also where they use only the first few.
constexpr std::size_t padding = 16;

u32 smallest_primitive_root(std::size_t n, u32 p) {
    const u64 order = 2 * n;
    if ((p - 1) % order != 0) throw std::invalid_argument("prime is not 1 modulo 2N");
    for (u32 candidate = 2; candidate < p; ++candidate) {
        u32 root = power(candidate, (p - 1) / order, p);
        if (power(root, n, p) != p - 1) continue;  // its order is smaller than 2N
        const u32 step = multiply(root, root, p);
        u32 smallest = root;
        for (std::size_t i = 1; i < n; ++i) {
            root = multiply(root, step, p);
            if (root < smallest) smallest = root;
        }
        return smallest;
    }
    throw std::invalid_argument("no primitive root");
}

std::size_t reverse_bits(std::size_t x, int bits) {
    std::size_t result = 0;
    for (int i = 0; i < bits; ++i, x >>= 1) result = result << 1 | (x & 1);
    return result;
}

}  // namespace

Prime::Prime(u32 prime) : p(prime) {
    if (p <= smallest_prime || p >= (u32{1} << 31)) throw std::invalid_argument("prime out of range");
    const int bits = std::bit_width(p);
    low = bits - 1;
    high = bits + 1;
    mu = static_cast<u32>((u64{1} << (2 * bits)) / p);
    square = u64{p} * p;
}

Tables::Tables(std::size_t degree, u32 prime) : Prime(prime), n(degree) {
    if (n < 128 || n > (std::size_t{1} << 17) || !std::has_single_bit(n))
        throw std::invalid_argument("ring degree must be a power of two from 128 to 131072");
    const int bits = std::countr_zero(n);
    const u32 psi = smallest_primitive_root(n, p);
    const u32 psi_inverse = inverse(psi, p);
    for (auto* table : {&roots, &roots_quotient, &inverse_roots, &inverse_roots_quotient})
        table->assign(n + padding, 0);
    u32 power_of_psi = 1, power_of_inverse = 1;
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = reverse_bits(i, bits);
        const Factor w = factor(power_of_psi, p), v = factor(power_of_inverse, p);
        roots[at] = w.value;
        roots_quotient[at] = w.quotient;
        inverse_roots[at] = v.value;
        inverse_roots_quotient[at] = v.quotient;
        power_of_psi = multiply(power_of_psi, psi, p);
        power_of_inverse = multiply(power_of_inverse, psi_inverse, p);
    }
    const u32 scale = inverse(static_cast<u32>(n % p), p);
    n_inverse = factor(scale, p);
    n_inverse_root = factor(multiply(scale, inverse_roots[1], p), p);
}

DivisionStep::DivisionStep(u32 from, u32 later, u32 q) {
    const u32 value = multiply(inverse(from % q, q), later, q);
    w = factor(value, q);
    offset = multiply((from >> 1) % q, value, q);
}

const Tables& tables(std::size_t n, u32 prime) {
    static std::mutex mutex;
    static std::map<std::pair<std::size_t, u32>, std::unique_ptr<const Tables>> cache;
    const std::lock_guard lock(mutex);
    auto& entry = cache[{n, prime}];
    if (!entry) entry = std::make_unique<const Tables>(n, prime);
    return *entry;
}

std::vector<const Tables*> tables(std::size_t n, const std::vector<u32>& primes) {
    // Every kernel looks at the first table.
    if (primes.empty()) throw std::invalid_argument("no primes");
    std::vector<const Tables*> result;
    for (const u32 p : primes) result.push_back(&tables(n, p));
    return result;
}

}  // namespace securefair
