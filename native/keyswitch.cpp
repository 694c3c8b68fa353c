#include "keyswitch.hpp"

#include <algorithm>
#include <vector>

#include "division.hpp"
#include "ntt.hpp"
#include "parallel.hpp"
#include "rows.hpp"
#include "scratch.hpp"

namespace securefair {

namespace {

// What is switched: to = (c0, c1) + what the key makes of `target`. Polynomials have one row for
// each data prime; a null c1 is zero. `to` may be where c0 and c1 lie, one after the other.
struct Task {
    u32* to;
    const u32 *c0, *c1, *target;
};

// Division of c0 and c1 by primes that they still have: their digits.
struct Divided {
    const Division* division;
    const u32 *c0, *c1;
};

// Switching by one key. The special prime is divided away as soon as the sums of another prime are
// there, so that few rows are in use at a time.
class Switch {
public:
    // basis: the data primes that are left, then the special one.
    Switch(const SwitchingKey& key, const std::vector<const Tables*>& basis)
        : key_(key), basis_(basis), data_(basis.size() - 1), n_(basis[0]->n) {
        for (std::size_t i = 0; i < data_; ++i)
            steps_.emplace_back(basis.back()->p, 1, basis[i]->p);
    }

    // Words of memory that `run` needs: digits as coefficients, digits under one prime, both sums
    // under the special one, and two corrections.
    std::size_t words() const { return (2 * data_ + 4) * n_; }

    // divided: where c0 and c1 are divided as well, which takes no transforms of its own.
    void run(const Task& task, u32* memory, const Divided* divided = nullptr) const {
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
            sums({to, to + data_ * n_}, steps_[i].w, corrections(task, special, i, divided), task,
                 i, memory);
        }
    }

private:
    // What is left of the division by the special prime, less what is added, under prime i.
    Pair corrections(const Task& task, const Both& special, std::size_t i,
                     const Divided* divided) const {
        const Tables& q = *basis_[i];
        u32* const rows = special.c1 + n_;
        for (std::size_t part = 0; part < 2; ++part) {
            u32* const at = rows + part * n_;
            scale_offset(at, part == 0 ? special.c0 : special.c1, steps_[i].w, steps_[i].offset,
                         false, n_, q);
            if (divided != nullptr)
                divided->division->offset(at, part == 0 ? divided->c0 : divided->c1, i, true);
            ntt_forward(at, q);
            const u32* const addend = part == 0 ? task.c0 : task.c1;
            if (divided != nullptr) {
                const u32 negative = q.p - divided->division->factor(i).value;
                add_scaled(at, at, addend + i * n_, factor(negative, q.p), n_, q);
            } else if (addend != nullptr) {
                subtract(at, at, addend + i * n_, n_, q);
            }
        }
        return {rows, rows + n_};
    }

    // All digits under prime i times the rows of the key that belong to them.
    void sums(const Both& to, Factor w, const Pair& corrections, const Task& task, std::size_t i,
              u32* memory) const {
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
    std::vector<const Tables*> basis_;
    std::size_t data_, n_;
    std::vector<DivisionStep> steps_;
};

}  // namespace

void relinearize(u32* to, const u32* x, std::size_t count, const SwitchingKey& key,
                 const Basis& basis, std::size_t drop) {
    const Basis data = basis.first(basis.size() - 1);
    const std::size_t n = data[0]->n, poly = data.size() * n, left = data.size() - drop;
    std::vector<const Tables*> raised(data.begin(), data.begin() + left);
    raised.push_back(basis.back());
    const Switch by_key(key, raised);
    const Division division(data, drop);
    parallel_for(count, [&](std::size_t task) {
        const u32* const from = x + 3 * task * poly;
        u32* const at = to + 2 * task * left * n;
        if (drop == 0) {
            by_key.run({at, from, from + poly, from + 2 * poly}, scratch(by_key.words()));
            return;
        }
        // Digits of the three polynomials, and the third one divided.
        u32* const memory = scratch((3 * drop + 1 + left) * n + by_key.words());
        u32* const row = memory + 3 * drop * n;
        u32* const target = row + n;
        for (std::size_t part = 0; part < 3; ++part)
            division.digits(memory + part * drop * n, from + part * poly);
        const u32* const third = memory + 2 * drop * n;
        for (std::size_t i = 0; i < left; ++i)
            division.divide_row(target + i * n, from + 2 * poly, third, i, row);
        const Divided divided{&division, memory, memory + drop * n};
        by_key.run({at, from, from + poly, target}, target + left * n, &divided);
    });
}

void add_conjugates(u32* to, u32* x, std::size_t count, const SwitchingKey& key,
                    const Basis& basis) {
    const Switch by_key(key, {basis.begin(), basis.end()});
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
