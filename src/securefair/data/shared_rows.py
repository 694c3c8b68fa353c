"""Patients that two tables have in common, where one process reads both.

Hospitals on machines of their own compare nobody: this is for tables that lie side by side anyway.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from securefair.data.cells import Table
from securefair.data.findings import Finding
from securefair.data.identifying import heading_identifies

ENOUGH_COLUMNS = 5
"""From so many on one equal row of two tables is told; of fewer columns only a copied table is."""

CHANCE = 0.02
"""Equal rows that are expected of columns that have nothing to do with each other, at most."""

ALIKE = 0.05
"""Share of the rows of a table that repeat another row of it, above which equal rows are usual."""

COPIED = 0.5
"""Share of the rows of the smaller table from which it is taken for a copy."""


def shared_rows(tables: Mapping[str, Table], predicted: Collection[str] = ()) -> Iterator[Finding]:
    """Rows that stand in two tables, but for identifiers; one finding a pair of tables, in the
    smaller one, whatever their order.

    Args:
        tables: by site, each of at least one row.
        predicted: columns that are equal for many patients: they alone make no equal rows.
    """
    common = set.intersection(*(set(table.columns) for table in tables.values()))
    columns = next(iter(tables.values())).columns
    names = sorted(one for one in common if not heading_identifies(one, columns[one].texts))
    if not set(names) - set(predicted):
        return
    rows = {site: row_numbers(table, names) for site, table in tables.items()}
    repeats = {site: 1 - len(np.unique(one)) / len(one) for site, one in rows.items()}
    for first, second in pairs_of({site: len(one) for site, one in rows.items()}):
        shared = np.isin(rows[second], rows[first])
        count = int(shared.sum())
        share, usual = count / len(shared), max(repeats[first], repeats[second])
        copied = share >= COPIED and usual < share / 2
        telling = len(names) >= ENOUGH_COLUMNS and usual <= ALIKE
        if not count or not (copied or telling):
            continue
        if not copied and _expected(tables[first], tables[second], names) > CHANCE * count:
            continue
        yield Finding(
            site=second,
            column=None,
            line=tables[second].line_of(int(np.flatnonzero(shared)[0])),
            kind="shared_patients",
            message=f"{count} of {len(shared)} rows stand{'s' * (count == 1)} in the table of "
            f"{first} as well: where one hospital trains on a patient and another tests on it, "
            "results look better than they are",
            remedy="Keep every patient in one table",
            severity="grave" if copied or count >= ENOUGH_COLUMNS else "warning",
        )


def pairs_of(sizes: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Every pair of tables, the larger one first, of equal ones by name.

    Args:
        sizes: rows by site.
    """
    return combinations(sorted(sizes, key=lambda site: (-sizes[site], site)), 2)


def _expected(first: Table, second: Table, names: Collection[str]) -> float:
    """Equal pairs of rows by chance, if columns did not depend on each other."""
    pairs = float(len(first) * len(second))
    for name in names:
        one, other = (
            dict(zip(c.texts, c.counts(), strict=True))
            for c in (first.columns[name], second.columns[name])
        )
        equal = sum(float(count) * float(other.get(text, 0)) for text, count in one.items())
        pairs *= equal / (len(first) * len(second))
    return pairs


def row_numbers(table: Table, names: Collection[str]) -> NDArray[np.uint64]:
    """A number of every row, (B,), equal for equal texts in these columns."""
    mixed = np.zeros(len(table), dtype=np.uint64)
    for name in names:
        column = table.columns[name]
        digests = [hashlib.blake2b(one.encode(), digest_size=8).digest() for one in column.texts]
        of_text = np.array([int.from_bytes(one) for one in digests], dtype=np.uint64)
        mixed = (mixed ^ of_text[column.codes]) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed
