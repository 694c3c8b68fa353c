"""Hand-written digits: MNIST, and twelve clients of FEMNIST."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from securefair_lab.data.folder import DataFile, read_arrays
from securefair_lab.data.images.dataset import Images, ImageSet, Normalisation

MNIST_FILE = DataFile(
    name="mnist.npz",
    origin="MNIST of LeCun et al. 1998: arrays x_train, y_train, x_test, y_test",
)
MNIST_NORMALISATION = Normalisation(mean=(0.1307,), deviation=(0.3081,))
"""Of MNIST's training pixels, as customary."""

FEMNIST_FILE = DataFile(
    name="femnist12.npz",
    origin="digits of 12 clients of FEMNIST (LEAF, Caldas et al. 2018): arrays x, y, client",
)
FEMNIST_NORMALISATION = Normalisation(mean=(0.9637,), deviation=(0.1597,))
"""Of FEMNIST's pixels, as customary."""

_DIGITS = tuple("0123456789")


def load_mnist(folder: Path) -> ImageSet:
    """MNIST: 60,000 + 10,000 grey images of 28 x 28, ten classes, light ink on black.

    Rows are in the order of the file, which may be by class.

    Raises:
        DataError: mnist.npz is not in the folder, or is damaged.
    """
    arrays = read_arrays(MNIST_FILE.find(folder), "x_train", "y_train", "x_test", "y_test")
    x_train, y_train, x_test, y_test = arrays
    return ImageSet(
        name="mnist",
        class_names=_DIGITS,
        train=_grey(x_train, y_train),
        test=_grey(x_test, y_test),
        normalisation=MNIST_NORMALISATION,
    )


def load_femnist(folder: Path) -> ImageSet:
    """FEMNIST, twelve clients: 5,997 grey digits of 28 x 28, dark ink on white; no test part.

    The sites are the clients, "client 0" to "client 11", of 454 to 544 digits each; nearly IID,
    and a client may be a group of writers rather than one.

    Raises:
        DataError: femnist12.npz is not in the folder, or is damaged.
    """
    x, y, client = read_arrays(FEMNIST_FILE.find(folder), "x", "y", "client")
    return ImageSet(
        name="femnist",
        class_names=_DIGITS,
        train=_grey(x, y, sites=tuple(f"client {c}" for c in client)),
        test=None,
        normalisation=FEMNIST_NORMALISATION,
    )


def _grey(
    pixels: NDArray[np.uint8], labels: NDArray[np.uint8], sites: tuple[str, ...] | None = None
) -> Images:
    return Images(
        pixels=pixels[..., None],
        labels=labels.astype(np.int64),
        classes=len(_DIGITS),
        sites=sites,
    )
