"""Two small public data sets that scikit-learn brings along, scaled by fixed public ranges."""

from __future__ import annotations

import numpy as np

from securefair.data import Samples

# Lowest and highest value of each feature as published with the data set: the "Summary
# Statistics" of scikit-learn's description of it. Public constants, the same for everyone,
# whichever part of the data a participant holds.
BREAST_CANCER_RANGES: dict[str, tuple[float, float]] = {
    "mean radius": (6.981, 28.11),
    "mean texture": (9.71, 39.28),
    "mean perimeter": (43.79, 188.5),
    "mean area": (143.5, 2501.0),
    "mean smoothness": (0.053, 0.163),
    "mean compactness": (0.019, 0.345),
    "mean concavity": (0.0, 0.427),
    "mean concave points": (0.0, 0.201),
    "mean symmetry": (0.106, 0.304),
    "mean fractal dimension": (0.05, 0.097),
    "radius error": (0.112, 2.873),
    "texture error": (0.36, 4.885),
    "perimeter error": (0.757, 21.98),
    "area error": (6.802, 542.2),
    "smoothness error": (0.002, 0.031),
    "compactness error": (0.002, 0.135),
    "concavity error": (0.0, 0.396),
    "concave points error": (0.0, 0.053),
    "symmetry error": (0.008, 0.079),
    "fractal dimension error": (0.001, 0.03),
    "worst radius": (7.93, 36.04),
    "worst texture": (12.02, 49.54),
    "worst perimeter": (50.41, 251.2),
    "worst area": (185.2, 4254.0),
    "worst smoothness": (0.071, 0.223),
    "worst compactness": (0.027, 1.058),
    "worst concavity": (0.0, 1.252),
    "worst concave points": (0.0, 0.291),
    "worst symmetry": (0.156, 0.664),
    "worst fractal dimension": (0.055, 0.208),
}

FULL_INK = 16.0
"""The largest value of a pixel, by construction: each counts the ink of a 4 x 4 block."""


def breast_cancer() -> Samples:
    """Breast Cancer Wisconsin (Diagnostic): 569 tumours, features (569, 30) in [-1, 1].

    Class 0 is malignant (212), class 1 benign (357), as scikit-learn has it. W. H. Wolberg,
    W. N. Street, O. L. Mangasarian, UCI data set 17, 1995, CC BY 4.0.
    """
    from sklearn.datasets import load_breast_cancer  # takes a second to load

    x, y = load_breast_cancer(return_X_y=True)
    low, high = np.array(list(BREAST_CANCER_RANGES.values()), dtype=np.float64).T
    scaled = np.clip(2.0 * (x - low) / (high - low) - 1.0, -1.0, 1.0)
    return Samples(scaled, y.astype(np.int64), classes=2)


def digits() -> Samples:
    """Optical digits: 1797 images of 8 x 8 pixels, features (1797, 64) in [0, 1], 10 classes.

    E. Alpaydin, C. Kaynak, UCI data set 80, 1998, CC BY 4.0 (its test part).
    """
    from sklearn.datasets import load_digits  # takes a second to load

    x, y = load_digits(return_X_y=True)
    return Samples(x.astype(np.float64) / FULL_INK, y.astype(np.int64), classes=10)
