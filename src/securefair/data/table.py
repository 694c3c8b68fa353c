"""The agreed public rules that turn a table of patients into features and labels.

The rules (`TableSpec`) are part of the collaboration's public specification: fixed clinical
ranges, levels and missing-value indicators, the same for everyone. No participant's statistics
enter, so nobody's data leak through the preprocessing and all participants get the same features.
`encoding` applies them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from securefair.config import defaults
from securefair.config.base import Section
from securefair.config.columns import (
    CategoricalColumn,
    ColumnRule,
    ImageColumn,
    code,
    missing_codes,
)
from securefair.errors import ConfigError

Codes = Annotated[tuple[str, ...], Field(strict=False)]


class Target(Section):
    """The column to predict: the i-th group of codes is class i, which people read as names[i].

    Of an outcome that is no class there are no groups: `beside` names further columns that say what
    is known, and `range` is the public one of a number.
    """

    name: str
    groups: Annotated[tuple[Codes, ...], Field(strict=False)] = ()
    names: Annotated[tuple[str, ...], Field(strict=False)] = ()
    outcome: str = ""
    beside: Annotated[tuple[str, ...], Field(strict=False)] = ()
    range: Annotated[tuple[float, float], Field(strict=False)] | None = None

    later: ClassVar[frozenset[str]] = frozenset({"outcome", "beside", "range"})
    """See `Section.later`."""

    @property
    def classes(self) -> int:
        """Labels that there are: classes, or the two parts by which others are held out."""
        return 2 if self.outcome else len(self.groups)

    def model_post_init(self, context: object, /) -> None:
        """Refuse codes that are not there or do not differ."""
        del context
        if self.outcome:
            if self.name in self.beside:
                raise ConfigError(
                    "one column is named twice: what is predicted and what stands beside it are "
                    "two",
                    where=f"target {self.name}",
                    found=self.name,
                )
            if self.groups or self.names:
                raise ConfigError(
                    "an outcome that is no class has columns of its own, and no classes",
                    where=f"target {self.name}",
                    found=self.groups or self.names,
                )
            return
        _check_codes([code for group in self.groups for code in group], self.name)
        if len(self.groups) < 2 or not all(self.groups):
            raise ConfigError(
                "a target needs two or more classes, each with a code",
                where=f"target {self.name}",
                found=self.groups,
            )
        if self.names and len(set(self.names)) != len(self.groups):
            raise ConfigError(
                "every class needs a name of its own",
                where=f"target {self.name}",
                found=", ".join(self.names),
                expected=f"{len(self.groups)} different names",
            )


class TableSpec(Section):
    """The public rules that turn a table into features and labels.

    Every feature lies in [-1, 1]. Features come in the order of the columns, a column's
    missing-value indicator after its own features. In Python, with `NumericColumn` and its like of
    `securefair.config` and `Target` of `securefair.data.table`:

        TableSpec(
            columns=[NumericColumn(name="age", low=18, high=90)],
            target=Target(name="ill", groups=[["no"], ["yes"]]),
        )

    Args:
        columns: those that become features; other columns of the table are ignored.
        target: the column to predict.
        missing: the codes of a missing value.
        spellings: "joined" takes codes that differ in case or white space only for one.
        fill: whether missing values become likely ones (`data.filling`).

    Raises:
        ConfigError: no columns, two of one name, or the target among them.
    """

    columns: Annotated[
        tuple[Annotated[ColumnRule, Field(discriminator="kind")], ...], Field(strict=False)
    ]
    target: Target
    missing: Codes = defaults.MISSING
    spellings: Literal["exact", "joined"] = defaults.SPELLINGS
    fill: bool = False

    later: ClassVar[frozenset[str]] = frozenset({"fill"})
    """See `Section.later`."""

    def model_post_init(self, context: object, /) -> None:
        """Refuse columns that are not there, or not once, or the target."""
        del context
        names = [column.name for column in self.columns]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if not names or repeated or {self.target.name, *self.target.beside} & set(names):
            raise ConfigError(
                "columns must be there, each once, and without the target",
                where="columns",
                found=", ".join(repeated or names),
            )

    def with_columns(self, further: Sequence[ColumnRule]) -> TableSpec:
        """The same with more columns, the last ones.

        Raises:
            ConfigError: one is among the columns already, or the target.
        """
        if not further:
            return self
        return self.model_copy(update={"columns": (*self.columns, *further)})

    @property
    def known(self) -> tuple[str, ...]:
        """Columns that say what is known of a patient: the target, and those beside it."""
        return (self.target.name, *self.target.beside)

    @property
    def every_missing(self) -> tuple[str, ...]:
        """Codes of a missing value in any column, or in one of them."""
        return missing_codes(self.missing, self.columns)

    @property
    def images(self) -> tuple[ImageColumn, ...]:
        """The columns that name images."""
        return tuple(column for column in self.columns if isinstance(column, ImageColumn))

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the d features, in order."""
        return tuple(name for column in self.columns for name in feature_names(column))


def feature_names(column: ColumnRule) -> list[str]:
    """The features that one column becomes, in order."""
    match column:
        case CategoricalColumn():
            names = [f"{column.name}={level}" for level in column.levels]
        case ImageColumn():
            names = [f"{column.name}#{at}" for at in range(1, column.features + 1)]
        case _:
            names = [column.name]
    return [*names, f"{column.name}?"] if column.optional else names


def class_names(spec: TableSpec | None, classes: int) -> list[str]:
    """The name of each class, or its codes, or its number where samples came as numbers.

    None of an outcome that is no class.
    """
    if spec is not None and spec.target.outcome:
        return []
    if spec is None:
        return [str(label) for label in range(classes)]
    if spec.target.names:
        return list(spec.target.names)
    return [" or ".join(codes) for codes in spec.target.groups]


def _check_codes(codes: Sequence[str], name: str) -> None:
    if not codes or len({code(one) for one in codes}) < len(codes):
        raise ConfigError(
            "codes must be there and differ", where=f"column {name}", found=", ".join(codes)
        )
