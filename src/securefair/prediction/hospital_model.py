"""A hospital's model in memory: tables in, probabilities out, by the rules it was trained with."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NoReturn, TypeGuard

import numpy as np
from numpy.typing import NDArray

from securefair.config.columns import ImageColumn, NumericColumn
from securefair.data import Row, Table, encode_new, feature_names, samples_of
from securefair.data.arrays import array_of
from securefair.data.arrow_tables import is_frame, read_frame
from securefair.data.cells import table_of
from securefair.data.encoding import Extract, Filled
from securefair.data.filling import filled_by
from securefair.data.headings import under_agreed_names
from securefair.errors import ConfigError, DataError
from securefair.model.outcomes import StudyOutcome, agreed_outcome
from securefair.model.outcomes.interface import Frame
from securefair.model.stored import Function, inputs_of, logits_of
from securefair.prediction.pictures import patients_in, strange_images
from securefair.prediction.predicted import (
    LEAST_STRANGE,
    Prediction,
    by_patient,
    crowded,
    filled_warning,
    never_lacked,
    read_specially,
    strange_columns,
    unknown_patients,
    unknown_warning,
)
from securefair.prediction.record import ModelRecord
from securefair.prediction.scaled_twice import check_raw

Array = NDArray[np.float64]

Data = Any
"""A table's path, a query, rows, a DataFrame, or numbers (B, d) as an array or a tensor."""

_WHOLE = re.compile(r"-?\d+")

FAR_BEYOND = 2.0
"""Of a measurement whose agreed range is [-1, 1]: half the range outside."""

SLACK = 1e-9
"""Of a feature, for the last digits of a file."""


