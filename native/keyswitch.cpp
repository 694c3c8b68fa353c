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

    // One polynomial: x has a row for each prime, `to` for each that is left.
    void divide(u32* to, const u32* x, u32* memory) const {
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
            scale_subtract(to + i * n, x + i * n, onto_[i].back().w, correction, n, q);
        }
    }

private:
    Basis basis_;
    std::size_t drop_;
    std::vector<std::vector<DivisionStep>> among_, onto_;
};

// Switching by one key. The special prime is divided away as soon as the sums of another prime are
// there, so that few rows are in use at a time.
class Switch {
public:
    Switch(const SwitchingKey& key, const Basis& basis)
        : key_(key), basis_(basis), data_(basis.size() - 1), n_(basis[0]->n) {
        for (const Tables* const q : basis.first(data_))
            steps_.emplace_back(basis.back()->p, 1, q->p);
    }

    // Words of memory that `run` needs: digits as coefficients, digits under one prime, both sums
    // under the special one, and two corrections.
    std::size_t words() const { return (2 * data_ + 4) * n_; }

    void run(const SwitchTask& task, u32* memory) const {
        std::copy_n(task.target, data_ * n_, memory);
        for (std::size_t j = 0; j < data_; ++j) ntt_inverse(memory + j * n_, *basis_[j]);
        u32* const at = memory + 2 * data_ * n_;
        const Both special{at, at + n_};
        sums(special, {}, {}, task, data_, memory);
        const Tables& last = *basis_[data_];
        for (u32* const row : {special.c0, special.c1}) {
            ntt_inverse(row, last);
            add_constant(row, row, last.p >> 1, n_, last);
        }
        for (std::size_t i = 0; i < data_; ++i) {
            u32* const to = task.to + i * n_;
            sums({to, to + data_ * n_}, steps_[i].w, corrections(task, special, i), task, i,
                 memory);
        }
    }

private:
    // What is left of the division by the special prime, less what is added, under prime i.
    Pair corrections(const SwitchTask& task, const Both& special, std::size_t i) const {
        const Tables& q = *basis_[i];
        u32* const rows = special.c1 + n_;
        for (std::size_t part = 0; part < 2; ++part) {
            u32* const at = rows + part * n_;
            scale_offset(at, part == 0 ? special.c0 : special.c1, steps_[i].w, steps_[i].offset,
                         false, n_, q);
            ntt_forward(at, q);
            const u32* const addend = part == 0 ? task.c0 : task.c1;
            if (addend != nullptr) subtract(at, at, addend + i * n_, n_, q);
        }
        return {rows, rows + n_};
    }

    // All digits under prime i times the rows of the key that belong to them.
    void sums(const Both& to, Factor w, const Pair& corrections, const SwitchTask& task,
              std::size_t i, u32* memory) const {
        const std::size_t row = i == data_ ? key_.limbs - 1 : i;
        std::vector<const u32*> left;
        std::vector<Pair> right;
        for (std::size_t j = 0; j < data_; ++j) {
            u32* const raised = memory + (data_ + j) * n_;
            if (i != j) ntt_forward(raised, memory + j * n_, basis_[j]->p, *basis_[i]);
            left.push_back(i == j ? task.target + j * n_ : raised);
            const u32* const at = key_.data + (2 * j * key_.limbs + row) * n_;
            right.push_back({at, at + key_.limbs * n_});
        }
        inner_quotients(to, w, corrections, left.data(), right.data(), data_, n_, *basis_[i]);
    }

    SwitchingKey key_;
    Basis basis_;
    std::size_t data_, n_;
    std::vector<DivisionStep> steps_;
};

}  // namespace

void divide_by_last(u32* to, const u32* x, std::size_t count, const Basis& basis,
                    std::size_t drop) {
    const Division division(basis, drop);
    const std::size_t n = basis[0]->n, limbs = basis.size();
    parallel_for(count, [&](std::size_t i) {
        division.divide(to + i * (limbs - drop) * n, x + i * limbs * n,
                        scratch(division.scratch_words()));
    });
}

void switch_key(const std::vector<SwitchTask>& tasks, const SwitchingKey& key,
                const Basis& basis) {
    const Switch by_key(key, basis);
    parallel_for(tasks.size(),
                 [&](std::size_t i) { by_key.run(tasks[i], scratch(by_key.words())); });
}

void add_conjugates(u32* to, u32* x, std::size_t count, const SwitchingKey& key,
                    const Basis& basis) {
    const Switch by_key(key, basis);
    const std::size_t data = basis.size() - 1, n = basis[0]->n, poly = data * n;
    parallel_for(count, [&](std::size_t i) {
        u32* const c0 = x + 2 * i * poly;
        u32* const c1 = c0 + poly;
        u32* const sum = to + 2 * i * poly;
        // Conjugation reads a row backwards. The conjugate's mask belongs to the conjugate of the
        // secret: it is switched as that of a square would be.
        u32* const mask = scratch(poly + by_key.words());
        if (to != x) std::copy_n(c0, poly, sum);
        for (std::size_t j = 0; j < data; ++j) {
            mirror(mask + j * n, c1 + j * n, n);
            add_mirrored(sum + j * n, n, *basis[j]);
        }
        by_key.run({sum, sum, c1, mask}, mask + poly);
        if (to == x) return;
        for (std::size_t row = 0; row < 2 * data; ++row) {  // x - conj(x) = 2 x - sum
            const Prime& q = *basis[row % data];
            u32* const at = c0 + row * n;
            scale_subtract(at, at, factor(2, q.p), sum + row * n, n, q);
        }
    });
}

}  // namespace securefair
