"""Tables by hospital -> participants, by rules that are the same for everyone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from securefair.config import RunConfig
from securefair.data import (
    ParticipantData,
    Table,
    TableSpec,
    encode,
    hold_out,
    infer_table,
    propose,
    read_rows,
)
from securefair.data.arrow_tables import is_frame, read_frame
from securefair.data.cells import table_of
from securefair.errors import ConfigError, DataError
from securefair.user.data_sets import alike
from securefair.user.tables import about

ACCEPTED = (
    "a DataFrame of pandas or polars, an Arrow table, the path of a table, a query of a database, "
    "or a pair of these for training and test"
)


def participants_of_tables(
    hospitals: Mapping[str, object], label: str | TableSpec, config: RunConfig
) -> tuple[list[ParticipantData], TableSpec]:
    """Everyone's samples, and the rules that made them.

    Args:
        hospitals: a table by name, or a pair (training, test) of tables.
        label: the column to predict; everyone then proposes the other rules from its own table,
            which tells something of it. Or all rules, known beforehand, which tell nothing.
        config: checked.

    Raises:
        ConfigError: something is no table.
        DataError: a table cannot be read or breaks the rules; names hospital, row and column.
    """
    parts = {name: _parts(name, given) for name, given in hospitals.items()}
    if isinstance(label, TableSpec):
        spec = label
    else:
        proposals = {}
        for name, tables in parts.items():
            rows = tables[0] if len(tables) == 1 else table_of([*tables[0], *tables[1]])
            with about(name):
                proposals[name] = propose(rows, label=label, at_least=1)
        spec = infer_table(proposals).spec
    everyone = []
    for name, tables in parts.items():
        with about(name):
            samples = [encode(table, spec) for table in tables]
        everyone.append(
            ParticipantData(name, samples[0], samples[1])
            if len(samples) == 2
            else hold_out(name, samples[0], config.data.test_fraction, config.run.seeds[0])
        )
    return alike(everyone), spec


def _parts(name: str, given: object) -> list[Table]:
    parts = list(given) if isinstance(given, tuple) and len(given) == 2 else [given]
    return [_table(name, part) for part in parts]


def _table(name: str, given: object) -> Table:
    with about(name):
        if isinstance(given, Table):
            table = given
        elif isinstance(given, str | Path):
            table = read_rows(given)
        elif is_frame(given):
            table = read_frame(given, source="data frame")
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
