"""How good a stored model is on patients whose outcome is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.data import Samples, read_rows
from securefair.data.cells import Table
from securefair.data.encoding import encode, encode_known
from securefair.data.filling import filled, relations_of
from securefair.data.groups import groups_of, patients_of
from securefair.data.headings import under_agreed_names
from securefair.data.known import FEWEST_EVENTS
from securefair.data.quality import repeated_patients, repeated_rows
from securefair.errors import DataError, SecureFairError
from securefair.model.outcomes.pictures import Shown
from securefair.prediction.hospital_model import HospitalModel
from securefair.prediction.record import training_facts
from securefair.records import Picture
from securefair.worth.interval import wilson
from securefair.worth.page import ScorePage, check_scorable, score_page

OFF, FEWEST = 4.0, 20
"""How many times as many events as a model expects are worth a word, from how many on."""


class ModelEvaluation(msgspec.Struct, frozen=True, kw_only=True):
    """Scores of one model on labelled patients.

    Attributes:
        hospital: whose model.
        patients: how many.
        classes: names.
        scores: those of the outcome; None where a score is undefined.
        accuracy_se: standard error of the accuracy over patients; 0 where all are right.
        intervals: 95 % intervals of the scores that are shares of patients: accuracy, and of two
            classes sensitivity and specificity (`worth.interval`).
        confusion: rows the true class, columns the predicted one.
        outside: patients with a value outside the range that the model was trained on.
        filled: patients with a value that the model does not know, so that something stood in.
        warnings: what was filled in, by column; why there is no page.
        outcome: what is predicted, a name of `model.outcomes`; "" in records of earlier versions.
        pictures: that the outcome needs, of a kept model on own test patients; else none.
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
    outcome: str = ""
    pictures: list[Picture] = []


def evaluate(
    model: HospitalModel,
    table: Path | str,
    *,
    by: Sequence[str] = (),
    patient_column: str | None = None,
) -> ModelEvaluation:
    """Score a model on a table with the label that it was trained to predict.

    Args:
        model: as it was kept.
        table: of patients whose outcome is known.
        by: columns of it whose groups are scored apart.
        patient_column: which names the patient of each row, where one has several: errors and
            intervals count patients then. Scores are of rows.

    Raises:
        DataError: the table cannot be used, or the model was not trained on a table.
    """
    spec = model.record.table
    if spec is None:
        raise DataError(
            "this model was trained on numbers, not on a table",
            where=model.record.hospital,
            hint="From Python: securefair.load_model(FOLDER).predict_proba(array), and score that",
        )
    rows = under_agreed_names(
        read_rows(table, missing=spec.every_missing),
        [*(column.name for column in spec.columns), *spec.known],
    )
    known = encode_known(rows, spec, learns=False)
    found = model.predict_details(rows)
    samples = Samples(
        np.zeros((len(known.labels), 1)),
        known.labels,
        known.classes,
        outcome=spec.target.outcome,
        values=known.values,
        patients=None if patient_column is None else patients_of(rows, patient_column),
    )
    said = found.said
    page, warnings = None, tuple(found.warnings)
    if _fitted_to(model, rows):
        warnings += (
            "these are the patients that the model was fitted to: scores say how well it fits "
            "them, and nothing of other patients",
        )
    scored = _scored(model, said, samples)
    warnings += _upside_down(scored.scores.get("auc"), samples)
    warnings += _another_unit(model, said, samples)
    warnings += _few_events(samples)
    if patient_column is None:
        warnings += _several_rows(rows)
    try:
        check_scorable(samples)
    except DataError as error:
        warnings += (f"no standard errors, calibration or groups: {error}",)
    else:
        own = model.record.own
        page = score_page(said, samples, groups=groups_of(rows, by), own=own)
    return msgspec.structs.replace(
        scored,
        outside=sum(map(bool, found.outside)),
        filled=sum(map(bool, found.filled)),
        warnings=warnings,
        page=page,
    )


