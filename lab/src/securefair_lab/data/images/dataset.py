"""Images as they are stored, bytes, and as networks take them, normalised float32."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.data import Samples
from securefair.errors import DataError
from securefair_lab.data.pool import DataSet, Pool


@dataclass(frozen=True, kw_only=True)
class Normalisation:
    """Fixed public numbers, one a channel: x = (byte / 255 - mean) / deviation."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Bytes (B, H, W, C) -> float32 (B, C, H, W)."""
        scale = (1.0 / (255.0 * np.array(self.deviation))).astype(np.float32)
        shift = (np.array(self.mean) / np.array(self.deviation)).astype(np.float32)
        images = np.ascontiguousarray(pixels.transpose(0, 3, 1, 2), dtype=np.float32)
        images *= scale[:, None, None]
        images -= shift[:, None, None]
        return images


@dataclass(frozen=True, kw_only=True)
class Images:
    """Pixels (B, H, W, C) as bytes, labels (B,) in 0..classes-1 and, where known, sites (B,).

    A quarter of the memory of the float32 that networks take: hold data sets like this, and
    convert what a participant gets.

    Raises:
        DataError: shapes or types disagree, or a label is out of range.
    """

    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]
    classes: int
    sites: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        x, y = self.pixels, self.labels
        if x.ndim != 4 or x.dtype != np.uint8 or y.shape != (len(x),):
            raise DataError(
                "not images with labels",
                found=f"{x.dtype} {x.shape} and {y.shape}",
                expected="uint8 (B, H, W, C) and (B,)",
            )
        if self.sites is not None and len(self.sites) != len(x):
            raise DataError("not one site an image", found=len(self.sites), expected=len(x))
        if len(y) and (y.min() < 0 or y.max() >= self.classes):
            raise DataError(
                "a label is out of range",
                found=int(y.min() if y.min() < 0 else y.max()),
                expected=f"0 to {self.classes - 1}",
            )

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: NDArray[np.int64]) -> Images:
        """The given rows, in that order."""
        sites = None if self.sites is None else tuple(self.sites[row] for row in rows)
        return Images(
            pixels=self.pixels[rows], labels=self.labels[rows], classes=self.classes, sites=sites
        )

    def samples(self, normalisation: Normalisation) -> Samples:
        """Features float32 (B, C, H, W), scaled and normalised, with the labels."""
        return Samples(normalisation(self.pixels), self.labels, self.classes)

    def pool(self, normalisation: Normalisation) -> Pool:
        """The same as a pool: only the rows that someone takes become float32."""
        return Pool(
            labels=self.labels,
            classes=self.classes,
            features_of=lambda rows: Samples(
                normalisation(self.pixels[rows]), self.labels[rows], self.classes
            ),
            sites=self.sites,
        )


@dataclass(frozen=True, kw_only=True)
class ImageSet:
    """A data set of images before it is divided among participants.

    `test` is None where the data set comes without a test part.
    """

    name: str
    class_names: tuple[str, ...]
    train: Images
    test: Images | None
    normalisation: Normalisation

    def data_set(self) -> DataSet:
        """Ready to be divided among participants (`division.divide`)."""
        return DataSet(
            name=self.name,
            train=self.train.pool(self.normalisation),
            test=None if self.test is None else self.test.pool(self.normalisation),
        )

    def train_samples(self) -> Samples:
        """The training part as networks take it."""
        return self.train.samples(self.normalisation)

    def test_samples(self) -> Samples | None:
        """The test part as networks take it."""
        return None if self.test is None else self.test.samples(self.normalisation)
