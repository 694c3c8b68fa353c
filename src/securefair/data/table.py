"""The agreed public rules that turn a table of patients into features and labels.

The rules (`TableSpec`) are part of the collaboration's public specification: fixed clinical
ranges, levels and missing-value indicators, the same for everyone. No participant's statistics
enter, so nobody's data leak through the preprocessing and all participants get the same features.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from securefair.data.dataset import Features, Samples
from securefair.data.rows import Row
from securefair.errors import ConfigError, DataError


class Column(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all columns have in common.

    Args:
        name: of the column in the table.
        optional: missing values are allowed; adds a feature `name?` that is 1 where the value is
            missing and 0 elsewhere. Without it a missing value is an error.
    """

    name: str
    optional: bool = False


class Numeric(Column, frozen=True, kw_only=True, tag_field="kind", tag="numeric"):
    """A measurement: [low, high] becomes [-1, 1], values beyond are clipped; missing is 0.

    Args:
        low, high: fixed range in the column's unit, from general knowledge of the quantity.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ConfigError(
                "not a range",
                where=f"column {self.name}",
                found=f"{self.low} to {self.high}",
                expected="finite low < high",
            )


class Binary(Column, frozen=True, kw_only=True, tag_field="kind", tag="binary"):
    """Yes or no in a single feature: `no` becomes -1, `yes` 1; missing is 0."""

    no: str = "0"
    yes: str = "1"

    def __post_init__(self) -> None:
        _check_codes((self.no, self.yes), self.name)


class Categorical(Column, frozen=True, kw_only=True, tag_field="kind", tag="categorical"):
    """One feature `name=level` for each level: 1 for the patient's, 0 for others and missing."""

    levels: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_codes(self.levels, self.name)


