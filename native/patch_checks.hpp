// Checks of what Python says about products by patches.
#pragma once

#include <span>
#include <vector>

#include "binding.hpp"
#include "patches.hpp"

namespace securefair {

inline void require_below(const Table& x, i64 least, std::size_t below) {
    const i64* const at = x.data();
    for (std::size_t i = 0; i < x.size(); ++i)
        require(at[i] >= least && at[i] < static_cast<i64>(below), "index out of range");
}

inline std::span<const i64> checked_pairs(const Table& pairs, std::size_t inputs) {
    require(pairs.shape(0) > 0 && pairs.shape(1) == 2, "no pairs, or not of two columns");
    require_below(pairs, -1, inputs);
    for (std::size_t k = 0; k < pairs.shape(0); ++k)
        require(pairs.data()[2 * k] >= 0, "a pair without a first input");
    return {pairs.data(), pairs.size()};
}

inline std::vector<Patch> checked_patches(const std::vector<Rows>& weights,
                                          const std::vector<Table>& reads,
                                          const std::vector<Table>& writes, std::size_t pairs,
                                          std::size_t outputs) {
    require(weights.size() == reads.size() && reads.size() == writes.size(), "patches differ");
    std::vector<Patch> patches;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const std::size_t o = weights[i].shape(0), k = weights[i].shape(1);
        const std::size_t places = reads[i].shape(0);
        require(reads[i].shape(1) == (k + 1) / 2 && writes[i].shape(0) == places &&
                    writes[i].shape(1) == o,
                "places do not fit the weights");
        require_below(reads[i], 0, pairs);
        require_below(writes[i], 0, outputs);
        patches.push_back({weights[i].data(), o, k, places, reads[i].data(), writes[i].data()});
    }
    return patches;
}

}  // namespace securefair
