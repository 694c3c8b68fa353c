"""A hospital's model in memory: tables in, probabilities out, by the rules it was trained with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from securefair.data import Row, encode_features, feature_names, read_rows, samples_of
from securefair.data.arrow_tables import is_frame, read_frame
from securefair.errors import DataError
from securefair.model.stored import Function, inputs_of, logits_of, probabilities_of
from securefair.prediction.record import ModelRecord

Array = NDArray[np.float64]

SLACK = 1e-9
"""Of a feature, for the last digits of a file."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Prediction:
    """What a model says of some patients, in the order in which they came.

    Attributes:
        classes: their names.
        probabilities: (B, M); a row sums to 1.
        outside: for each patient the columns whose value lies outside the range that the model was
            trained on; empty for most.
    """

    classes: tuple[str, ...]
    probabilities: Array
    outside: tuple[tuple[str, ...], ...]

    @property
    def chosen(self) -> list[str]:
        """The most probable class of each patient, the first of equals."""
        return [self.classes[at] for at in self.probabilities.argmax(axis=1)]


@dataclass(frozen=True, eq=False, repr=False)
class HospitalModel:
    """One hospital's trained model, with `predict` and `predict_proba` as scikit-learn has them.

    Data come as the path of a table, as its rows (`read_rows`), as a DataFrame of pandas or polars,
    or as numbers (B, d): features that lie in [-1, 1] already where the model was trained on a
    table, samples as they were given to the training otherwise. A table needs no label, and columns
    that are no features are not looked at.

    Attributes:
        record: everything but the weights.
        function: features -> logits.

    Raises:
        DataError: record and weights do not belong together.
    """

    record: ModelRecord
    function: Function

    def __post_init__(self) -> None:
        record, width = self.record, inputs_of(self.function)
        told = {len(record.low), len(record.high)}
        if record.table is not None:
            told.add(len(record.table.features))
        if told != {width}:
            raise DataError(
                "the record of the model is of other features than its weights",
                where=record.hospital,
                found=sorted(told),
                expected=width,
            )

    def __repr__(self) -> str:
        """Whose it is, and its size; weights never print."""
        return (
            f"HospitalModel({self.record.hospital}: {inputs_of(self.function)} features -> "
            f"{', '.join(self.record.classes)})"
        )

    @property
    def classes_(self) -> NDArray[np.str_]:
        """Names of the classes, in the order of probabilities."""
        return np.array(self.record.classes)

    def predict(self, data: Path | str | Sequence[Row] | Array) -> NDArray[np.str_]:
        """The most probable class of each patient, (B,).

        Raises:
            DataError: see `predict_details`.
        """
        return np.array(self.predict_details(data).chosen)

    def predict_proba(self, data: Path | str | Sequence[Row] | Array) -> Array:
        """Probabilities (B, M).

        Raises:
            DataError: see `predict_details`.
        """
        return self.predict_details(data).probabilities

    def predict_details(self, data: Path | str | Sequence[Row] | Array) -> Prediction:
        """Probabilities, classes, and what lies outside the range that the model was trained on.

        Raises:
            DataError: a column is missing, a level is unknown, a value is missing where none was in
                training; names file, line and column.
        """
        features = self.features(data)
        return Prediction(
            classes=tuple(self.record.classes),
            probabilities=self.probabilities(np.clip(features, -1.0, 1.0)),
            outside=self._outside(features),
        )

    def probabilities(self, features: Array) -> Array:
        """Encoded features (B, d) -> probabilities (B, M), calibrated."""
        logits = logits_of(self.function, features)
        return probabilities_of(logits / self.record.calibration.temperature)

    def features(self, data: Path | str | Sequence[Row] | Array) -> Array:
        """Data as the model sees them, (B, d), but for clipping to [-1, 1].

        Raises:
            DataError: see `predict_details`.
        """
        table = self.record.table
        if isinstance(data, np.ndarray):
            return self._numbers(data)
        if table is None:
            raise DataError(
                "this model was trained on numbers, not on a table",
                where=self.record.hospital,
                expected=f"an array (B, {inputs_of(self.function)})",
            )
        if is_frame(data):
            data = read_frame(data, source="data frame")
        rows = read_rows(Path(data)) if isinstance(data, str | Path) else data
        encoded: Array = encode_features(rows, table, clipped=False)
        return encoded

    def _numbers(self, data: Array) -> Array:
        unlabelled = np.zeros(len(data), dtype=np.int64)
        known = None if self.record.table is not None else self.record.feature_range
        samples = samples_of((data, unlabelled), where="samples", feature_range=known)
        result: Array = samples.features
        return result

    def _outside(self, features: Array) -> tuple[tuple[str, ...], ...]:
        low, high = np.array(self.record.low), np.array(self.record.high)
        beyond = (features < low - SLACK) | (features > high + SLACK)
        names = self._columns()
        return tuple(
            tuple(dict.fromkeys(names[at] for at in np.flatnonzero(row))) for row in beyond
        )

    def _columns(self) -> list[str]:
        """For each feature the column that it comes from."""
        table = self.record.table
        if table is None:
            return [f"feature {at}" for at in range(inputs_of(self.function))]
        return [column.name for column in table.columns for _ in feature_names(column)]
