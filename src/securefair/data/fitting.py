"""How given rules fit one table: ranges that clip patients, classes that nobody has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from securefair.config.columns import ColumnRule, NumericColumn, code
from securefair.data.cells import Table
from securefair.data.findings import EVERYONE, Finding
from securefair.data.table import Target

CLIPPED = 0.05
"""Share of patients beyond a range from which it is worth a line; from half of them it is grave."""


FILLED, BARELY, LEAST = 0.02, 0.06, 5
"""Share of a range that values should fill, where there are so many different ones: with less of
it they become nearly equal, with less than the second the range is worth a look."""


def range_findings(
    site: str, table: Table, rules: Sequence[ColumnRule], missing: Sequence[str]
) -> Iterator[Finding]:
    """How many patients given ranges clip.

    Args:
        site: its name.
        table: its rows.
        rules: of columns.
        missing: codes of a missing value in any column.
    """
    for rule in rules:
        if not isinstance(rule, NumericColumn) or rule.name not in table.columns:
            continue
        column = table.columns[rule.name]
        known = np.isfinite(column.measured) & ~column.among({*missing, *rule.missing})
        beyond = known & ((column.measured < rule.low) | (column.measured > rule.high))
        counts = column.counts()
        clipped, total = int(counts[beyond].sum()), int(counts[known].sum())
        values = column.measured[known]
        if len(values) >= LEAST and np.ptp(values) < BARELY * (rule.high - rule.low):
            yield Finding(
                site=site,
                column=rule.name,
                line=None,
                kind="wide_range",
                message=f"values are {values.min():g} to {values.max():g}, which the range "
                f"{rule.low:g} to {rule.high:g} makes nearly equal",
                remedy="Correct low and high, or the unit of the table",
                severity="grave" if np.ptp(values) < FILLED * (rule.high - rule.low) else "warning",
            )
        if clipped < max(2, CLIPPED * total):
            continue
        yield Finding(
            site=site,
            column=rule.name,
            line=table.line_of(column.first(beyond)),
            kind="clipped",
            message=f"{clipped} of {total} patients lie beyond the range {rule.low:g} to "
            f"{rule.high:g} and count as its ends; values here are {values.min():g} to "
            f"{values.max():g}",
            remedy="Correct low and high, or the unit of the table",
            severity="grave" if 2 * clipped >= total else "warning",
        )


def label_findings(
    site: str, table: Table, target: Target, missing: Sequence[str]
) -> Iterator[Finding]:
    """How many patients lie beyond the public range of the number to predict.

    Models and scores take them as they are, a description as the range's ends: two of them are a
    contradiction already.

    Args:
        site: its name.
        table: its rows.
        target: what is predicted.
        missing: codes of a missing value in any column.
    """
    if target.range is None or target.name not in table.columns:
        return
    (low, high), column = target.range, table.columns[target.name]
    known = np.isfinite(column.measured) & ~column.among(missing)
    beyond = known & ((column.measured < low) | (column.measured > high))
    counts = column.counts()
    clipped, total = int(counts[beyond].sum()), int(counts[known].sum())
    if not clipped:
        return
    yield Finding(
        site=site,
        column=target.name,
        line=table.line_of(column.first(beyond)),
        kind="clipped",
        message=f"{clipped} of {total} patients lie beyond table.label_range, {low:g} to {high:g}, "
        f"and count as its ends in a description (Table 1), though not in models and scores; "
        f"values here are {column.measured[known].min():g} to {column.measured[known].max():g}",
        remedy="Correct table.label_range, or the unit of the table",
        severity="grave" if clipped >= CLIPPED * total else "warning",
    )


def class_findings(
    tables: Mapping[str, Table], label: str, groups: Sequence[Sequence[str]], *, joined: bool
) -> Iterator[Finding]:
    """Given classes of which no table has a patient."""
    labels = [table.columns[label] for table in tables.values()]
    occurring = {code(text, joined=joined) for column in labels for text in column.texts}
    for group in groups:
        if occurring.isdisjoint(code(one, joined=joined) for one in group):
            yield Finding(
                site=EVERYONE,
                column=label,
                line=None,
                kind="class_of_nobody",
                message=f'nobody has a patient of class "{" or ".join(group)}"',
                remedy="Correct table.classes, or leave the class out",
                severity="grave",
            )
