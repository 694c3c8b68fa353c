"""CIFAR-10 and CIFAR-100: photographs of ten and of a hundred kinds of things."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from securefair.errors import DataError
from securefair_lab.data.folder import DataFile, read_arrays
from securefair_lab.data.images.dataset import Images, ImageSet, Normalisation
from securefair_lab.data.images.decoding import decode_images

CIFAR10_FILE = DataFile(
    name="cifar10.npz",
    origin="JPEG copies of CIFAR-10 of Krizhevsky 2009: arrays classes, and for train and test"
    " *_jpeg, *_offsets, *_y",
)
CIFAR10_NORMALISATION = Normalisation(
    mean=(0.4914, 0.4822, 0.4465), deviation=(0.2470, 0.2435, 0.2616)
)
"""Of CIFAR-10's training pixels, as customary."""

CIFAR100_FILES = DataFile(
    name="cifar-100-binary",
    origin="the unpacked binary version of CIFAR-100 of Krizhevsky 2009: train.bin, test.bin and"
    " fine_label_names.txt",
)
CIFAR100_NORMALISATION = Normalisation(
    mean=(0.5071, 0.4865, 0.4409), deviation=(0.2673, 0.2564, 0.2762)
)
"""Of CIFAR-100's training pixels, as customary."""

SIDE = 32
_RECORD = 2 + 3 * SIDE * SIDE  # coarse label, fine label, then the red, green and blue planes


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


def load_cifar100(folder: Path) -> ImageSet:
    """CIFAR-100: 50,000 + 10,000 colour images of 32 x 32, a hundred classes (the fine labels).

    Read from the binary version, whose records need no unpickling.

    Raises:
        DataError: the folder `cifar-100-binary` is not there, or its files are damaged.
    """
    place = CIFAR100_FILES.find(folder)
    names = tuple(_content(place / "fine_label_names.txt").decode().split())

    def part(which: str) -> Images:
        path = place / f"{which}.bin"
        content = np.frombuffer(_content(path), dtype=np.uint8)
        if not len(content) or len(content) % _RECORD:
            raise DataError(
                "not whole records",
                where=str(path),
                found=f"{len(content)} bytes",
                expected=f"a multiple of {_RECORD}",
            )
        records = content.reshape(-1, _RECORD)
        planes = records[:, 2:].reshape(-1, 3, SIDE, SIDE)
        return Images(
            pixels=np.ascontiguousarray(planes.transpose(0, 2, 3, 1)),
            labels=records[:, 1].astype(np.int64),
            classes=len(names),
        )

    return ImageSet(
        name="cifar100",
        class_names=names,
        train=part("train"),
        test=part("test"),
        normalisation=CIFAR100_NORMALISATION,
    )


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError("cannot read the file", where=str(path), found=error.strerror) from error
