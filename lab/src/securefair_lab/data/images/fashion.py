"""Fashion-MNIST: pieces of clothing, in the format of the original MNIST."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from securefair.errors import DataError
from securefair_lab.data.folder import DataFile
from securefair_lab.data.images.dataset import Images, ImageSet, Normalisation

FASHION_FILES = DataFile(
    name="fashion-mnist",
    origin="the four files *-ubyte.gz of Fashion-MNIST (Xiao et al. 2017, MIT licence); Debian"
    " installs them in /usr/share/datasets with dataset-fashion-mnist",
)
FASHION_NORMALISATION = Normalisation(mean=(0.2860,), deviation=(0.3530,))
"""Of Fashion-MNIST's training pixels, as customary."""

DEBIAN_FOLDER = Path("/usr/share/datasets")

CLOTHES = (
    *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
    *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
)

_IMAGES_MAGIC, _LABELS_MAGIC = 2051, 2049


def load_fashion_mnist(folder: Path) -> ImageSet:
    """Fashion-MNIST: 60,000 + 10,000 grey images of 28 x 28, ten classes, light on black.

    Read from the folder `fashion-mnist` below `folder`, or else where Debian's package puts it.

    Raises:
        DataError: the files are in neither place, or are damaged.
    """
    own = folder / FASHION_FILES.name
    debian = DEBIAN_FOLDER / FASHION_FILES.name
    place = debian if debian.is_dir() and not own.is_dir() else FASHION_FILES.find(folder)
    return ImageSet(
        name="fashion-mnist",
        class_names=CLOTHES,
        train=_part(place, "train"),
        test=_part(place, "t10k"),
        normalisation=FASHION_NORMALISATION,
    )


def _part(place: Path, part: str) -> Images:
    labels = _read(place / f"{part}-labels-idx1-ubyte.gz", _LABELS_MAGIC)
    pixels = _read(place / f"{part}-images-idx3-ubyte.gz", _IMAGES_MAGIC)
    return Images(pixels=pixels[..., None], labels=labels.astype(np.int64), classes=len(CLOTHES))


def _read(path: Path, magic: int) -> NDArray[np.uint8]:
    """An array of bytes in IDX format: magic, sizes (big-endian 32 bits each), values."""
    try:
        content = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise DataError("cannot read the file", where=str(path), found=str(error)) from error
    dimensions = magic % 256
    head = 4 * (1 + dimensions)
    found, *sizes = np.frombuffer(content[:head].ljust(head, b"\0"), dtype=">u4").tolist()
    values = np.frombuffer(content[head:], dtype=np.uint8)
    if found != magic or len(values) != math.prod(sizes):
        raise DataError(
            "not an IDX file",
            where=str(path),
            found=f"{len(content)} bytes",
            expected=f"magic number {magic}, {dimensions} sizes and as many bytes as they say",
        )
    return values.reshape(sizes)
