"""Predictions as a CSV file that any program reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from securefair.data import Table
from securefair.data.headings import meant
from securefair.data.sheets import csv_text, guarded
from securefair.errors import DataError
from securefair.prediction.predicted import Prediction

IMAGE, OUTSIDE, FILLED, MISSING = "image", "outside_training_range", "filled_in", "missing"


def chosen_from(prediction: Prediction, threshold: float | None) -> Sequence[str]:
    """The class of each patient: the likeliest, or the last of two from a probability on.

    Raises:
        DataError: there is a threshold, and there are not two classes.
    """
    if threshold is None:
        return prediction.chosen
    if len(prediction.classes) != 2:
        raise DataError(
            "a threshold is for two classes",
            where="--threshold",
            found=f"{len(prediction.classes)} classes",
        )
    reached = prediction.probabilities[:, 1] >= threshold
    return [prediction.classes[int(one)] for one in reached]


def columns_of(table: object, names: Sequence[str]) -> dict[str, list[str]]:
    """Columns of a table to repeat beside predictions, by name.

    Raises:
        DataError: there is no such column, or no table.
    """
    known = table.columns if isinstance(table, Table) else {}
    absent = [name for name in names if name not in known]
    if absent:
        raise DataError(
            f"column {absent[0]!r} is not in the table",
            where="--keep",
            found=", ".join(known),
            hint=meant(absent[0], known),
        )
    return {name: known[name].cells.to_pylist() for name in names}


def predictions_csv(
    prediction: Prediction,
    chosen: Sequence[str] | None = None,
    kept: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """One row a patient, in order: the image where there is one, columns that are kept,
    `probability_CLASS` for each class and `class`, or what else is predicted, and columns separated
    by "; ": those outside the range of training, those that were filled in, and those that are
    missing as in training. Of a patient of whom nothing is known, what is predicted is left empty.

    Args:
        prediction: of every patient.
        chosen: class of each; None: the likeliest.
        kept: columns of the table to repeat, by name.

    Raises:
        DataError: a column to repeat has the name of one of these.
    """
    kept = kept or {}
    own_names = [
        *prediction.numbers,
        *(["class"] if prediction.classes else []),
        OUTSIDE,
        FILLED,
        MISSING,
    ]
    before = [IMAGE] if prediction.images else []
    if twice := [name for name in kept if name in (*before, *own_names)]:
        raise DataError(
            "predictions have a column of this name",
            where="--keep",
            found=twice[0],
            hint="Rename it in the table of patients",
        )
    rows = [[*before, *kept, *own_names]]
    images = [[name] for name in prediction.images] or [[]] * len(prediction.outside)
    repeated = list(zip(*kept.values(), strict=True)) or [()] * len(prediction.outside)
    chosen = prediction.chosen if chosen is None else chosen
    of_class = [[one] for one in chosen] or [[]] * len(prediction.outside)
    for at, image, own, row, named, *marks in zip(
        range(len(prediction.outside)),
        images,
        repeated,
        zip(*(one.tolist() for one in prediction.numbers.values()), strict=True),
        of_class,
        prediction.outside,
        prediction.filled,
        prediction.missing,
        strict=True,
    ):
        said = [*(f"{value:.6f}" for value in row), *named]
        if at in prediction.unknown:
            said = [""] * len(said)
        listed = ("; ".join(map(guarded, names)) for names in marks)
        rows.append([*image, *own, *said, *listed])
    return csv_text(rows)
