#include "keyswitch.hpp"

#include <algorithm>
#include <vector>

#include "ntt.hpp"
#include "parallel.hpp"
#include "rows.hpp"
#include "scratch.hpp"

namespace securefair {

namespace {

// Division by the last `drop` primes of a basis: constants once, any number of polynomials.
class Division {
public:
    Division(const Basis& basis, std::size_t drop) : basis_(basis), drop_(drop) {
        const std::size_t left = basis.size() - drop;
        among_.resize(drop);
        for (std::size_t k = 0; k < drop; ++k)
            for (std::size_t j = k + 1; j < drop; ++j)
                among_[k].emplace_back(basis[left + j]->p, 1, basis[left + k]->p);
        onto_.resize(left);
        for (std::size_t i = 0; i < left; ++i) {
            u32 later = 1;
            for (std::size_t k = 0; k < drop; ++k) {
                onto_[i].emplace_back(basis[left + k]->p, later, basis[i]->p);
                later = onto_[i].back().w.value;
            }
        }
    }

    // Words of scratch memory that `divide` needs.
    std::size_t scratch_words() const { return (drop_ + 1) * basis_[0]->n; }

    // One polynomial: x has a row for each prime, `to` for each that is left. What is added, if
    // anything, may be `to`.
    void divide(u32* to, const u32* x, const u32* added, u32* memory) const {
        const std::size_t n = basis_[0]->n, left = basis_.size() - drop_;
        u32* const correction = memory + drop_ * n;
        for (std::size_t k = drop_; k-- > 0;) {
            const Tables& q = *basis_[left + k];
            u32* const digit = memory + k * n;
            std::copy_n(x + (left + k) * n, n, digit);
            ntt_inverse(digit, q);
            for (std::size_t j = drop_; j-- > k + 1;) {
                const DivisionStep& step = among_[k][j - k - 1];
                scale_offset(correction, memory + j * n, step.w, step.offset, false, n, q);
                scale_subtract(digit, digit, step.w, correction, n, q);
            }
            add_constant(digit, digit, q.p >> 1, n, q);
        }
        for (std::size_t i = 0; i < left; ++i) {
            const Tables& q = *basis_[i];
            for (std::size_t k = 0; k < drop_; ++k) {
                const DivisionStep& step = onto_[i][k];
                scale_offset(correction, memory + k * n, step.w, step.offset, k != 0, n, q);
            }
            ntt_forward(correction, q);
            if (added != nullptr) subtract(correction, correction, added + i * n, n, q);
            scale_subtract(to + i * n, x + i * n, onto_[i].back().w, correction, n, q);
        }
    }

private:
    Basis basis_;
    std::size_t drop_;
    std::vector<std::vector<DivisionStep>> among_, onto_;
};

// Words of memory that `switch_one` needs: digits as coefficients, digits under one prime, sums of
// both polynomials, and those of a division.
std::size_t switch_words(const Basis& basis, const Division& division) {
    return (4 * basis.size() - 2) * basis[0]->n + division.scratch_words();
}

void switch_one(const SwitchTask& task, const SwitchingKey& key, const Basis& basis,
                const Division& division, u32* memory) {
    const std::size_t limbs = basis.size(), data = limbs - 1, n = basis[0]->n;
    const std::size_t words = 2 * (data + limbs) * n;
    u32* const digits = memory;
    u32* const raised = digits + data * n;
    u32* const sums = raised + data * n;
    std::copy_n(task.target, data * n, digits);
    for (std::size_t j = 0; j < data; ++j) ntt_inverse(digits + j * n, *basis[j]);

    std::vector<const u32*> left(data), right(data);
    for (std::size_t i = 0; i < limbs; ++i) {
        const Tables& q = *basis[i];
        for (std::size_t j = 0; j < data; ++j) {
            left[j] = task.target + j * n;
            if (i == j) continue;
            reduce(raised + j * n, digits + j * n, n, q);
            ntt_forward(raised + j * n, q);
            left[j] = raised + j * n;
        }
        const std::size_t row = i == data ? key.limbs - 1 : i;
        for (std::size_t part = 0; part < 2; ++part) {
            for (std::size_t j = 0; j < data; ++j)
                right[j] = key.data + ((j * 2 + part) * key.limbs + row) * n;
            inner_product(sums + (part * limbs + i) * n, left.data(), right.data(), data, n, q);
        }
    }
    for (std::size_t part = 0; part < 2; ++part) {
        u32* const result = task.to + part * data * n;
        const u32* const addend = part == 0 ? task.c0 : task.c1;
        division.divide(result, sums + part * limbs * n, addend, memory + words);
    }
}

}  // namespace

void divide_by_last(u32* to, const u32* x, std::size_t count, const Basis& basis,
                    std::size_t drop) {
    const Division division(basis, drop);
    const std::size_t n = basis[0]->n, limbs = basis.size();
    parallel_for(count, [&](std::size_t i) {
        division.divide(to + i * (limbs - drop) * n, x + i * limbs * n, nullptr,
                        scratch(division.scratch_words()));
    });
}

void switch_key(const std::vector<SwitchTask>& tasks, const SwitchingKey& key,
                const Basis& basis) {
    const Division division(basis, 1);
    parallel_for(tasks.size(), [&](std::size_t i) {
        switch_one(tasks[i], key, basis, division, scratch(switch_words(basis, division)));
    });
}

void add_conjugates(u32* x, std::size_t count, const SwitchingKey& key, const Basis& basis) {
    const Division division(basis, 1);
    const std::size_t data = basis.size() - 1, n = basis[0]->n, poly = data * n;
    parallel_for(count, [&](std::size_t i) {
        u32* const c0 = x + 2 * i * poly;
        u32* const c1 = c0 + poly;
        // Conjugation reads a row backwards. The conjugate's mask belongs to the conjugate of the
        // secret: it is switched as that of a square would be.
        u32* const mask = scratch(poly + switch_words(basis, division));
        for (std::size_t j = 0; j < data; ++j) {
            mirror(mask + j * n, c1 + j * n, n);
            add_mirrored(c0 + j * n, n, *basis[j]);
        }
        switch_one({c0, c0, c1, mask}, key, basis, division, mask + poly);
    });
}

}  // namespace securefair
