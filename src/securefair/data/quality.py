"""What one hospital should look at in its own table before it runs: one finding, one line.

Everything here is computed from one table alone: its columns (`column_findings`), what they tell of
the outcome (`leaks`), and its rows. `between` compares what several say of theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from securefair.config import defaults
from securefair.data.cells import Table
from securefair.data.column_findings import column_findings
from securefair.data.findings import Finding, noted
from securefair.data.identifying import heading_identifies, heading_names_patients
from securefair.data.leaks import Classes, leaks, tells_number
from securefair.data.shape import MAX_LEVELS, Shape
from securefair.data.shared_rows import row_numbers

FEW = 10
"""Patients of a class from which nothing can be learnt."""

LEAST_COLUMNS = 5
"""In narrower tables different patients often have equal rows."""

MOST_ROWS = 10
"""Of a patient on average: what stands in more rows is shared by patients, as a ward's number."""

FEW_EMPTY = 0.05
"""Share of rows that may be nearly empty and no patients; more are how a table is filled in."""

_TOTAL = re.compile(
    r"(?:grand |sous-|zwischen)?(?:tota(?:l|ux|le|les)|somme|summe|gesamt|sum|suma|somma|moyenne|"
    r"mittelwert|mean|average|media|promedio)\b.{0,20}",
    re.IGNORECASE,
)
"""What a line below the patients begins with, in the languages of hospitals."""

NAME_IT = "Name this column as patient_column in [table]"
"""What to do where whoever reads it writes the rules."""

SEVERAL_ROWS = "several_rows"
"""Of a finding: a column that is no feature and names patients, some of them in several rows."""


def site_findings(
    site: str,
    table: Table,
    shapes: Mapping[str, Shape],
    *,
    label: str | None,
    joined: bool = False,
    known: Sequence[str] = (),
) -> Iterator[Finding]:
    """What one table shows by itself.

    Args:
        site: its name.
        table: at least one row.
        shapes: of its columns.
        label: the column to predict, which is among its columns; None where that is no class.
        joined: whether spellings that differ in case only are one level.
        known: columns that say what is known of a patient where that is no class; the first is the
            number, or the time.
    """
    for note in table.notes:
        yield noted(site, note)
    told = label or next((one for one in known[1:] if _says_whether(shapes[one])), None)
    classes = None if told is None else Classes.of(table.columns[told], shapes[told], joined=joined)
    what = "classes" if told == label else "events"
    for name, column in table.columns.items():
        shape = shapes[name]
        of = {"is_label": name == label, "is_number": name in known[:1]}
        yield from column_findings(site, name, column, shape, table, **of)
        others = name not in (label, *known) and shape.present
        others = others and not heading_identifies(name, column.texts)
        if classes is not None and others:
            yield from leaks(site, name, column, shape, classes, what)
        if known and name not in known and shape.present:
            yield from tells_number(
                site, name, column, shape, table.columns[known[0]], shapes[known[0]]
            )
    if label is not None and classes is not None:
        yield from _few(site, label, classes)
    yield from _nearly_empty(site, table)
    yield from _duplicates(site, table)
    yield from _several_rows(site, table)


def _nearly_empty(site: str, table: Table) -> Iterator[Finding]:
    """Rows of which nearly all cells are empty, where others are filled in: totals, remarks."""
    columns = table.columns.values()
    filled = np.zeros(len(table), dtype=np.int64)
    for column in columns:
        filled += ~column.among(defaults.MISSING)[column.codes]
    usual = float(np.median(filled))
    rows = np.flatnonzero(filled <= usual / 4)
    if usual < LEAST_COLUMNS or not 0 < len(rows) <= max(1, FEW_EMPTY * len(table)):
        return
    empty = len(columns) - int(filled[rows[0]])
    totals = any(  # looked for here alone: a long table has millions of different texts
        _TOTAL.fullmatch(column.texts[at])
        for column in columns
        for at in np.unique(column.codes[rows]).tolist()
    )
    more = f", and so in {len(rows) - 1} more rows" if len(rows) > 1 else ""
    yield Finding(
        site=site,
        column=None,
        line=table.line_of(int(rows[0])),
        kind="nearly_empty_row",
        message=f"{empty} of {len(columns)} cells are empty{more}: it may be a line of totals or a "
        "remark, and counts as a patient",
        remedy="Delete it if it is no patient",
        severity="grave" if totals else "warning",
    )


def _says_whether(shape: Shape) -> bool:
    """Whether a column is 1 where an event came and 0 elsewhere; no exposure is 0."""
    return shape.numeric and set(shape.values[shape.counted].tolist()) == {0.0, 1.0}


