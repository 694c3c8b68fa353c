"""What one hospital should look at in its own table before it runs: one finding, one line.

Everything here is computed from one table alone: its columns (`column_findings`), what they tell of
the outcome (`leaks`), and its rows. `between` compares what several say of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from securefair.data.cells import Table
from securefair.data.column_findings import column_findings
from securefair.data.findings import Finding, noted
from securefair.data.identifying import heading_identifies
from securefair.data.leaks import Classes, leaks, tells_number
from securefair.data.shape import MAX_LEVELS, Shape
from securefair.data.shared_rows import row_numbers

FEW = 10
"""Patients of a class from which nothing can be learnt."""

LEAST_COLUMNS = 5
"""In narrower tables different patients often have equal rows."""


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
    classes = (
        None if label is None else Classes.of(table.columns[label], shapes[label], joined=joined)
    )
    for name, column in table.columns.items():
        shape = shapes[name]
        yield from column_findings(site, name, column, shape, table, is_label=name == label)
        if classes is not None and name != label and shape.present and not heading_identifies(name):
            yield from leaks(site, name, column, shape, classes)
        if known and name not in known and shape.present:
            yield from tells_number(
                site, name, column, shape, table.columns[known[0]], shapes[known[0]]
            )
    if label is not None and classes is not None:
        yield from _few(site, label, classes)
    yield from _duplicates(site, table)


def _few(site: str, label: str, classes: Classes) -> Iterator[Finding]:
    if len(classes.names) > MAX_LEVELS:
        return  # no label of classes: refused elsewhere
    for name, count in zip(classes.names, classes.counts(), strict=True):
        if count < FEW:
            yield Finding(
                site=site,
                column=label,
                line=None,
                kind="few_of_a_class",
                message=f'only {count} patient{"s are" if count > 1 else " is"} of class "{name}"',
                remedy="Join it with another class, or expect nothing for it",
            )


def _duplicates(site: str, table: Table) -> Iterator[Finding]:
    names = [name for name in table.columns if not heading_identifies(name)]
    if len(names) < LEAST_COLUMNS:
        return
    _, first = np.unique(row_numbers(table, names), return_index=True)
    repeated = len(table) - len(first)
    if not repeated:
        return
    original = np.zeros(len(table), dtype=bool)
    original[first] = True
    row = int(np.flatnonzero(~original)[0])
    yield Finding(
        site=site,
        column=None,
        line=table.line_of(row),
        kind="duplicate_rows",
        message=f"{repeated} row{'s repeat' if repeated > 1 else ' repeats'} an earlier row but "
        "for identifiers; in a test part that makes a model look better than it is",
        remedy="Keep one row a patient. Hospitals on machines of their own cannot see whether they "
        "share a patient: nobody compares patients in the clear",
    )
