"""A table and its rules -> features and labels.

In training every value must be what the rules say. A new patient's may not be: `encode_new` answers
for it with what is usual, and says where.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from securefair.config.columns import (
    BinaryColumn,
    CategoricalColumn,
    ColumnRule,
    ImageColumn,
    NumericColumn,
    code,
)
from securefair.data.cells import Row, Table, release_memory, table_of
from securefair.data.dataset import FeatureArray, Samples
from securefair.data.headings import meant
from securefair.data.known import Known, known_of
from securefair.data.shape import LARGEST, SENTINELS
from securefair.data.table import TableSpec, feature_names
from securefair.errors import ConfigError, DataError

LEAST_FOR_RANGES = 5
"""Different values from which a range that holds none of them is wrong."""

Extract = Callable[[ImageColumn, Sequence[tuple[Path, str]]], FeatureArray]
"""Files of images, each with its place in a table for messages, -> features (K, d) by a rule."""


@dataclass(frozen=True, eq=False)
class Filled:
    """Values of one column that the rules do not know or that are missing, and what stood in.

    Attributes:
        column: of the table.
        place: of the first, for messages.
        texts: the different ones as they stand there; none where values are missing.
        rows: of the patients, counted from 0.
        known: what the rules know instead: levels, or nothing for a measurement.
        as_missing: whether they count as missing, which training has seen; otherwise the usual
            value stood in.
    """

    column: str
    place: str
    texts: tuple[str, ...]
    rows: NDArray[np.int64]
    known: tuple[str, ...]
    as_missing: bool

    @property
    def expected(self) -> bool:
        """Whether values are missing as some were in training: the model knows what it tells."""
        return self.as_missing and not self.texts

    def tells(self, unknown: frozenset[int]) -> bool:
        """Whether it is worth a warning: unexpected, and not only of patients without any value."""
        return not (self.expected or unknown.issuperset(self.rows.tolist()))


def encode(rows: Sequence[Row], spec: TableSpec, extract: Extract | None = None) -> Samples:
    """Features (B, d) in [-1, 1] and labels (B,) of `rows`, by the agreed rules only.

    Args:
        rows: at least one.
        spec: the agreed rules.
        extract: looks at images, where a column names some.

    Raises:
        ConfigError: there are images, and nothing that looks at them.
        DataError: no rows, a column is not there, or a value is not what the specification says;
            names file, line and column.
    """
    table = table_of(rows)
    _check_columns(table, [*(column.name for column in spec.columns), *spec.known])
    known = encode_known(table, spec)
    features = encode_features(table, spec, extract)
    return Samples(
        features,
        known.labels,
        classes=known.classes,
        outcome=spec.target.outcome,
        values=known.values,
    )


def encode_known(rows: Sequence[Row], spec: TableSpec, *, learns: bool = True) -> Known:
    """What is known of the patients of `rows`: classes, or what the outcome makes of numbers.

    Args:
        rows: of a table.
        spec: its rules.
        learns: as of `known.known_of`.

    Raises:
        DataError: there is no such column, a value is missing or none that the outcome knows; names
            file, line and column.
    """
    if not spec.target.outcome:
        return Known(encode_labels(rows, spec), len(spec.target.groups))
    table = table_of(rows)
    _check_columns(table, spec.known)
    return known_of(table, spec.target, spec.missing, learns=learns)


def encode_features(
    rows: Sequence[Row], spec: TableSpec, extract: Extract | None = None
) -> FeatureArray:
    """Features (B, d) in [-1, 1] of `rows`, at least one, which need no label.

    Raises:
        DataError: as `encode`.
    """
    features, _ = _encoded(rows, spec, None, extract)
    return np.clip(features, -1.0, 1.0, out=features)


def encode_new(
    rows: Sequence[Row],
    spec: TableSpec,
    usual: NDArray[np.float64],
    extract: Extract | None = None,
) -> tuple[FeatureArray, list[Filled]]:
    """Features (B, d) of new patients, not clipped: a measurement beyond its range shows.

    A level that the rules do not know, what is no number, a code such as 999 far beyond a range, or
    a missing value where training had none, does not stop the rest of the table: it counts as
    missing where that was trained, otherwise the usual value stands in.

    Args:
        rows: at least one; they need no label.
        spec: the agreed rules.
        usual: (d,), what stands in, such as the mean of the training patients.
        extract: looks at images, where a column names some.

    Raises:
        ConfigError: there are images, and nothing that looks at them.
        DataError: no rows, or a column is not there; names the file.
    """
    return _encoded(rows, spec, usual, extract)


def encode_labels(rows: Sequence[Row], spec: TableSpec) -> NDArray[np.int64]:
    """Labels (B,) of `rows`.

    Raises:
        DataError: there is no such column, or a code is of no class; names file, line and column.
    """
    table = table_of(rows)
    name, joined = spec.target.name, spec.spellings == "joined"
    _check_columns(table, [name])
    class_of = {
        code(c, joined=joined): i for i, group in enumerate(spec.target.groups) for c in group
    }
    column = table.columns[name]
    found = np.array([class_of.get(code(text, joined=joined), -1) for text in column.texts])
    if (found < 0).any():
        row = column.first(found < 0)
        raise DataError(
            "not a known class",
            where=table.place(row, name),
            found=column.texts[int(column.codes[row])],
            expected=", ".join(class_of),
            hint="Leave the row out, or add the code to a class",
        )
    result: NDArray[np.int64] = found[column.codes].astype(np.int64)
    return result


def _encoded(
    rows: Sequence[Row],
    spec: TableSpec,
    usual: NDArray[np.float64] | None,
    extract: Extract | None,
) -> tuple[FeatureArray, list[Filled]]:
    table = table_of(rows)
    _check_columns(table, [column.name for column in spec.columns])
    features = np.empty((len(table), len(spec.features)))
    filled: list[Filled] = []
    at = 0
    for rule in spec.columns:
        part = slice(at, at + len(feature_names(rule)))
        own = None if usual is None else usual[part]
        values, stood_in = _by_text(table, rule, spec, own, extract)
        features[:, part] = values[table.columns[rule.name].codes]
        filled += stood_in
        at = part.stop
    release_memory()
    return features, filled


def _check_columns(table: Table, names: Sequence[str]) -> None:
    if not len(table):
        raise DataError("the table has no rows")
    absent = [name for name in names if name not in table.columns]
    if absent:
        raise DataError(
            f"columns are not in the table: {', '.join(absent)}"
            if len(absent) > 1
            else f"column {absent[0]!r} is not in the table",
            where=table.source,
            found=", ".join(table.columns),
            hint=meant(absent[0], table.columns),
        )


def _by_text(
    table: Table,
    rule: ColumnRule,
    spec: TableSpec,
    usual: NDArray[np.float64] | None,
    extract: Extract | None,
) -> tuple[FeatureArray, list[Filled]]:
    """The features of each different text of a column, (K, width): each is looked at once."""
    column = table.columns[rule.name]
    codes = {*spec.missing, *rule.missing}
    absent = (
        column.among(codes)  # -999 is -999.0
        if isinstance(rule, NumericColumn)
        else np.array([text in codes for text in column.texts], dtype=bool)
    )
    unknown = np.zeros(len(absent), dtype=bool)
    match rule:
        case NumericColumn():
            if usual is not None:
                unknown = _no_measurements(column.measured, rule) & ~absent
            values = _measured(table, rule, absent | unknown, training=usual is None)
        case ImageColumn():
            values = _seen(table, rule, absent, extract)
        case _:
            values, unknown = _chosen(table, rule, absent, joined=spec.spellings == "joined")
    if usual is None:
        _refuse(table, rule, absent, unknown)
    if rule.optional:
        values = np.column_stack([values, (absent | unknown).astype(np.float64)])
    elif usual is not None:
        values[absent | unknown] = usual
    filled = [
        Filled(
            column=rule.name,
            place=table.place(column.first(which), rule.name),
            texts=tuple(column.texts[at] for at in np.flatnonzero(which & unknown)),
            rows=np.flatnonzero(which[column.codes]),
            known=_levels(rule),
            as_missing=rule.optional,
        )
        for which in (unknown, absent)
        if which.any() and usual is not None
    ]
    return values, filled


def _levels(rule: ColumnRule) -> tuple[str, ...]:
    match rule:
        case BinaryColumn():
            return (rule.no, rule.yes)
        case CategoricalColumn():
            return rule.levels
        case NumericColumn():
            return (f"numbers, usually {rule.low:g} to {rule.high:g}",)
    return ()


def _refuse(
    table: Table,
    rule: ColumnRule,
    absent: NDArray[np.bool_],
    unknown: NDArray[np.bool_],
) -> None:
    """Refuse what no rule of a training table knows."""
    column = table.columns[rule.name]
    if absent.any() and not rule.optional:
        raise DataError(
            "a value is missing",
            where=table.place(column.first(absent), rule.name),
            hint="Name an image, or leave the patient out: every one needs an image"
            if isinstance(rule, ImageColumn)
            else "Fill it in, leave the patient out, or make the column optional for everyone",
        )
    if unknown.any():
        row = column.first(unknown)
        raise DataError(
            "unknown code",
            where=table.place(row, rule.name),
            found=column.texts[int(column.codes[row])],
            expected=", ".join(_levels(rule)),
        )


def _measured(
    table: Table, rule: NumericColumn, absent: NDArray[np.bool_], *, training: bool
) -> FeatureArray:
    """(K, 1) scaled to the range of the rule; 0 where missing."""
    column = table.columns[rule.name]
    numbers = column.measured
    wrong = np.isnan(numbers) & ~absent
    if wrong.any():
        row = column.first(wrong)
        raise DataError(
            "not a number",
            where=table.place(row, rule.name),
            found=column.texts[int(column.codes[row])],
            expected=f"a finite number, usually {rule.low:g} to {rule.high:g}",
        )
    if training and _clips_all(numbers[~absent], rule):
        raise DataError(
            "the range clips every patient: the column would tell nothing",
            where=f"{table.source}, column {rule.name}",
            found=f"values {numbers[~absent].min():g} to {numbers[~absent].max():g}",
            expected=f"values between low = {rule.low:g} and high = {rule.high:g}",
            hint="Correct low and high, or the unit of the table",
        )
    bounded = np.clip(numbers, -LARGEST, LARGEST)
    scaled = 2.0 * (bounded - rule.low) / (rule.high - rule.low) - 1.0
    return np.where(absent, 0.0, scaled)[:, None]


def _no_measurements(values: NDArray[np.float64], rule: NumericColumn) -> NDArray[np.bool_]:
    """What a new patient's table has instead of a number, or as a code for a missing one: texts,
    999 far beyond the range, -1 and other whole numbers below 0 where there is nothing below it.
    """
    span = rule.high - rule.low
    far = (values < rule.low - span) | (values > rule.high + span)
    coded = far & np.isin(np.abs(values), SENTINELS)
    if rule.low >= 0:
        coded |= (values < 0) & (values == np.rint(values))
    result: NDArray[np.bool_] = np.isnan(values) | coded
    return result


def _clips_all(values: NDArray[np.float64], rule: NumericColumn) -> bool:
    """Whether no value of enough lies within the range: what differs would be made alike."""
    beyond = (values < rule.low) | (values > rule.high)
    return len(values) >= LEAST_FOR_RANGES and bool(beyond.all())


def _chosen(
    table: Table, rule: BinaryColumn | CategoricalColumn, absent: NDArray[np.bool_], *, joined: bool
) -> tuple[FeatureArray, NDArray[np.bool_]]:
    """(K, width) of levels, 0 where missing or unknown; and which are unknown, (K,)."""
    levels = _levels(rule)
    place = {code(level, joined=joined): at for at, level in enumerate(levels)}
    texts = table.columns[rule.name].texts
    found = np.array([place.get(code(text, joined=joined), -1) for text in texts])
    unknown = (found < 0) & ~absent
    values: FeatureArray = (
        np.array([-1.0, 1.0])[found][:, None]
        if isinstance(rule, BinaryColumn)
        else np.eye(len(levels))[found]
    )
    values[absent | unknown] = 0.0
    return values, unknown


def _seen(
    table: Table, rule: ImageColumn, absent: NDArray[np.bool_], extract: Extract | None
) -> FeatureArray:
    """(K, d) of images; 0 where missing."""
    if extract is None:
        raise ConfigError(
            "images need the extractor of the rules",
            where=f"{table.source}, column {rule.name}",
            expected=f"{rule.architecture} with weights of SHA-256 {rule.sha256}",
        )
    column = table.columns[rule.name]
    _, first = np.unique(column.codes, return_index=True)
    named = [
        (table.folder / column.texts[at], table.place(int(first[at]), rule.name))
        for at in np.flatnonzero(~absent).tolist()
    ]
    values = np.zeros((len(absent), rule.features))
    values[~absent] = extract(rule, named)
    return values
