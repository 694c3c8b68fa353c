"""Tables by hospital -> participants, by rules that are the same for everyone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from securefair.config import RunConfig
from securefair.config.columns import OwnColumn
from securefair.data import (
    ParticipantData,
    Table,
    TableSpec,
    Target,
    encode,
    hold_out,
    infer_table,
    propose,
    read_rows,
)
from securefair.data.arrow_tables import is_frame, read_frame
from securefair.data.between import OF_SOME_SITES
from securefair.data.cells import stacked
from securefair.data.filling import completed
from securefair.data.findings import EVERYONE, Finding, by_weight
from securefair.data.groups import patients_of
from securefair.errors import ConfigError, DataError
from securefair.library.classes import Positive, order_with
from securefair.user.data_sets import alike
from securefair.user.inspection import look_at
from securefair.user.tables import about

ACCEPTED = (
    "a DataFrame of pandas or polars, an Arrow table, the path of a table, a query of a database, "
    "or a pair of these for training and test"
)


def participants_of_tables(
    hospitals: Mapping[str, object],
    label: str | TableSpec,
    config: RunConfig,
    positive: Positive = None,
    *,
    patient_column: str | None = None,
    further: bool,
) -> tuple[list[ParticipantData], TableSpec, Mapping[str, Sequence[OwnColumn]], list[Finding]]:
    """Everyone's samples, the rules that made them, those of columns that not everyone has, by
    hospital, and what to look at in the tables.

    Args:
        hospitals: a table by name, or a pair (training, test) of tables.
        label: the column to predict; everyone then proposes the other rules from its own table,
            which tells something of it. Or all rules, known beforehand, which tell nothing.
        config: checked.
        positive: a code of the class that becomes the last one.
        patient_column: names the patient of each row, and is no feature.
        further: whether hospitals use columns that others have not.

    Raises:
        ConfigError: something is no table, or no class has that code.
        DataError: a table cannot be read or breaks the rules; names hospital, row and column.
    """
    missing = label.every_missing if isinstance(label, TableSpec) else ()
    parts = {name: _parts(name, given, missing) for name, given in hospitals.items()}
    patients: dict[str, list[NDArray[np.int64] | None]] = {
        name: [None] * len(tables) for name, tables in parts.items()
    }
    if patient_column is not None:
        check_column(patient_column, label if isinstance(label, str) else label.target.name)
        for name, tables in parts.items():
            numbers: dict[str, int] = {}
            with about(name):
                patients[name] = [patients_of(table, patient_column, numbers) for table in tables]
        parts = {
            name: [table.without(patient_column) for table in tables]
            for name, tables in parts.items()
        }
    whole = {name: _whole(tables) for name, tables in parts.items()}
    own: Mapping[str, Sequence[OwnColumn]] = {}
    if isinstance(label, TableSpec):
        spec = label
        found = _findings(whole, spec, given=True)
    else:
        proposals = {}
        for name, table in whole.items():
            with about(name):
                proposals[name] = propose(table, label=label, at_least=1)
        inferred = infer_table(proposals)
        spec, own = inferred.spec, inferred.further if further else {}
        found = _findings(whole, spec, given=False)
        used = {rule.name for rules in own.values() for rule in rules}
        found = [one for one in found if one.kind != OF_SOME_SITES or one.column not in used]
        known = {one.column for one in found} | used
        found += [_unused(name, why) for name, why in inferred.unused.items() if name not in known]
    groups = spec.target.groups
    if not spec.target.outcome or positive is not None:
        ordered = tuple(groups[at] for at in order_with(positive, groups))
        spec = spec.model_copy(update={"target": Target(name=spec.target.name, groups=ordered)})
    everyone = []
    for name, tables in parts.items():
        with about(name):
            wide = spec.with_columns(own.get(name, ()))
            width = len(wide.features) - len(spec.features)
            samples = [
                replace(encode(table, wide), further=width, patients=whose)
                for table, whose in zip(tables, patients[name], strict=True)
            ]
        one = (
            ParticipantData(name, samples[0], samples[1])
            if len(samples) == 2
            else hold_out(name, samples[0], config.data.test_fraction, config.run.seeds[0])
        )
        everyone.append(completed(one, wide))
    return alike(everyone), spec, own, found


def check_column(patient_column: object, label: str) -> None:
    """Refuse what cannot name patients.

    Raises:
        ConfigError: it is no name, or that of the label.
    """
    if not isinstance(patient_column, str) or patient_column == label:
        raise ConfigError(
            "a column of its own names patients",
            where="patient_column",
            found=patient_column,
            expected="the name of a column that is not the label",
        )


def whole_tables(hospitals: Mapping[str, object]) -> dict[str, Table]:
    """Everyone's rows by name, those for testing behind the others.

    Raises:
        ConfigError, DataError: as `participants_of_tables`.
    """
    return {name: _whole(_parts(name, given)) for name, given in hospitals.items()}


def _whole(tables: list[Table]) -> Table:
    return tables[0] if len(tables) == 1 else stacked(tables[0], tables[1])


def _findings(tables: Mapping[str, Table], spec: TableSpec, *, given: bool) -> list[Finding]:
    """What to look at, by weight; of given rules also how they fit."""
    own, between = look_at(
        tables,
        label=spec.target.name,
        missing=spec.missing,
        joined=spec.spellings == "joined",
        handled={rule.name: rule.missing for rule in spec.columns} if given else {},
        rules=spec.columns if given else (),
        classes=spec.target.groups if given else (),
        known=spec.known if spec.target.outcome else (),
    )
    return by_weight([*own, *between])


def _unused(name: str, why: str) -> Finding:
    return Finding(
        site=EVERYONE,
        column=name,
        line=None,
        kind="unused_column",
        message=f"the column is no feature: {why}",
        remedy="Describe it in a TableSpec if it should be one",
    )


def _parts(name: str, given: object, missing: Sequence[str] = ()) -> list[Table]:
    parts = list(given) if isinstance(given, tuple) and len(given) == 2 else [given]
    return [_table(name, part, missing) for part in parts]


def _table(name: str, given: object, missing: Sequence[str]) -> Table:
    with about(name):
        if isinstance(given, Table):
            table = given
        elif isinstance(given, str | Path):
            table = read_rows(given, missing=missing)
        elif is_frame(given):
            table = read_frame(given, source="data frame", missing=missing)
        else:
            raise ConfigError(
                "with a label everyone brings a table",
                where=name,
                found=type(given).__name__,
                expected=ACCEPTED,
            )
        if not len(table):
            raise DataError("the table has no rows", where=table.source)
    return table
