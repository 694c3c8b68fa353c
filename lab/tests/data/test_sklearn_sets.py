import re

import numpy as np
import pytest
from sklearn import datasets

from securefair_lab.data.sklearn_sets import BREAST_CANCER_RANGES, breast_cancer, digits


def test_breast_cancer_is_complete_and_scaled():
    samples = breast_cancer()
    assert samples.features.shape == (569, 30)
    assert np.bincount(samples.labels).tolist() == [212, 357]
    assert samples.features.min() == -1.0
    assert samples.features.max() == 1.0
    raw = datasets.load_breast_cancer().data
    for column in range(30):  # scaling is linear: it keeps the order of the patients
        assert np.corrcoef(raw[:, column], samples.features[:, column])[0, 1] > 0.999


def test_breast_cancer_ranges_are_the_published_ones():
    published = re.findall(
        r"^([a-z ]+) \((mean|standard error|worst)\): +([\d.]+) +([\d.]+)$",
        datasets.load_breast_cancer().DESCR,
        flags=re.MULTILINE,
    )
    assert len(published) == 30
    spelt = {"mean": "mean {}", "standard error": "{} error", "worst": "worst {}"}
    assert {
        spelt[kind].format(name): (float(low), float(high)) for name, kind, low, high in published
    } == BREAST_CANCER_RANGES
    assert list(BREAST_CANCER_RANGES) == [
        str(name) for name in datasets.load_breast_cancer().feature_names
    ]


def test_digits_are_complete_and_scaled():
    samples = digits()
    assert samples.features.shape == (1797, 64)
    assert samples.classes == 10
    assert (samples.features.min(), samples.features.max()) == (0.0, 1.0)
    assert samples.features * 16 == pytest.approx(datasets.load_digits().data)
