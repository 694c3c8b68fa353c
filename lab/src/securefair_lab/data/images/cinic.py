"""CINIC-10: CIFAR-10's classes, enlarged with images of ImageNet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from securefair.errors import DataError
from securefair_lab.data.folder import DataFile
from securefair_lab.data.images.dataset import Images, ImageSet, Normalisation
from securefair_lab.data.images.decoding import decode_images

CINIC10_FILES = DataFile(
    name="CINIC-10",
    origin="the unpacked CINIC-10 of Darlow et al. 2018: train, valid and test, each with a folder"
    " of PNG files for every class",
)
CINIC10_NORMALISATION = Normalisation(
    mean=(0.4789, 0.4723, 0.4305), deviation=(0.2421, 0.2383, 0.2587)
)
"""As published with the data set."""


def load_cinic10(folder: Path, *, cache: Path | None = None) -> ImageSet:
    """CINIC-10: 180,000 + 90,000 colour images of 32 x 32, ten classes.

    The published training and validation parts are joined, as DPFL does (App. H.5.1).

    Args:
        folder: where the folder CINIC-10 is.
        cache: folder to keep the decoded pixels in (830 MB); None decodes every time (minutes).

    Raises:
        DataError: the folder is not there, or lacks a part.
    """
    place = CINIC10_FILES.find(folder)
    names = tuple(sorted(path.name for path in place.glob("train/*") if path.is_dir()))
    if not names:
        raise DataError("no folders of classes", where=str(place / "train"))

    def part(*parts: str) -> Images:
        files = [
            (path, label)
            for which in parts
            for label, name in enumerate(names)
            for path in sorted((place / which / name).glob("*.png"))
        ]
        if not files:
            raise DataError("no PNG files", where=", ".join(str(place / which) for which in parts))
        encoded, offsets = _joined([path for path, _ in files])
        return Images(
            pixels=decode_images(encoded, offsets, name=f"cinic10-{parts[-1]}", cache=cache),
            labels=np.array([label for _, label in files], dtype=np.int64),
            classes=len(names),
        )

    return ImageSet(
        name="cinic10",
        class_names=names,
        train=part("train", "valid"),
        test=part("test"),
        normalisation=CINIC10_NORMALISATION,
    )


def _joined(paths: list[Path]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    contents = [path.read_bytes() for path in paths]
    offsets = np.cumsum([0, *map(len, contents)], dtype=np.int64)
    return np.frombuffer(b"".join(contents), dtype=np.uint8), offsets
