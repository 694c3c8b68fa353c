"""A data set of images seen through a frozen extractor: features are computed once and kept.

With features in place of images a head is all that is left to train, so that experiments with
many participants fit two processor cores; and heads are what encrypted inference takes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from securefair.data import Samples, cache_array, content_key
from securefair.errors import ConfigError, DataError
from securefair_lab.data.images.dataset import Images, ImageSet
from securefair_lab.data.pool import DataSet, Pool, Rows

BLOCK = 2000
"""Images whose features are kept together: an interrupted extraction continues from there."""


class Extractor(Protocol):
    """Anything public and frozen that turns images into features, each image by itself."""

    @property
    def name(self) -> str:
        """For people, and for the names of files."""
        ...

    @property
    def key(self) -> str:
        """Stands for everything that decides the features: weights, options, revision."""
        ...

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Bytes (B, H, W, C) -> features (B, d)."""
        ...


def feature_view(
    images: ImageSet,
    extractor: Extractor,
    *,
    cache: Path | None,
    batch_size: int = 250,
    dtype: type[np.float32] | type[np.float64] = np.float32,
    advance: Callable[[int, int], None] | None = None,
) -> DataSet:
    """The data set with features (B, d) in place of images; labels and sites stay.

    Args:
        images: the data set.
        extractor: what sees the images.
        cache: folder to keep the features in, 4 d bytes an image, under a hash of the images and
            the extractor's key; None computes every time.
        batch_size: images at a time, bounds the memory.
        dtype: of the samples; float64 for heads.
        advance: told after each block how many images are done, and of how many.

    Raises:
        ConfigError: the batch size is not positive.
        DataError: the extractor gives something else than finite features (B, d).
        OSError: the cache cannot be written.
    """
    if batch_size < 1:
        raise ConfigError(
            "out of range", where="batch_size", found=batch_size, expected="1 or more"
        )
    total = len(images.train) + (0 if images.test is None else len(images.test))
    done = 0

    def pool(part: Images, which: str) -> Pool:
        nonlocal done
        blocks = []
        for start in range(0, len(part), BLOCK):
            pixels = part.pixels[start : start + BLOCK]
            name = f"{images.name}-{which}"
            blocks.append(block_features(pixels, extractor, name, cache, batch_size))
            done += len(pixels)
            if advance is not None:
                advance(done, total)
        return _pool(np.concatenate(blocks), part, dtype)

    return DataSet(
        name=f"{images.name}, {extractor.name}",
        train=pool(images.train, "train"),
        test=None if images.test is None else pool(images.test, "test"),
    )


def _pool(features: NDArray[np.float32], part: Images, dtype: type[Any]) -> Pool:
    def features_of(rows: Rows) -> Samples:
        return Samples(features[rows].astype(dtype), part.labels[rows], part.classes)

    return Pool(labels=part.labels, classes=part.classes, features_of=features_of, sites=part.sites)


def block_features(
    pixels: NDArray[np.uint8], extractor: Extractor, name: str, cache: Path | None, batch_size: int
) -> NDArray[np.float32]:
    """Features (B, d) of images (B, H, W, C), computed once for these images and this extractor.

    Args:
        pixels: bytes.
        extractor: what sees the images.
        name: of the file in the cache.
        cache: as of `feature_view`.
        batch_size: images at a time, bounds the memory.

    Raises:
        DataError: the extractor gives something else than finite features (B, d).
        OSError: the cache cannot be written.
    """

    def compute() -> NDArray[np.float32]:
        parts = [
            _checked(extractor, pixels[start : start + batch_size])
            for start in range(0, len(pixels), batch_size)
        ]
        return np.concatenate(parts)

    key = content_key(extractor.key, pixels)
    return cache_array(cache, f"{name}-{extractor.name}", key, compute)


def _checked(extractor: Extractor, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    found = extractor(pixels)
    if found.ndim != 2 or len(found) != len(pixels) or not np.isfinite(found).all():
        raise DataError(
            "not one finite feature vector an image",
            where=f"extractor {extractor.name}",
            found=f"{found.dtype} {found.shape}",
            expected=f"({len(pixels)}, d)",
        )
    return found.astype(np.float32)
