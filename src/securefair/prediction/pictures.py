"""A folder of images as a table, and images that are unlike those of the training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from securefair.data import Table, TableSpec
from securefair.data.cells import column_of
from securefair.data.images.files import image_files
from securefair.errors import DataError

RARE = 0.05
"""Share of images like those of the training that may be told from them by mistake."""


def folder_table(folder: Path, spec: TableSpec) -> Table:
    """The images of a folder as a table, by name; what else lies there is left out.

    Raises:
        DataError: the model looks at more than one image a patient, or there is none.
    """
    if len(spec.columns) != 1 or not spec.images:
        raise DataError(
            "the model needs more of a patient than an image",
            where=str(folder),
            found="a folder",
            expected=f"a table with {', '.join(column.name for column in spec.columns)}",
        )
    names = [path.name for path in image_files(folder)[0]]
    return Table(
        source=str(folder),
        columns={spec.images[0].name: column_of(names)},
        line_of=lambda at: at + 1,
        unit="image",
        folder=folder,
    )


def strange_images(beyond: NDArray[np.bool_], patients: int) -> NDArray[np.bool_]:
    """Which images, (B,), lie outside of so many ranges of the training that it is no chance.

    Of n training images and one more like them, each is as likely to be the largest: the new one
    lies beyond their range in 2 d / (n + 1) features on average. By Markov's inequality 1 / `RARE`
    times as many occur with probability `RARE` at most, however features depend on each other.

    Args:
        beyond: (B, d), whether a feature lies outside of the range of the training.
        patients: n, training images.
    """
    expected = 2 * beyond.shape[1] / (patients + 1)
    found: NDArray[np.bool_] = beyond.sum(axis=1) >= expected / RARE
    return found
