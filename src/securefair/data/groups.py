"""Groups of patients by a column of a table, for scores of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from securefair.config import defaults
from securefair.config.columns import code
from securefair.data.cells import Column, Row, Table, table_of
from securefair.data.dataset import ParticipantData
from securefair.data.headings import meant
from securefair.errors import ConfigError, DataError

MOST_GROUPS = 8
"""Different values that are groups as they stand; more of a measurement are halved."""

MISSING = "missing"


def groups_of(rows: Sequence[Row], columns: Sequence[str]) -> dict[str, NDArray[np.str_]]:
    """The group of each patient, (B,), by column: the values as they stand.

    A measurement of many values makes two groups, at its median.

    Raises:
        DataError: a column is not there, or has many values that are no numbers.
    """
    table = table_of(rows)
    absent = [name for name in columns if name not in table.columns]
    if absent:
        raise DataError(
            "there is no such column to group patients by",
            where=table.source,
            found=", ".join(absent),
            expected=f"of {', '.join(table.columns)}",
            hint=meant(absent[0], table.columns),
        )
    return {name: _groups(table.columns[name], name, table.source) for name in columns}


def own_groups(
    own: ParticipantData, by: Sequence[str], table: Table | None
) -> dict[str, NDArray[np.str_]]:
    """The group of each of a participant's patients, in the order of `ParticipantData.rows`.

    Raises:
        ConfigError: there is no table.
        DataError: there is no such column.
    """
    if not by:
        return {}
    if table is None:
        raise ConfigError(
            "patients are grouped by columns of a table",
            where=own.name,
            found=", ".join(by),
            expected="hospitals that bring tables",
        )
    return {name: of_whom[own.rows] for name, of_whom in groups_of(table, by).items()}


def _groups(column: Column, name: str, source: str) -> NDArray[np.str_]:
    known = ~column.among(defaults.MISSING)
    if known.sum() <= MOST_GROUPS:
        texts = np.where(known, np.array(column.texts, dtype=np.str_), MISSING)
        found: NDArray[np.str_] = texts[column.codes]
        return found
    numbers = column.measured
    if np.isnan(numbers[known]).any():
        raise DataError(
            "a column of so many values makes no groups",
            where=f"{source}, column {name}",
            found=f"{int(known.sum())} different values",
            expected=f"at most {MOST_GROUPS}, or numbers",
        )
    each = numbers[column.codes]
    there = known[column.codes]
    middle = float(np.median(each[there]))
    halves = np.where(each > middle, f"above {middle:g}", f"up to {middle:g}")
    result: NDArray[np.str_] = np.where(there, halves, MISSING)
    return result


def patients_of(
    table: Table, name: str, known: dict[str, int] | None = None, *, all_named: bool = True
) -> NDArray[np.int64]:
    """Whose each row is, (B,), by the column that names patients; equal numbers are one of them.

    Args:
        table: of at least one row.
        name: of the column.
        known: numbers of patients in other tables of the hospital; those who are new are added.
        all_named: whether a row must say whose it is; otherwise those that do not are one patient.

    Raises:
        DataError: the column is not there, or says nothing of a row.
    """
    if name not in table.columns:
        raise DataError(
            "the column that names the patients is not in the table",
            where=table.source,
            found=", ".join(table.columns),
            expected=f"a column {name!r} (patient_column)",
            hint=meant(name, table.columns),
        )
    column = table.columns[name]
    nobody = column.among(defaults.MISSING)
    if all_named and nobody.any():
        raise DataError(
            "a row without a patient",
            where=table.place(column.first(nobody), name),
            hint="Say whose it is, or delete the row if it is no patient's (a line of totals)",
        )
    known = {} if known is None else known
    numbers = [known.setdefault(code(text), len(known)) for text in column.texts]
    return np.array(numbers, dtype=np.int64)[column.codes]
