"""CIFAR-10: photographs of ten kinds of things."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from securefair.data.folder import DataFile, read_arrays
from securefair.data.images.dataset import Images, ImageSet, Normalisation
from securefair.data.images.decoding import decode_images

CIFAR10_FILE = DataFile(
    name="cifar10.npz",
    origin="JPEG copies of CIFAR-10 of Krizhevsky 2009: arrays classes, and for train and test"
    " *_jpeg, *_offsets, *_y",
)
CIFAR10_NORMALISATION = Normalisation(
    mean=(0.4914, 0.4822, 0.4465), deviation=(0.2470, 0.2435, 0.2616)
)
"""Of CIFAR-10's training pixels, as customary."""


def load_cifar10(folder: Path, *, cache: Path | None = None) -> ImageSet:
    """CIFAR-10: 50,000 + 10,000 colour images of 32 x 32, ten classes.

    Rows are in the order of the file, which is by class. The copy is JPEG, not the original:
    expect slightly lower accuracies than published.

    Args:
        folder: where cifar10.npz is.
        cache: folder to keep the decoded pixels in (184 MB); None decodes every time.

    Raises:
        DataError: cifar10.npz is not in the folder, or is damaged.
    """
    path = CIFAR10_FILE.find(folder)
    (names,) = read_arrays(path, "classes")

    def part(which: str) -> Images:
        encoded, offsets, labels = read_arrays(
            path, f"{which}_jpeg", f"{which}_offsets", f"{which}_y"
        )
        pixels = decode_images(encoded, offsets, name=f"cifar10-{which}", cache=cache)
        return Images(pixels=pixels, labels=labels.astype(np.int64), classes=len(names))

    return ImageSet(
        name="cifar10",
        class_names=tuple(str(name) for name in names),
        train=part("train"),
        test=part("test"),
        normalisation=CIFAR10_NORMALISATION,
    )
