"""How good a stored model is on patients whose outcome is known."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from securefair.data import Samples, encode, read_rows
from securefair.errors import DataError
from securefair.metrics import confusion
from securefair.metrics.probabilistic import probabilistic_scores
from securefair.prediction.hospital_model import HospitalModel


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """Scores of one model on labelled patients.

    Attributes:
        hospital: whose model.
        patients: how many.
        classes: names.
        scores: as `metrics.probabilistic.SCORES`; None where a score is undefined.
        accuracy_se: standard error of the accuracy over patients.
        confusion: rows the true class, columns the predicted one.
        outside: patients with a value outside the range that the model was trained on.
    """

    hospital: str
    patients: int
    classes: list[str]
    scores: dict[str, float | None]
    accuracy_se: float
    confusion: list[list[int]]
    outside: int = 0


def evaluate(model: HospitalModel, table: Path | str) -> Evaluation:
    """Score a model on a table with the label that it was trained to predict.

    Raises:
        DataError: the table cannot be used, or the model was not trained on a table.
    """
    spec = model.record.table
    if spec is None:
        raise DataError(
            "this model was trained on numbers, not on a table", where=model.record.hospital
        )
    rows = read_rows(Path(table))
    outside = sum(map(bool, model.predict_details(rows).outside))
    return msgspec.structs.replace(score(model, encode(rows, spec)), outside=outside)


def score(model: HospitalModel, samples: Samples) -> Evaluation:
    """Score a model on encoded samples.

    Raises:
        DataError: there are none.
    """
    flat = samples.features.reshape(len(samples), -1).astype(np.float64)
    probabilities = model.probabilities(flat)
    right = probabilities.argmax(axis=1) == samples.labels
    count = len(samples)
    return Evaluation(
        hospital=model.record.hospital,
        patients=count,
        classes=list(model.record.classes),
        scores=probabilistic_scores(probabilities, samples.labels),
        accuracy_se=float(right.std(ddof=1) / np.sqrt(count)) if count > 1 else 0.0,
        confusion=confusion(
            probabilities.argmax(axis=1), samples.labels, probabilities.shape[1]
        ).tolist(),
    )