def _upside_down(area: float | None, samples: Samples) -> tuple[str, ...]:
    """That a model of two classes is worse than chance, by more than two standard errors of chance
    (Mann and Whitney's): then the classes of the table are probably coded the other way round."""
    ill = int((samples.labels == 1).sum())
    pairs = ill * (len(samples) - ill)
    if area is None or samples.classes != 2 or not pairs:
        return ()
    if area >= 0.5 - 2 * np.sqrt((len(samples) + 1) / (12 * pairs)):
        return ()
    return (
        f"the model is worse than chance on these patients (AUC {area:.2f}): are the classes coded "
        "as in training, and not the other way round?",
    )


def _another_unit(
    model: HospitalModel, said: NDArray[np.float64], samples: Samples
) -> tuple[str, ...]:
    """That times lie beyond those of training, or many times as many events came as a model
    expects, or as few: in another unit every patient would be foretold wrongly, whatever the
    model."""
    own = model.record.own
    until, told = own.get("until"), model.outcome.expected_and_seen(said, own, samples)
    if until and samples.values is not None:
        middle = float(np.median(samples.values[:, 0]))
        if middle > max(until):
            return (
                f"half of the times lie above {max(until):g}, the latest of training: is the unit "
                "the same?",
            )
    if told is not None and max(told) >= FEWEST and max(told) > OFF * min(told):
        expected, seen = told
        return (
            f"the model expects {expected:.0f} events where {seen:.0f} came: are times, or "
            "exposures, in the unit of training, and events coded as there?",
        )
    return ()


def _few_events(samples: Samples) -> tuple[str, ...]:
    few = samples.few_events
    if few is None:
        return ()
    return (
        f"{few} event{'' if few == 1 else 's'} among these patients: scores of fewer than "
        f"{FEWEST_EVENTS} have no standard error, and say little; take more patients, or follow "
        "them for longer",
    )


def _several_rows(rows: Table) -> tuple[str, ...]:
    """Rows of one patient that would be taken for patients."""
    name = "the column that names patients (patient_column, --patient-column)"
    if (named := repeated_patients(rows)) is not None:
        column, again = named
        said = "rows are" if again.rows > 1 else "row is"
        return (
            f"column {column} names patients, and {again.rows} {said} of a patient who has one "
            f"above: standard errors are too small; name {name}",
        )
    if (alike := repeated_rows(rows)) is not None:
        said = "rows repeat" if alike.rows > 1 else "row repeats"
        return (
            f"{alike.rows} {said} an earlier row but for identifiers: standard errors are too "
            f"small; keep one row a patient, or name {name}",
        )
    return ()


def _fitted_to(model: HospitalModel, rows: Table) -> bool:
    """Whether a table holds as many patients as the model was fitted to, with the same values."""
    record = model.record
    if record.table is None or len(rows) != record.patients:
        return False
    try:
        samples = encode(rows, record.table)
        if record.table.fill:
            relations = relations_of(record.table, samples.features)
            likely = filled(record.table, samples.features, relations)
            samples = replace(samples, features=likely)
        facts = training_facts(samples)
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
    return _scored(model, model.said(flat), samples)


def pictures(model: HospitalModel, samples: Samples) -> list[Picture]:
    """What the outcome draws of a model on encoded samples; none for classes."""
    said = model.said(samples.features.reshape(len(samples), -1).astype(np.float64))
    return model.outcome.pictures([Shown(said, model.record.own, samples)])


def _scored(model: HospitalModel, said: NDArray[np.float64], samples: Samples) -> ModelEvaluation:
    outcome = model.outcome
    scores, confusion = outcome.point_scores(said, samples), outcome.confusion(said, samples)
    count, error = samples.people, 0.0
    if outcome.tells_classes and count > 1:
        right = said.argmax(axis=1) == samples.labels
        _, at = np.unique(samples.who, return_inverse=True)
        each = np.bincount(at, weights=right - right.mean())  # rows of a patient go together
        error = float(np.sqrt((each**2).sum() * count / (count - 1)) / len(samples))
    return ModelEvaluation(
        hospital=model.record.hospital,
        patients=count,
        classes=list(model.record.classes),
        scores=scores,
        accuracy_se=error,
        confusion=[] if confusion is None else confusion.tolist(),
        intervals={
            name: wilson(share, patients)
            for name, patients in outcome.shares(samples).items()
            if (share := scores[name]) is not None
        },
        outcome=outcome.name,
    )
