"""Tables that participants bring: their rules, spelt out, and their rows, each read once."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from securefair.config import (
    IgnoredColumn,
    ImageColumn,
    ParticipantSection,
    RunConfig,
    TableSection,
    override,
)
from securefair.config.columns import AnyColumn, ColumnRule, missing_codes
from securefair.data import (
    HEART_SPEC,
    Table,
    TableSpec,
    Target,
    infer_classes,
    infer_table,
    propose,
    read_rows,
)
from securefair.data.cells import stacked
from securefair.data.headings import check_known
from securefair.data.proposal import rounded_outwards
from securefair.errors import ConfigError, DataError
from securefair.model.outcomes import outcome_named


class ReadTables:
    """Tables, each read once, however many look at it.

    Args:
        section: how tables are read, with the codes of a missing value; None: arrays.
        drop: columns that nobody is to look at.

    Attributes:
        decoded: images that they name and that were found whole.
    """

    def __init__(self, section: TableSection | None = None, *, drop: Collection[str] = ()) -> None:
        self._missing = () if section is None else missing_codes(section.missing, section.columns)
        self._drop = drop
        self._read: dict[Path | str, Table] = {}
        self.decoded: set[Path] = set()

    def rows(self, source: Path | str) -> Table:
        """All rows of one file or query.

        Raises:
            DataError: it cannot be read, or has no rows.
        """
        rows = self._read.get(source)
        if rows is None:
            rows = read_rows(source, missing=self._missing)
            for name in self._drop:
                rows = rows.without(name)
            self._read[source] = rows
        if not rows:
            raise DataError("the table has no rows", where=rows.source)
        return rows

    def forget(self) -> None:
        """Let go of everything: whoever asks again reads again."""
        self._read.clear()
        self.decoded.clear()

    def of(self, one: ParticipantSection) -> Table:
        """All rows of a participant's table, those of a test file behind.

        Raises:
            DataError: a file cannot be read, or has no rows.
        """
        rows = self.rows(one.source)
        return rows if one.test_file is None else stacked(rows, self.rows(one.test_file))


@dataclass(frozen=True)
class Resolved:
    """A configuration whose rules are all spelt out.

    Attributes:
        config: with every column of a table.
        inferred: whether the columns were inferred from the participants' tables.
        unused: columns that inference left out for everyone, with the reason.
    """

    config: RunConfig
    inferred: bool = False
    unused: Mapping[str, str] = field(default_factory=dict)


def resolve(
    config: RunConfig,
    tables: ReadTables,
    image: ImageColumn | None = None,
    *,
    further: bool = True,
) -> Resolved:
    """Spell out the rules of tables that the configuration leaves to inference.

    Args:
        config: checked.
        tables: that are read.
        image: a column that names images, which nothing is inferred of.
        further: whether columns that not everyone has are inferred for those who have them.

    Raises:
        DataError: a file cannot be read, or no common rules can be found.
    """
    table = config.table
    files = [one for one in config.participants if one.is_table]
    if table is None or table.label is None or not files:
        return Resolved(config)
    target = None
    if table.outcome is not None:
        config = _with_range(config, tables, files)
        table = config.table or table
        target = target_of(table)
    if table.columns and (table.classes or target is not None):
        return Resolved(config)
    label = table.label or ""
    proposals = {}
    for one in files:
        with about(one.name):
            rows = tables.of(one)
            if table.patient_column is not None:
                # A name of a patient is no feature, whatever it looks like.
                rows = rows.without(table.patient_column)
            proposals[one.name] = propose(
                rows,
                label=label,
                classes=table.classes,
                at_least=1,
                missing=table.missing,
                target=target,
            )
    joined = table.spellings == "joined"
    if table.columns:
        classes = [list(codes) for codes in infer_classes(proposals, joined=joined)]
        return Resolved(override(config, {"table.classes": classes}, source="the tables"))
    inferred = infer_table(
        proposals,
        joined=joined,
        given=() if image is None else (_rule(image),),
        target=target,
    )
    said = table.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    settings = said | table_settings(inferred.spec) | {"origin": "participants"}
    if image is not None:
        settings["columns"] = [*settings["columns"], image.model_dump(mode="json")]
    changes: dict[str, object] = {"table": settings}
    if further and inferred.further:
        changes["participants"] = [
            one.model_dump(mode="json", exclude_none=True)
            | (
                {"columns": [rule.model_dump(mode="json") for rule in inferred.further[one.name]]}
                if one.columns is None and one.name in inferred.further
                else {}
            )
            for one in config.participants
        ]
    config = override(config, changes, source="the tables")
    used = {rule.name for one in config.participants for rule in one.columns or ()}
    unused = {name: why for name, why in inferred.unused.items() if name not in used}
    return Resolved(config, True, unused)


def _with_range(
    config: RunConfig, tables: ReadTables, files: Sequence[ParticipantSection]
) -> RunConfig:
    """The same with a range that covers the tables, where the outcome needs one and has none."""
    table = config.table
    assert table is not None
    assert table.outcome is not None
    if not outcome_named(table.outcome).ranged or table.label_range is not None:
        return config
    ends: list[float] = []
    for one in files:
        with about(one.name):
            rows = tables.of(one)
            check_known(rows, (table.label or "", *table.beside.values()))
        column = rows.columns[table.label or ""]
        numbers = column.numbers[~column.among(table.missing)].tolist()
        ends += [value for value in numbers if math.isfinite(value)]
    if not ends:
        raise DataError(
            "no table has a number to predict",
            where=f"column {table.label}",
            expected="numbers",
        )
    found = list(rounded_outwards(min(ends), max(ends)))
    return override(config, {"table.label_range": found}, source="the tables")


def target_of(table: TableSection) -> Target:
    """What a [table] section predicts.

    Raises:
        ConfigError: there is no such column, or a key that the outcome needs is missing or means
            nothing for it.
    """
    if table.label is None:
        raise ConfigError(
            "a table needs a column to predict",
            where="table.label",
            expected="the name of a column",
        )
    if table.outcome is None:
        return Target(name=table.label, groups=table.groups, names=table.names)
    outcome = outcome_named(table.outcome)
    needed = [key for key, needs in outcome.beside.items() if needs]
    for key in (*needed, *table.beside):
        if (key in table.beside) != (key in outcome.beside):
            raise ConfigError(
                f"{outcome.title} needs this column"
                if key in needed
                else f"this key means nothing for {outcome.title}",
                where=f"table.{key}",
                found=table.beside.get(key, "nothing"),
                expected="the name of a column" if key in needed else "no such key",
            )
    if table.label_range is not None and not outcome.ranged:
        raise ConfigError(
            f"this key means nothing for {outcome.title}",
            where="table.label_range",
            found=list(table.label_range),
            expected="no such key",
        )
    return Target(
        name=table.label,
        outcome=outcome.name,
        beside=tuple(table.beside[key] for key in outcome.beside if key in table.beside),
        range=table.label_range,
    )


def table_rules(config: RunConfig) -> TableSpec | None:
    """The rules that turn a table of this run into features; None where samples are numbers."""
    if config.data.source == "heart":
        return HEART_SPEC
    table = config.table
    files = any(one.is_table for one in config.participants)
    return table_spec(table) if table is not None and table.columns and files else None


def table_spec(table: TableSection) -> TableSpec:
    """The rules of a [table] section.

    Raises:
        ConfigError: the label, its classes or the columns are missing, or codes are repeated.
    """
    if table.outcome is None and (table.label is None or not table.classes):
        raise ConfigError(
            "a table with given columns needs its classes",
            where="table.classes",
            expected="the codes of each class, such as [[0], [1, 2]]",
        )
    return TableSpec(
        columns=tuple(
            _rule(column) for column in table.columns if not isinstance(column, IgnoredColumn)
        ),
        target=target_of(table),
        missing=table.missing,
        spellings=table.spellings,
        fill=table.fill,
    )


def _rule(column: ColumnRule) -> ColumnRule:
    """A column's rule: all but where weights lie."""
    if isinstance(column, ImageColumn):
        return column.model_copy(update={"weights": None})
    return column


