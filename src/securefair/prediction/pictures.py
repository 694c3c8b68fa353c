"""A folder of images as a table, and images that are unlike those of the training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from securefair.data import Table, TableSpec, read_rows
from securefair.data.cells import Note, column_of
from securefair.data.databases import is_query
from securefair.data.images.files import ENDINGS, check_image, image_files
from securefair.errors import DataError

SHOWN = 3
"""Names that a note has."""

RARE = 0.05
"""Share of images like those of the training that may be told from them by mistake."""


def patients_in(place: Path | str, spec: TableSpec) -> Table:
    """The patients of a file, of a query, or of a folder of images.

    Raises:
        DataError: it cannot be read, or is no table; see `folder_table`.
    """
    if not is_query(str(place)) and Path(place).is_dir():
        return folder_table(Path(place), spec)
    if spec.images and Path(place).suffix.lower() in ENDINGS:
        raise DataError(
            "one image is no table of patients",
            where=str(place),
            expected="a folder of images"
            if len(spec.columns) == 1
            else f"a table with {', '.join(column.name for column in spec.columns)}",
        )
    return read_rows(place, torn=True, missing=spec.every_missing)


def folder_table(folder: Path, spec: TableSpec) -> Table:
    """The images of a folder as a table, by name; what else lies there is left out, with a note.

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
    found, others = image_files(folder)
    errors: dict[str, DataError] = {}
    for path in found:
        try:
            check_image(path, where=str(folder), whole=True)
        except DataError as error:
            errors[path.name] = error
    names = [path.name for path in found if path.name not in errors]
    if not names:
        raise next(iter(errors.values()))
    damaged = [f"{name} ({error.problem})" for name, error in errors.items()]
    return Table(
        source=str(folder),
        columns={spec.images[0].name: column_of(names)},
        line_of=lambda at: at + 1,
        unit="image",
        notes=(*_left_out(folder, ", as no image", others), *_left_out(folder, "", damaged)),
        folder=folder,
    )


def _left_out(folder: Path, why: str, names: Sequence[str]) -> tuple[Note, ...]:
    """A note of what in a folder is no patient, where there is anything."""
    if not names:
        return ()
    shown = ", ".join(names[:SHOWN])
    more = f" and {len(names) - SHOWN} others" if len(names) > SHOWN else ""
    return (
        Note(
            column=None,
            line=None,
            kind="left out",
            message=f"{folder}: left out{why}: {shown}{more}",
            remedy="Predictions are of the others",
        ),
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
