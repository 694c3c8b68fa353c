"""What a stored model says of itself besides its weights: all that a later prediction needs."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from securefair.config.base import Section
from securefair.data import Samples, TableSpec
from securefair.errors import DataError

FORMAT = 3
"""Of records. Another one is refused: a digest guards this number, too."""


class Calibration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How logits become probabilities.

    Attributes:
        method: "none" takes them as they are, "temperature" divides them by one number first.
        temperature: that number, above 0; fitted on predictions for patients whom the model had
            not seen (out of fold), never on test patients.
        patients: that it was fitted on.
    """

    method: Literal["none", "temperature"] = "none"
    temperature: float = 1.0
    patients: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.temperature < math.inf:
            raise DataError(
                "a temperature must be above 0", where="calibration", found=self.temperature
            )


class ModelRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """model.json: one hospital's model without its weights.

    Attributes:
        format: of this record.
        hospital, run, algorithm: whose model it is, and of what.
        seed: of the run's seeds, the one that the model is of.
        classes: names, in the order of probabilities.
        table: the rules that turn a table into features; None where samples came as numbers.
        feature_range: public range of such numbers, which becomes [-1, 1].
        low, high: smallest and largest value of each feature among the hospital's own training
            patients, which tells of them: the file is for the hospital alone.
        usual: mean of each feature among them: what stands in for a value that a new patient lacks
            and training never did.
        patients: that it was trained on.
        calibration: of probabilities.
        weights: SHA-256 of model.safetensors.
        digest: SHA-256 of all that the record says but this, as `folder` writes it.
        versions: of what computed it.
        outcome: what is predicted (`model.outcomes`); "": one of the classes.
        own: what the hospital adds from its own training patients, such as a baseline, which tells
            of them.
    """

    format: int = FORMAT
    hospital: str
    run: str
    algorithm: str
    seed: int
    classes: list[str]
    table: TableSpec | None
    feature_range: tuple[float, float] | None
    low: list[float]
    high: list[float]
    usual: list[float]
    patients: int
    calibration: Calibration = Calibration()
    weights: str = ""
    digest: str = ""
    versions: dict[str, str] = {}
    outcome: str = ""
    own: dict[str, list[float]] = {}


class TrainingFacts(NamedTuple):
    """What a record says of each feature of one's own training samples; see `ModelRecord`."""

    low: list[float]
    high: list[float]
    usual: list[float]


def training_facts(train: Samples) -> TrainingFacts:
    """Smallest, largest and mean value of each feature."""
    flat = train.features.reshape(len(train), -1)
    usual = flat.mean(axis=0, dtype=np.float64)
    return TrainingFacts(flat.min(axis=0).tolist(), flat.max(axis=0).tolist(), usual.tolist())


def plain_section(rules: Section) -> object:
    """The rules of a table as a record has them: an `enc_hook` of msgspec."""
    return rules.model_dump(mode="json", exclude_none=True)


def read_section(kind: type[Section], value: object) -> Section:
    """The same back: a `dec_hook` of msgspec.

    Raises:
        ValueError: they are no such rules.
    """
    return kind.model_validate_json(msgspec.json.encode(value))
