#include "embedding.hpp"

#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <numbers>

#include "dispatch.hpp"

#define KERNELS "embedding.inl"
#include "each_target.inl"

namespace securefair {

Embedding::Embedding(std::size_t n)
    : points(n / 2), cosine(points), sine(points), reversed(points), place(points) {
    for (std::size_t h = 1; h < points; h *= 2) {
        const std::size_t order = 8 * h;
        std::size_t exponent = 1;
        for (std::size_t j = 0; j < h; ++j, exponent = exponent * 5 % order) {
            const double angle = 2 * std::numbers::pi * static_cast<double>(exponent) /
                                 static_cast<double>(order);
            cosine[h + j] = std::cos(angle);
            sine[h + j] = std::sin(angle);
        }
    }
    for (std::size_t i = 1; i < points; ++i)
        reversed[i] = static_cast<u32>(reversed[i / 2] / 2 + (i % 2 != 0 ? points / 2 : 0));
    std::vector<u32> number(2 * n);
    for (std::size_t k = 0, exponent = 1; k < points; ++k, exponent = exponent * 5 % (2 * n))
        number[exponent] = static_cast<u32>(k);
    for (std::size_t j = 0, exponent = 1; j < points; ++j, exponent = exponent * 3 % (2 * n))
        place[j] = number[exponent % 4 == 1 ? exponent : 2 * n - exponent];
}

const Embedding& embedding(std::size_t n) {
    static std::mutex mutex;
    static std::map<std::size_t, std::unique_ptr<const Embedding>> cache;
    const std::lock_guard lock(mutex);
    auto& entry = cache[n];
    if (!entry) entry = std::make_unique<const Embedding>(n);
    return *entry;
}

void points_to_coefficients(double* re, double* im, const Embedding& e) {
    DISPATCH(points_to_coefficients, re, im, e)
}

void coefficients_to_points(double* re, double* im, const Embedding& e) {
    DISPATCH(coefficients_to_points, re, im, e)
}

}  // namespace securefair
