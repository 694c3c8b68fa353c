"""What the experiments of several papers do with data: a packaged set, fewer images, features."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from securefair_lab.data.feature_view import Extractor, feature_view
from securefair_lab.data.images.dataset import Images, ImageSet
from securefair_lab.data.pool import DataSet, pool_of
from securefair_lab.data.sklearn_sets import digits

CACHE_VARIABLE = "SECUREFAIR_CACHE"
"""The environment variable of a folder that keeps features: minutes of computing, see docs."""


def packaged() -> DataSet:
    """scikit-learn's digits, which every size "smoke" runs on."""
    return DataSet(name="digits", train=pool_of(digits()))


def features(images: ImageSet, extractor: Extractor) -> DataSet:
    """What the extractor sees, kept in the folder that `CACHE_VARIABLE` names, if any.

    Raises:
        OSError: the folder cannot be written.
    """
    folder = os.environ.get(CACHE_VARIABLE)
    return feature_view(images, extractor, cache=Path(folder).expanduser() if folder else None)


def fewer_of_every_class(images: ImageSet, train: int, test: int) -> ImageSet:
    """So many training and test images, equally many of every class; the same ones every time."""

    def part(of: Images, count: int) -> Images:
        rng = np.random.default_rng(0)
        each = count // of.classes
        rows = [rng.permutation(np.flatnonzero(of.labels == c))[:each] for c in range(of.classes)]
        return of.take(np.concatenate(rows))

    return replace(
        images,
        train=part(images.train, train),
        test=None if images.test is None else part(images.test, test),
    )


def fewer_at_random(images: ImageSet, train: int, test: int) -> ImageSet:
    """So many training and test images, whatever their classes; the same ones every time."""
    rng = np.random.default_rng(0)

    def part(of: Images, count: int) -> Images:
        return of.take(rng.permutation(len(of))[:count])

    return replace(
        images,
        train=part(images.train, train),
        test=None if images.test is None else part(images.test, test),
    )