@dataclass(frozen=True, eq=False, repr=False)
class HospitalModel:
    """One hospital's trained model: a classifier of scikit-learn that is fitted.

    Its scorers, displays, `permutation_importance` and `FrozenEstimator` take it. It is not fitted
    anew, so `cross_val_score` and searches are for `TransferClassifier`. It has what scikit-learn
    asks of a classifier without deriving from its classes, which take a second to load.

    Data come as the path of a table, or of a folder of images where the model looks at nothing but
    one image a patient, as its rows (`read_rows`), as a DataFrame of pandas or polars, or as
    numbers (B, d): features that lie in [-1, 1] already where the model was trained on a table,
    otherwise samples as they were given to the training, raw where that had a `feature_range`
    (scaled ones are refused where they can be told). A table needs no label, and columns that
    are no features are not looked at. A level that the model does not know, or a missing value
    where training had none, is filled in and told (`predict_details`). Values beyond the range of a
    column's rule count as its nearer end. A row of a text table with too few or too many fields
    counts as one without any value, since nobody knows which is whose, and is told.

    Attributes:
        record: everything but the weights.
        function: features -> logits.
        extractors: files of the weights that look at images, by their SHA-256.

    Raises:
        DataError: record and weights do not belong together.
    """

    record: ModelRecord
    function: Function
    extractors: Mapping[str, Path] = field(default_factory=dict)

    _estimator_type: ClassVar = "classifier"  # scikit-learn before 1.6 looks for it

    def __post_init__(self) -> None:
        record, width = self.record, inputs_of(self.function)
        told = {len(record.low), len(record.high), len(record.usual)}
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
            f"{', '.join(self.record.classes) or self.outcome.title})"
        )

    def _repr_html_(self) -> str:
        """The same in a notebook."""
        return f"<code>{html.escape(repr(self))}</code>"

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of probabilities.

        Numbers where every class is a whole number, as pandas and polars read such a column; names
        otherwise.
        """
        names = self.record.classes
        if all(map(_WHOLE.fullmatch, names)):
            return np.array([int(name) for name in names])
        return np.array(names)

    @property
    def n_features_in_(self) -> int:
        """Numbers that one sample has."""
        return inputs_of(self.function)

    def fit(self, *_data: object) -> NoReturn:
        """Refused: what peers taught is in the model, and they are not asked again.

        Raises:
            ConfigError: always.
        """
        raise ConfigError(
            "a kept model is not fitted anew",
            where=self.record.hospital,
            hint="securefair.TransferClassifier fits; scikit-learn's FrozenEstimator takes a "
            "fitted model as it is",
        )

    def __sklearn_is_fitted__(self) -> bool:
        """It is."""
        return True

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn, from 1.6 on, wants to know of a classifier."""
        from sklearn.utils import ClassifierTags, Tags, TargetTags

        return Tags(
            estimator_type=self._estimator_type,
            target_tags=TargetTags(required=True),
            transformer_tags=None,
            regressor_tags=None,
            classifier_tags=ClassifierTags(),
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """What it was made of, by name; `deep` makes no difference."""
        del deep
        return {"record": self.record, "function": self.function, "extractors": self.extractors}

    def score(self, X: Data, y: Any, sample_weight: Any = None) -> float:
        """Share of patients whose class is the one in y, weighted by `sample_weight`.

        Raises:
            DataError: see `predict_details`.
        """
        from sklearn.metrics import accuracy_score

        self._refuse_classes()
        known = self.classes_
        strange = [one for one in np.unique(np.asarray(y)).tolist() if one not in known.tolist()]
        if strange:
            raise DataError(
                "not a class of the model",
                where="y",
                found=strange[0],
                expected=", ".join(map(str, known.tolist())),
            )
        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    def predict(self, X: Data) -> NDArray[Any]:
        """The most probable class of each patient, (B,), the first of equals.

        Where none are told apart: the expected number, the rate, or the log hazard ratio; NaN of a
        patient of whom no value is known.

        Raises:
            DataError: see `predict_details`; or a patient has no class, as no value is known.
        """
        found = self.predict_details(X)
        if not found.classes:
            return found.blanked(next(iter(found.numbers.values())))
        found.refuse_unknown()
        chosen: NDArray[Any] = self.classes_[found.probabilities.argmax(axis=1)]
        return chosen

    def predict_proba(self, X: Data) -> Array:
        """Probabilities (B, M); NaN of a patient of whom no value is known.

        Raises:
            DataError: see `predict_details`; or no classes are told apart.
        """
        self._refuse_classes()
        found = self.predict_details(X)
        return found.blanked(found.probabilities)

    def predict_details(self, data: Data, *, horizons: Sequence[float] = ()) -> Prediction:
        """Probabilities, classes, and what lies outside of what the model was trained on.

        Args:
            data: of patients.
            horizons: times until which survival is told, where the time to an event is predicted;
                none: quartiles of the times of events in training.

        Raises:
            ConfigError: there are horizons, and nothing comes at a time.
            DataError: a column is missing; names the file.
        """
        rows = self._rows(data)
        features, filled = self._encoded(data if rows is None else rows)
        said = self.said(np.clip(features, -1.0, 1.0))
        record = self.record
        within = None if record.table is None else record.table.target.range
        frame = Frame(record.classes, record.own, within, tuple(horizons))
        outside = self._outside(features, filled)
        blank = unknown_patients(filled, 0 if record.table is None else len(record.table.columns))
        return Prediction(
            classes=tuple(self.record.classes),
            probabilities=said if self.outcome.tells_classes else said[:, :0],
            said=said,
            numbers=self.outcome.told(said, frame),
            outside=outside,
            filled=by_patient([one for one in filled if not one.expected], len(features)),
            missing=by_patient([one for one in filled if one.expected], len(features)),
            warnings=(
                *read_specially(rows),
                *(filled_warning(one) for one in filled if one.tells(blank)),
                *never_lacked(filled, len(features), self._columns(), self.record.high),
                *self._beyond_rules(features),
                *strange_columns(outside),
                *unknown_warning(blank),
            ),
            unknown=blank,
            images=self._images(rows),
        )

    @property
    def outcome(self) -> StudyOutcome:
        """What it predicts."""
        return agreed_outcome(self.record.outcome, len(self.record.classes))

    def said(self, features: Array) -> Array:
        """Encoded features (B, d) -> what the outcome says of each, (B, K), calibrated."""
        predictors = logits_of(self.function, features) / self.record.calibration.temperature
        return self.outcome.said(predictors, self.record.own)

    def probabilities(self, features: Array) -> Array:
        """Encoded features (B, d) -> probabilities (B, M), calibrated.

        Raises:
            DataError: no classes are told apart.
        """
        self._refuse_classes()
        return self.said(features)

    def _refuse_classes(self) -> None:
        if not self.outcome.tells_classes:
            raise DataError(
                f"this model predicts {self.outcome.title}: it has no probabilities of classes",
                where=self.record.hospital,
                hint="predict_details tells what it says, `securefair evaluate` how good it is",
            )

    def _encoded(self, data: Data) -> tuple[Array, list[Filled]]:
        """Data as the model sees them, (B, d), but for clipping to [-1, 1]."""
        table = self.record.table
        if table is not None and _are_rows(data):
            extract = self._extract() if table.images else None
            features, stood_in = encode_new(data, table, np.array(self.record.usual), extract)
            return filled_by(self.record.own, table, features), stood_in
        return self._numbers(np.asarray(data) if is_frame(data) else data), []

    def _extract(self) -> Extract:
        from securefair.model.image_columns import ImageColumns  # torch, which tables do not need

        return ImageColumns(self.extractors)

    def _rows(self, data: Data) -> Sequence[Row] | None:
        """Data as rows of a table; None where they are numbers."""
        table = self.record.table
        if not (is_frame(data) or isinstance(data, str | Path) or _are_rows(data)):
            return None
        if table is None and is_frame(data):
            return None
        if table is None:
            raise DataError(
                "this model was trained on numbers, not on a table",
                where=self.record.hospital,
                expected=f"an array (B, {inputs_of(self.function)})",
                hint="From Python: securefair.load_model(FOLDER).predict_proba(array)",
            )
        rows: Sequence[Row] = data
        if is_frame(data):
            rows = read_frame(data, source="data frame", missing=table.every_missing)
        if isinstance(data, str | Path):
            rows = patients_in(data, table)
        return under_agreed_names(table_of(rows), [column.name for column in table.columns])

    def _images(self, rows: Sequence[Row] | None) -> tuple[str, ...]:
        table = self.record.table
        if rows is None or table is None or not table.images:
            return ()
        column = table_of(rows).columns[table.images[0].name]
        return tuple(column.texts[code] for code in column.codes.tolist())

    def _numbers(self, data: Data) -> Array:
        numbers = array_of(data, where="samples")
        table = self.record.table
        told = numbers.dtype.kind in "fiub"
        if table is not None and not (told and np.nanmax(np.abs(numbers)) <= 1):
            raise DataError(
                "these are no features in [-1, 1]" if told else "this is no table of patients",
                where="samples",
                found=f"{np.nanmax(np.abs(numbers)):g}" if told else type(data).__name__,
                expected="a DataFrame or a table with the columns of the training: "
                + ", ".join(column.name for column in table.columns),
            )
        unlabelled = np.zeros(numbers.shape[:1], dtype=np.int64)
        known = None if self.record.table is not None else self.record.feature_range
        samples = samples_of(
            (numbers, unlabelled), where="samples", feature_range=known, learns=False
        )
        result: Array = samples.features
        if known is not None:
            check_raw(self.record, numbers.astype(np.float64).reshape(result.shape), result)
        return result

    def _outside(self, features: Array, filled: Sequence[Filled]) -> tuple[tuple[str, ...], ...]:
        low, high, names = np.array(self.record.low), np.array(self.record.high), self._columns()
        beyond = (features < low - SLACK) | (features > high + SLACK)
        for one in filled:  # what stands in for a value is none
            beyond[np.ix_(one.rows, np.array(names) == one.column)] = False
        for part in self._of_images():
            beyond[:, part] = strange_images(beyond[:, part], self.record.patients)[:, None]
        return tuple(
            tuple(dict.fromkeys(names[at] for at in np.flatnonzero(row))) for row in beyond
        )

    def _beyond_rules(self, features: Array) -> list[str]:
        """Measurements far beyond the range of a rule, a line each: they count as its end."""
        if self.record.table is None:
            return []
        found, at = [], 0
        for rule in self.record.table.columns:
            if isinstance(rule, NumericColumn):
                far = int((np.abs(features[:, at]) > FAR_BEYOND).sum())
                if far and not (far >= LEAST_STRANGE and 2 * far > len(features)):
                    found.append(
                        f"column {rule.name}: {far} of {len(features)} patients lie far beyond the "
                        f"agreed range {rule.low:g} to {rule.high:g} and count as its nearer end"
                    )
                elif not rule.optional:
                    facts = self.record.low[at], self.record.usual[at], self.record.high[at]
                    found += crowded(rule.name, features[:, at], *facts)
            at += len(feature_names(rule))
        return found

    def _of_images(self) -> list[slice]:
        """Which features are of images, a slice a column."""
        found, at = [], 0
        for column in () if self.record.table is None else self.record.table.columns:
            width = len(feature_names(column))
            if isinstance(column, ImageColumn):
                found.append(slice(at, at + width))
            at += width
        return found

    def _columns(self) -> list[str]:
        """For each feature the column that it comes from."""
        table = self.record.table
        if table is None:
            return [f"feature {at}" for at in range(inputs_of(self.function))]
        return [column.name for column in table.columns for _ in feature_names(column)]


def _are_rows(data: object) -> TypeGuard[Sequence[Row]]:
    return isinstance(data, Table) or (
        isinstance(data, list | tuple) and len(data) > 0 and isinstance(data[0], Row)
    )