def extractor_files(columns: Sequence[AnyColumn], folder: Path) -> dict[str, Path]:
    """The files of weights that columns of images name, by the SHA-256 that they should have.

    Args:
        columns: rules of a table.
        folder: that relative paths start from.

    Raises:
        BackendUnavailableError: weights that come with the extra `vision` are not installed.
    """
    images = [one for one in columns if isinstance(one, ImageColumn)]
    if not images:
        return {}
    from securefair.model.extractor import lite0_weights  # torch, which tables alone do not need

    return {
        one.sha256: lite0_weights() if one.weights is None else folder / one.weights
        for one in images
    }


def table_settings(spec: TableSpec) -> dict[str, Any]:
    """Rules as the keys and values of a [table] section; `table_spec` gives them back.

    Images are left out: a rule does not say where its weights lie.
    """
    return {
        "label": spec.target.name,
        **_known_settings(spec.target),
        **({"class_names": list(spec.target.names)} if spec.target.names else {}),
        "missing": list(spec.missing),
        "spellings": spec.spellings,
        **({"fill": True} if spec.fill else {}),
        "columns": [
            column.model_dump(mode="json")
            for column in spec.columns
            if not isinstance(column, ImageColumn)
        ],
    }


def _known_settings(target: Target) -> dict[str, Any]:
    if not target.outcome:
        return {"classes": [list(codes) for codes in target.groups]}
    keys = outcome_named(target.outcome).beside
    return {
        "outcome": target.outcome,
        **dict(zip(keys, target.beside, strict=False)),
        **({} if target.range is None else {"label_range": list(target.range)}),
    }


@contextmanager
def about(name: str) -> Iterator[None]:
    """Name the participant whose file an error is about."""
    try:
        yield
    except DataError as error:
        raise error.about(f"participant {name}") from error
