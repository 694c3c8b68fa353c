"""How good a stored model is on patients whose outcome is known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.data import Samples, encode_labels, read_rows
from securefair.data.cells import Table
from securefair.data.encoding import encode
from securefair.data.groups import groups_of
from securefair.errors import DataError, SecureFairError
from securefair.model.outcomes.class_scores import count_patients, probabilistic_scores
from securefair.prediction.hospital_model import HospitalModel
from securefair.prediction.record import training_facts
from securefair.worth import confusion
from securefair.worth.interval import wilson
from securefair.worth.page import ScorePage, check_scorable, score_page


class ModelEvaluation(msgspec.Struct, frozen=True, kw_only=True):
    """Scores of one model on labelled patients.

    Attributes:
        hospital: whose model.
        patients: how many.
        classes: names.
        scores: as `metrics.probabilistic.SCORES`; None where a score is undefined.
        accuracy_se: standard error of the accuracy over patients; 0 where all are right.
        intervals: 95 % intervals of the scores that are shares of patients: accuracy, and of two
            classes sensitivity and specificity (`worth.interval`).
        confusion: rows the true class, columns the predicted one.
        outside: patients with a value outside the range that the model was trained on.
        filled: patients with a value that the model does not know, so that something stood in.
        warnings: what was filled in, by column; why there is no page.
        page: all scores with standard errors, calibration and groups; None for a model's card, and
            where patients are too few or alike.
    """

    hospital: str
    patients: int
    classes: list[str]
    scores: dict[str, float | None]
    accuracy_se: float
    confusion: list[list[int]]
    outside: int = 0
    filled: int = 0
    warnings: tuple[str, ...] = ()
    intervals: dict[str, tuple[float, float]] = {}
    page: ScorePage | None = None


def evaluate(model: HospitalModel, table: Path | str, *, by: Sequence[str] = ()) -> ModelEvaluation:
    """Score a model on a table with the label that it was trained to predict.

    Args:
        model: as it was kept.
        table: of patients whose outcome is known.
        by: columns of it whose groups are scored apart.

    Raises:
        DataError: the table cannot be used, or the model was not trained on a table.
    """
    spec = model.record.table
    if spec is None:
        raise DataError(
            "this model was trained on numbers, not on a table", where=model.record.hospital
        )
    rows = read_rows(table)
    labels = encode_labels(rows, spec)
    found = model.predict_details(rows)
    samples = Samples(np.zeros((len(labels), 1)), labels, found.probabilities.shape[1])
    page, warnings = None, tuple(found.warnings)
    if _fitted_to(model, rows):
        warnings += (
            "these are the patients that the model was fitted to: scores say how well it fits "
            "them, and nothing of other patients",
        )
    try:
        check_scorable(samples)
    except DataError as error:
        warnings += (f"no standard errors, calibration or groups: {error}",)
    else:
        page = score_page(found.probabilities, samples, groups=groups_of(rows, by))
    return msgspec.structs.replace(
        _scored(model, found.probabilities, labels),
        outside=sum(map(bool, found.outside)),
        filled=sum(map(bool, found.filled)),
        warnings=warnings,
        page=page,
    )


def _fitted_to(model: HospitalModel, rows: Table) -> bool:
    """Whether a table holds as many patients as the model was fitted to, with the same values."""
    record = model.record
    if record.table is None or len(rows) != record.patients:
        return False
    try:
        facts = training_facts(encode(rows, record.table))
    except SecureFairError:  # a value that no training had, or images
        return False
    return all(
        np.allclose(found, known, atol=1e-9, rtol=0)
        for found, known in zip(facts, (record.low, record.high, record.usual), strict=True)
    )


def score(model: HospitalModel, samples: Samples) -> ModelEvaluation:
    """Score a model on encoded samples.

    Raises:
        DataError: there are none.
    """
    flat = samples.features.reshape(len(samples), -1).astype(np.float64)
    return _scored(model, model.probabilities(flat), samples.labels)


def _scored(
    model: HospitalModel, probabilities: NDArray[np.float64], labels: NDArray[np.int64]
) -> ModelEvaluation:
    chosen, count = probabilities.argmax(axis=1), len(labels)
    right = chosen == labels
    scores = probabilistic_scores(probabilities, labels)
    return ModelEvaluation(
        hospital=model.record.hospital,
        patients=count,
        classes=list(model.record.classes),
        scores=scores,
        accuracy_se=float(right.std(ddof=1) / np.sqrt(count)) if count > 1 else 0.0,
        confusion=confusion(chosen, labels, probabilities.shape[1]).tolist(),
        intervals={
            name: wilson(share, patients)
            for name, patients in count_patients(labels, probabilities.shape[1]).items()
            if (share := scores[name]) is not None
        },
    )
