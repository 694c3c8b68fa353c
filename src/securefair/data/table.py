"""The agreed public rules that turn a table of patients into features and labels.

The rules (`TableSpec`) are part of the collaboration's public specification: fixed clinical
ranges, levels and missing-value indicators, the same for everyone. No participant's statistics
enter, so nobody's data leak through the preprocessing and all participants get the same features.
`encoding` applies them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

from securefair.config import defaults
from securefair.errors import ConfigError

"""The codes of a missing value where nobody says otherwise."""


class Column(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all columns have in common.

    Args:
        name: of the column in the table.
        optional: missing values are allowed; adds a feature `name?` that is 1 where the value is
            missing and 0 elsewhere. Without it a missing value is an error.
        missing: codes of a missing value in this column only, such as "-999".
    """

    name: str
    optional: bool = False
    missing: tuple[str, ...] = ()


class Numeric(Column, frozen=True, kw_only=True, tag_field="kind", tag="numeric"):
    """A measurement: [low, high] becomes [-1, 1], values beyond are clipped; missing is 0.

    A value below or above a limit, such as "<5", counts as the limit.

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

    no: str = defaults.NO
    yes: str = defaults.YES

    def __post_init__(self) -> None:
        _check_codes((self.no, self.yes), self.name)


class Categorical(Column, frozen=True, kw_only=True, tag_field="kind", tag="categorical"):
    """One feature `name=level` for each level: 1 for the patient's, 0 for others and missing."""

    levels: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_codes(self.levels, self.name)


class Image(Column, frozen=True, kw_only=True, tag_field="kind", tag="image"):
    """Paths of image files, relative to the table's folder: the features of a frozen network.

    Everything that decides them is here, and the weights by their hash: who has other weights has
    other rules. A missing image is an error in training.

    Args:
        architecture: a classifier of torchvision, such as "resnet18", without its last layer.
        sha256: of the file of its weights, 64 hexadecimal digits.
        features: how many, d: as many as the network has, or fewer, the directions in which its
            own last layer weighs them most.
        side: pixels a side that the middle square of an image is scaled to.
        mean, deviation: of the colours, with which the network was trained.
        limit: becomes 1; features beyond it are cut off.
    """

    architecture: str
    sha256: str
    features: int
    side: int = defaults.IMAGE_SIDE
    mean: tuple[float, float, float] = defaults.IMAGE_MEAN
    deviation: tuple[float, float, float] = defaults.IMAGE_DEVIATION
    limit: float = defaults.IMAGE_LIMIT

    def __post_init__(self) -> None:
        fine = self.features > 0 and self.side >= 16 and 0 < self.limit < math.inf
        if self.optional or not fine or min(self.deviation) <= 0:
            raise ConfigError(
                "no rules for images",
                where=f"column {self.name}",
                found=f"features {self.features}, side {self.side}, limit {self.limit}, "
                f"deviation {self.deviation}",
                expected="features, limit and deviation above 0, a side of 16 or more, and an "
                "image of every patient",
            )


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


Rule = Numeric | Binary | Categorical | Image
"""How one column becomes features."""


class TableSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The public rules that turn a table into features and labels.

    Every feature lies in [-1, 1]. Features come in the order of the columns, a column's
    missing-value indicator after its own features.

    Args:
        columns: those that become features; other columns of the table are ignored.
        target: the column to predict.
        missing: the codes of a missing value.
        spellings: "joined" takes codes that differ in case or white space only for one.

    Raises:
        ConfigError: no columns, two of one name, or the target among them.
    """

    columns: tuple[Rule, ...]
    target: Target
    missing: tuple[str, ...] = defaults.MISSING
    spellings: Literal["exact", "joined"] = defaults.SPELLINGS

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
    def images(self) -> tuple[Image, ...]:
        """The columns that name images."""
        return tuple(column for column in self.columns if isinstance(column, Image))

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the d features, in order."""
        return tuple(name for column in self.columns for name in feature_names(column))


def feature_names(column: Rule) -> list[str]:
    """The features that one column becomes, in order."""
    match column:
        case Categorical():
            names = [f"{column.name}={level}" for level in column.levels]
        case Image():
            names = [f"{column.name}#{at}" for at in range(1, column.features + 1)]
        case _:
            names = [column.name]
    return [*names, f"{column.name}?"] if column.optional else names


def class_names(spec: TableSpec | None, classes: int) -> list[str]:
    """The codes of each class, or its number where samples came as numbers."""
    if spec is None:
        return [str(label) for label in range(classes)]
    return [" or ".join(codes) for codes in spec.target.groups]


def code(text: str, *, joined: bool = False) -> str:
    """One spelling for a code: "3", "3.0" and "03" are the same, "0.5" and ".50" as well; what is
    no finite number is left alone.

    Args:
        text: as it stands in a table.
        joined: take "Yes", "YES" and " yes " for one as well.
    """
    try:
        value = float(text)
    except ValueError:
        return " ".join(text.casefold().split()) if joined else text
    if not math.isfinite(value):
        return " ".join(text.casefold().split()) if joined else text
    return str(int(value)) if value.is_integer() else repr(value)


def _check_codes(codes: Sequence[str], name: str) -> None:
    if not codes or len({code(one) for one in codes}) < len(codes):
        raise ConfigError(
            "codes must be there and differ", where=f"column {name}", found=", ".join(codes)
        )