def _few(site: str, label: str, classes: Classes) -> Iterator[Finding]:
    if len(classes.names) > MAX_LEVELS:
        return  # no label of classes: refused elsewhere
    counts = zip(classes.names, classes.counts(), strict=True)
    few = [(name, int(count)) for name, count in counts if count < FEW]
    if not few:
        return
    (name, count), *others = few
    rest = ", ".join(f'{count} of "{name}"' for name, count in others)
    yield Finding(
        site=site,
        column=label,
        line=None,
        kind="few_of_a_class",
        message=f'only {count} patient{"s are" if count > 1 else " is"} of class "{name}"'
        + (f", {rest}" if rest else ""),
        remedy="Join them with other classes, or expect nothing for them"
        if others
        else "Join it with another class, or expect nothing for it",
    )


class Repeated(NamedTuple):
    """Rows that repeat another one above them.

    Attributes:
        rows: how many.
        first: the number of the first of them.
    """

    rows: int
    first: int


def repeated_rows(table: Table) -> Repeated | None:
    """Rows that are equal to one above but for identifiers; None where there are none, or columns
    are so few that different patients may be alike."""
    names = [name for name, one in table.columns.items() if not heading_identifies(name, one.texts)]
    return None if len(names) < LEAST_COLUMNS else _repeated(row_numbers(table, names))


def repeated_patients(table: Table) -> tuple[str, Repeated] | None:
    """The first column that names patients and has some of them in several rows, if any; a row
    without a name is no patient."""
    for name, column in table.columns.items():
        if not heading_names_patients(name, column.texts):
            continue
        named = ~column.among(defaults.MISSING)
        rows = np.flatnonzero(named[column.codes])
        if MOST_ROWS * named.sum() < len(rows):
            continue
        found = _repeated(column.codes[rows])
        if found is not None:
            return name, found._replace(first=int(rows[found.first]))
    return None


def column_of_patients(tables: Sequence[Table]) -> str | None:
    """The column that names the patient of every row of all tables, if some have several rows."""
    for table in tables:
        found = repeated_patients(table)
        if found is not None and all(_names_all(other, found[0]) for other in tables):
            return found[0]
    return None


def _names_all(table: Table, name: str) -> bool:
    return name in table.columns and first_unnamed(table, name) is None


def first_unnamed(table: Table, name: str) -> str | None:
    """The first row whose patient a column does not name, such as "line 8"; None: there is none."""
    column = table.columns[name]
    nobody = column.among(defaults.MISSING)
    return f"{table.unit} {table.line_of(column.first(nobody))}" if nobody.any() else None


def remedy_of_visits(name: str, tables: Mapping[str, Table]) -> str:
    """What to do where a column names patients of several rows, in tables by hospital; first what
    keeps a run from being divided by it."""
    before = ""
    for site, table in tables.items():
        if name not in table.columns:
            before = f"{site} has no such column: give it one of this name. "
        elif (unnamed := first_unnamed(table, name)) is not None:
            before = f"{site}, {unnamed} names nobody: say whose it is, or delete it. "
        if before:
            break
    return f"{before}{NAME_IT}{' then' * bool(before)}, or keep one row a patient"


def _repeated(each: NDArray[np.int64] | NDArray[np.uint64]) -> Repeated | None:
    _, first = np.unique(each, return_index=True)
    if len(first) == len(each):
        return None
    again = np.ones(len(each), dtype=bool)
    again[first] = False
    return Repeated(int(again.sum()), int(np.flatnonzero(again)[0]))


def _several_rows(site: str, table: Table) -> Iterator[Finding]:
    found = repeated_patients(table)
    if found is None:
        return
    name, repeated = found
    yield Finding(
        site=site,
        column=name,
        line=table.line_of(repeated.first),
        kind=SEVERAL_ROWS,
        message=f"it names patients, and {_rows(repeated.rows)} of a patient who has one above: in "
        "a test part that makes a model look better than it is, and errors look too small",
        remedy=remedy_of_visits(name, {site: table}),
        severity="grave" if MOST_ROWS * repeated.rows > len(table) else "warning",
    )


def _rows(count: int) -> str:
    return f"{count} rows are" if count > 1 else "1 row is"


def _duplicates(site: str, table: Table) -> Iterator[Finding]:
    found = repeated_rows(table)
    if found is None:
        return
    repeated = found.rows
    yield Finding(
        site=site,
        column=None,
        line=table.line_of(found.first),
        kind="duplicate_rows",
        message=f"{repeated} row{'s repeat' if repeated > 1 else ' repeats'} an earlier row but "
        "for identifiers; in a test part that makes a model look better than it is",
        remedy="Keep one row a patient. Hospitals on machines of their own cannot see whether they "
        "share a patient: nobody compares patients in the clear",
    )
