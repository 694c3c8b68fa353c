// Decimation in frequency and its mirror image; the compiler vectorises the inner loops.

TARGET void points_to_coefficients(double* __restrict re, double* __restrict im,
                                  const Embedding& e) {
    for (std::size_t h = e.points / 2; h >= 1; h /= 2) {
        const double *c = e.cosine.data() + h, *s = e.sine.data() + h;
        for (std::size_t block = 0; block < e.points; block += 2 * h) {
            double* const xr = re + block;
            double* const xi = im + block;
#pragma GCC ivdep
            for (std::size_t j = 0; j < h; ++j) {
                const double ar = xr[j], ai = xi[j], br = xr[j + h], bi = xi[j + h];
                const double dr = ar - br, di = ai - bi;
                xr[j] = ar + br;
                xi[j] = ai + bi;
                xr[j + h] = dr * c[j] + di * s[j];
                xi[j + h] = di * c[j] - dr * s[j];
            }
        }
    }
}

TARGET void coefficients_to_points(double* __restrict re, double* __restrict im,
                                  const Embedding& e) {
    for (std::size_t h = 1; h < e.points; h *= 2) {
        const double *c = e.cosine.data() + h, *s = e.sine.data() + h;
        for (std::size_t block = 0; block < e.points; block += 2 * h) {
            double* const xr = re + block;
            double* const xi = im + block;
#pragma GCC ivdep
            for (std::size_t j = 0; j < h; ++j) {
                const double ar = xr[j], ai = xi[j], br = xr[j + h], bi = xi[j + h];
                const double tr = br * c[j] - bi * s[j], ti = bi * c[j] + br * s[j];
                xr[j] = ar + tr;
                xi[j] = ai + ti;
                xr[j + h] = ar - tr;
                xi[j + h] = ai - ti;
            }
        }
    }
}
