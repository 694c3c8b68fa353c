"""What experiments of several papers share: fewer images, and features that are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from securefair_lab.data.images.dataset import Images, ImageSet, Normalisation
from securefair_lab.papers.data import (
    CACHE_VARIABLE,
    features,
    fewer_at_random,
    fewer_of_every_class,
    packaged,
)


def numbered(labels: list[int]) -> Images:
    """Images that show their place, up to 255."""
    places = np.arange(len(labels), dtype=np.uint8)[:, None, None, None]
    return Images(pixels=np.tile(places, (1, 2, 2, 3)), labels=np.array(labels), classes=2)


def image_set(train: Images, test: Images | None) -> ImageSet:
    return ImageSet(
        name="numbered",
        class_names=("even", "odd"),
        train=train,
        test=test,
        normalisation=Normalisation(mean=(0.5,) * 3, deviation=(0.2,) * 3),
    )


def places(part: Images | None) -> list[int]:
    assert part is not None
    return sorted(part.pixels[:, 0, 0, 0].tolist())


def test_the_packaged_set_is_scikit_learns_digits() -> None:
    assert packaged().train.classes == 10
    assert packaged().test is None


def test_equally_many_of_every_class_are_left() -> None:
    whole = image_set(numbered([0] * 150 + [1] * 50), numbered([0] * 20 + [1] * 10))
    left = fewer_of_every_class(whole, 60, 8)
    assert np.bincount(left.train.labels).tolist() == [30, 30]
    assert left.test is not None
    assert np.bincount(left.test.labels).tolist() == [4, 4]
    assert places(left.train) == places(fewer_of_every_class(whole, 60, 8).train)
    assert len(set(places(left.train))) == 60


def test_a_random_part_keeps_the_shares_of_classes_only_by_chance() -> None:
    whole = image_set(numbered([0] * 150 + [1] * 50), numbered([0] * 20 + [1] * 10))
    left = fewer_at_random(whole, 60, 8)
    assert len(set(places(left.train))) == 60
    assert len(set(places(left.test))) == 8
    assert np.bincount(left.train.labels)[0] > 36  # not evened out
    assert places(left.train) == places(fewer_at_random(whole, 60, 8).train)


@pytest.mark.parametrize("fewer", [fewer_of_every_class, fewer_at_random])
def test_there_need_not_be_a_test_part(fewer: object) -> None:
    assert callable(fewer)
    assert fewer(image_set(numbered([0, 1] * 10), None), 10, 5).test is None


def test_features_are_computed_once_where_a_folder_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mean_features: Any
) -> None:
    whole = image_set(numbered([0, 1] * 5), None)
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    first = features(whole, mean_features()).train.samples().features
    features(whole, mean_features())
    assert mean_features.seen == 20
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    features(whole, mean_features())
    again = features(whole, mean_features()).train.samples().features
    assert mean_features.seen == 30
    np.testing.assert_array_equal(first, again)
