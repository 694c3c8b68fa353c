// values[k] = re[reversed[k]] factor, the second half from im; returns a bound on the magnitudes,
// infinite if one of them is not finite.
TARGET double gather_scaled(double* values, const double* re, const double* im, double factor_,
                            const Embedding& e) {
    double largest = 0;
    bool finite = true;
    for (std::size_t k = 0; k < e.points; ++k) {
        const double a = re[e.reversed[k]] * factor_, b = im[e.reversed[k]] * factor_;
        values[k] = a;
        values[k + e.points] = b;
        const double size = std::fabs(a) + std::fabs(b);
        finite &= size <= std::numeric_limits<double>::max();
        largest = std::max(largest, size);
    }
    return finite ? largest : std::numeric_limits<double>::infinity();
}

// Nearest integers of values below 2^62, plus 2^63.
TARGET void round_to_words(u64* words, const double* values, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i)
        words[i] = static_cast<u64>(static_cast<i64>(__builtin_nearbyint(values[i]))) + word_offset;
}

// value = high 2^60 + low with integers |high|, |low| <= 2^60; values become low.
TARGET void split_high_words(u64* words, double* values, std::size_t n) {
    constexpr double unit = 0x1p60;
    for (std::size_t i = 0; i < n; ++i) {
        const double high = __builtin_nearbyint(values[i] / unit);
        values[i] -= high * unit;
        words[i] = static_cast<u64>(static_cast<i64>(high)) + word_offset;
    }
}
