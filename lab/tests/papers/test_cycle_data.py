"""CYCle's names of splits and data sets become data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from securefair.data.dataset import Samples
from securefair.errors import ConfigError
from securefair_lab.data.images.dataset import Images, ImageSet, Normalisation
from securefair_lab.data.partition import (
    DirichletPartitioner,
    IidPartitioner,
    ImbalancedPartitioner,
    Partitioner,
)
from securefair_lab.data.pool import pool_of
from securefair_lab.papers import cycle_data
from securefair_lab.papers.cycle_data import (
    BALANCED_TEST,
    FED_ISIC,
    equal_classes,
    partitioner,
    source,
)
from securefair_lab.papers.data import CACHE_VARIABLE


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        ("homogeneous", IidPartitioner(participants=5)),
        ("dirichlet(0.5)", DirichletPartitioner(participants=5, delta=0.5, min_samples=10)),
        ("imbalanced(0.35,2)", ImbalancedPartitioner(participants=5, kappa=0.35, large=2)),
    ],
)
def test_a_split_is_read_from_its_name(split: str, expected: Partitioner) -> None:
    assert partitioner(split, 5) == expected


@pytest.mark.parametrize("split", ["uniform", "dirichlet", "imbalanced(0.8)"])
def test_an_unknown_split_is_refused(split: str) -> None:
    with pytest.raises(ConfigError, match="split"):
        partitioner(split, 5)


def test_rare_classes_are_repeated_for_balanced_accuracy() -> None:
    labels = np.array([0] * 900 + [1] * 30)
    pool = pool_of(Samples(np.arange(930.0)[:, None], labels, 2))
    balanced = equal_classes(pool)
    assert np.bincount(balanced.labels).tolist() == [BALANCED_TEST] * 2
    rare = balanced.samples().features[balanced.labels == 1, 0]
    assert set(rare) == set(np.arange(900.0, 930.0))


def test_of_large_classes_the_first_count_and_of_small_ones_some_count_twice() -> None:
    labels = np.array([0] * 300 + [1] * 110)
    features = np.arange(410.0)[:, None]
    balanced = equal_classes(pool_of(Samples(features, labels, 2))).samples().features[:, 0]
    assert balanced[:BALANCED_TEST].tolist() == features[:BALANCED_TEST, 0].tolist()
    found, counts = np.unique(balanced[BALANCED_TEST:], return_counts=True)
    assert found.tolist() == features[300:, 0].tolist()
    assert counts.tolist() == [2] * 90 + [1] * 20


def test_features_of_lesions_are_computed_once_where_a_cache_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mean_features: Any
) -> None:
    rng = np.random.default_rng(0)
    part = Images(
        pixels=rng.integers(0, 256, (6, 4, 4, 3), dtype=np.uint8),
        labels=np.array([0, 1, 0, 1, 0, 0]),
        classes=2,
        sites=("a", "a", "b", "b", "a", "b"),
    )
    lesions = ImageSet(
        name="lesions",
        class_names=("mole", "melanoma"),
        train=part,
        test=part,
        normalisation=Normalisation(mean=(0.5,) * 3, deviation=(0.2,) * 3),
    )
    monkeypatch.setattr(cycle_data, "load_image_set", lambda *_: lesions)
    monkeypatch.setitem(cycle_data.EXTRACTORS, FED_ISIC, mean_features)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    computed = source(FED_ISIC, "cpu", tmp_path / "one")
    again = source(FED_ISIC, "cpu", tmp_path / "other")
    assert mean_features.seen == 12  # six images of each part, and none the second time
    np.testing.assert_array_equal(computed.train.samples().features, part.pixels.mean(axis=(1, 2)))
    np.testing.assert_array_equal(again.train.samples().features, computed.train.samples().features)
    assert computed.test is not None
    assert np.bincount(computed.test.labels).tolist() == [BALANCED_TEST] * 2