class Target(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The column to predict: the i-th group of codes is class i."""

    name: str
    groups: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        _check_codes([code for group in self.groups for code in group], self.name)
        if len(self.groups) < 2 or not all(self.groups):
            raise ConfigError(
                "a target needs two or more classes, each with a code",
                where=f"target {self.name}",
                found=self.groups,
            )


class TableSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The public rules that turn a table into features and labels.

    Every feature lies in [-1, 1]. Features come in the order of the columns, a column's
    missing-value indicator after its own features.

    Args:
        columns: those that become features; other columns of the table are ignored.
        target: the column to predict.
        missing: the codes of a missing value.

    Raises:
        ConfigError: no columns, two of one name, or the target among them.
    """

    columns: tuple[Numeric | Binary | Categorical, ...]
    target: Target
    missing: tuple[str, ...] = ("", "?", "NA", "NaN", "nan")

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if not names or repeated or self.target.name in names:
            raise ConfigError(
                "columns must be there, each once, and without the target",
                where="columns",
                found=", ".join(repeated or names),
            )

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the d features, in order."""
        return tuple(name for column in self.columns for name in feature_names(column))


def read_spec(path: Path) -> TableSpec:
    """The specification in a TOML file: `target`, `missing` and a list of `columns`, each with
    its `kind` (numeric, binary or categorical) and that kind's fields.

    Raises:
        ConfigError: the file cannot be read, or is no specification; names what is wrong.
    """
    try:
        return msgspec.toml.decode(path.read_bytes(), type=TableSpec)
    except OSError as error:
        raise ConfigError(
            "cannot read the specification", where=str(path), found=error.strerror
        ) from error
    except msgspec.DecodeError as error:
        raise ConfigError("not a table specification", where=str(path), found=str(error)) from error


def encode(rows: Sequence[Row], spec: TableSpec) -> Samples:
    """Features (B, d) in [-1, 1] and labels (B,) of `rows`, by the agreed rules only.

    Raises:
        DataError: no rows, a column is not there, or a value is not what the specification says;
            names file, line and column.
    """
    _check_columns(rows, [*(column.name for column in spec.columns), spec.target.name])
    class_of = {code(c): i for i, group in enumerate(spec.target.groups) for c in group}
    labels = np.array([_class(row, spec.target.name, class_of) for row in rows], dtype=np.int64)
    return Samples(encode_features(rows, spec), labels, classes=len(spec.target.groups))


def encode_features(rows: Sequence[Row], spec: TableSpec, *, clipped: bool = True) -> Features:
    """Features (B, d) of `rows`, which need no label.

    Args:
        rows: at least one.
        spec: the agreed rules.
        clipped: to [-1, 1], as models see them; otherwise a measurement beyond its range shows.

    Raises:
        DataError: as `encode`.
    """
    _check_columns(rows, [column.name for column in spec.columns])
    features = np.array(
        [
            [x for column in spec.columns for x in _encode_value(row, column, spec.missing)]
            for row in rows
        ],
        dtype=np.float64,
    )
    return np.clip(features, -1.0, 1.0) if clipped else features


def _check_columns(rows: Sequence[Row], names: Sequence[str]) -> None:
    if not rows:
        raise DataError("the table has no rows")
    absent = [name for name in names if name not in rows[0].fields]
    if absent:
        raise DataError(
            f"columns are not in the table: {', '.join(absent)}"
            if len(absent) > 1
            else f"column {absent[0]!r} is not in the table",
            where=rows[0].source,
            found=", ".join(rows[0].fields),
        )


def feature_names(column: Numeric | Binary | Categorical) -> list[str]:
    """The features that one column becomes, in order."""
    names = (
        [f"{column.name}={level}" for level in column.levels]
        if isinstance(column, Categorical)
        else [column.name]
    )
    return [*names, f"{column.name}?"] if column.optional else names


def _encode_value(
    row: Row, column: Numeric | Binary | Categorical, missing: Sequence[str]
) -> list[float]:
    text = row.fields[column.name]
    absent = text in missing
    if absent and not column.optional:
        raise DataError(
            "a value is missing",
            where=row.place(column.name),
            hint="Fill it in, leave the patient out, or make the column optional for everyone",
        )
    width = len(column.levels) if isinstance(column, Categorical) else 1
    values = [0.0] * width if absent else _present_value(row, column, text)
    return [*values, float(absent)] if column.optional else values


def _present_value(row: Row, column: Numeric | Binary | Categorical, text: str) -> list[float]:
    if isinstance(column, Numeric):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise DataError(
                "not a number",
                where=row.place(column.name),
                found=text,
                expected=f"a finite number, usually {column.low:g} to {column.high:g}",
            )
        return [2.0 * (value - column.low) / (column.high - column.low) - 1.0]
    levels = (column.no, column.yes) if isinstance(column, Binary) else column.levels
    codes = [code(level) for level in levels]
    if code(text) not in codes:
        raise DataError(
            "unknown code",
            where=row.place(column.name),
            found=text,
            expected=", ".join(levels),
        )
    chosen = codes.index(code(text))
    if isinstance(column, Binary):
        return [-1.0, 1.0][chosen : chosen + 1]
    return [float(i == chosen) for i in range(len(codes))]


def _class(row: Row, name: str, class_of: Mapping[str, int]) -> int:
    found = class_of.get(code(row.fields[name]))
    if found is None:
        raise DataError(
            "not a known class",
            where=row.place(name),
            found=row.fields[name],
            expected=", ".join(class_of),
            hint="Leave the row out, or add the code to a class",
        )
    return found


def code(text: str) -> str:
    """One spelling for a code: "3", "3.0" and "03" are the same, "0.5" and ".50" as well; what is
    no finite number is left alone."""
    try:
        value = float(text)
    except ValueError:
        return text
    if not math.isfinite(value):
        return text
    return str(int(value)) if value.is_integer() else repr(value)


def _check_codes(codes: Sequence[str], name: str) -> None:
    if not codes or len({code(one) for one in codes}) < len(codes):
        raise ConfigError(
            "codes must be there and differ", where=f"column {name}", found=", ".join(codes)
        )
