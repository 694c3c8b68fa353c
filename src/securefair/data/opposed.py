"""Whether one hospital's classes look swapped: what speaks for a class elsewhere speaks against it.

Every column of numbers, or of two codes, has one figure a hospital: how many standard errors its
correlation with the second of two classes lies from 0. Where several columns point clearly one way
at the others and the other way here, and none clearly the same way, the codes of the label are the
likelier reason than the patients.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from securefair.data.cells import Column, Table
from securefair.data.findings import EVERYONE, Finding
from securefair.data.leaks import Classes
from securefair.data.shape import Shape

CLEAR, COLUMNS = 2.5, 2
"""Standard errors from which a column points one way, and columns that must be opposed."""

LEAST = 20
"""Patients of each hospital."""


def opposed_classes(
    tables: Mapping[str, tuple[Table, Mapping[str, Shape]]], label: str, *, joined: bool
) -> Iterator[Finding]:
    """Pairs of hospitals whose columns point in opposite directions.

    Args:
        tables: by site, each with the shapes of its columns.
        label: the column to predict, of two classes; of others nothing is told.
        joined: whether spellings that differ in case only are one code.
    """
    classes = {
        site: Classes.of(table.columns[label], shapes[label], joined=joined)
        for site, (table, shapes) in tables.items()
    }
    names = {one.names for one in classes.values()}
    if len(names) != 1 or len(next(iter(names))) != 2:
        return
    pulls = {
        site: {
            name: _pull(column, shapes[name], classes[site])
            for name, column in table.columns.items()
            if name != label
        }
        for site, (table, shapes) in tables.items()
    }
    for one, other in combinations(pulls, 2):
        clear = {
            name: pulls[one][name] * pulls[other][name]
            for name in pulls[one].keys() & pulls[other].keys()
            if min(abs(pulls[one][name]), abs(pulls[other][name])) >= CLEAR
        }
        against = sorted(name for name, both in clear.items() if both < 0)
        if len(against) < COLUMNS or len(against) < len(clear):
            continue
        yield Finding(
            site=EVERYONE,
            column=label,
            line=None,
            kind="opposed_classes",
            message=f"{', '.join(against)} speak for one code at {one} and for the other code at "
            f"{other}: the two codes may be swapped at one of them",
            remedy="Ask what each code means there, before anything is learnt from both",
            severity="grave",
        )


def _pull(column: Column, shape: Shape, classes: Classes) -> float:
    """Standard errors between 0 and the correlation with the second class; 0 where none is told."""
    if shape.numeric:
        of_text = shape.values
    elif int(shape.counted.sum()) == 2:
        first = min(
            text for text, counts in zip(column.texts, shape.counted, strict=True) if counts
        )
        of_text = np.where(
            shape.counted, np.array([float(text != first) for text in column.texts]), np.nan
        )
    else:
        return 0.0
    return pull(
        of_text[column.codes], np.where(classes.of_row >= 0, classes.of_row.astype(float), np.nan)
    )


def pull(values: NDArray[np.float64], outcome: NDArray[np.float64]) -> float:
    """Standard errors between 0 and the correlation of two columns.

    Args:
        values, outcome: (B,), NaN where a value is missing.

    Returns:
        With the correlation's sign; 0 of fewer than `LEAST` patients, or where one is constant.
    """
    known = np.isfinite(values) & np.isfinite(outcome)
    if known.sum() < LEAST:
        return 0.0
    x, y = values[known], outcome[known]
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    r = float(np.corrcoef(x, y)[0, 1])
    return float(r * np.sqrt((len(x) - 2) / max(1e-12, 1 - r * r)))
