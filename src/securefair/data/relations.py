"""What columns of several hospitals say of each other: values as numbers, and correlations."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from securefair.config.columns import code
from securefair.data.cells import Column, Table
from securefair.data.leaks import Classes
from securefair.data.shape import Shape

LEAST = 20
"""Patients of each hospital."""

Tables = Mapping[str, tuple[Table, Mapping[str, Shape]]]

Array = NDArray[np.float64]

Pulls = Mapping[str, float]
"""By site: standard errors between 0 and a correlation with the outcome, with its sign."""


def outcome_of(column: Column, shape: Shape, *, is_class: bool, joined: bool) -> Array:
    """(B,) of the label: 0 and 1 of two classes, or the number; NaN of others."""
    if not is_class:
        return shape.values[column.codes]
    return of_two(Classes.of(column, shape, joined=joined))


def of_two(classes: Classes) -> Array:
    """(B,) 0 and 1 of two classes; NaN where one is missing, and of others."""
    known = classes.of_row >= 0 if len(classes.names) == 2 else np.zeros_like(classes.of_row, bool)
    return np.where(known, classes.of_row.astype(np.float64), np.nan)


def numbers_of(name: str, tables: Tables, *, joined: bool) -> Mapping[str, Array]:
    """By site, (B,) of a column of numbers, or of two codes; empty where it is neither."""
    having = {site: one for site, one in tables.items() if name in one[0].columns}
    if measured := _measured(name, having):
        return measured
    two = coded(name, having, joined=joined)
    return {} if two is None else two[1]


def _measured(name: str, tables: Tables) -> dict[str, Array]:
    """By site, (B,) of a column of numbers; empty where it is none at some hospital."""
    if not all(shapes[name].numeric for _, shapes in tables.values()):
        return {}
    return {
        site: shapes[name].values[table.columns[name].codes]
        for site, (table, shapes) in tables.items()
    }


def coded(
    name: str, tables: Tables, *, joined: bool
) -> tuple[tuple[str, str], dict[str, Array]] | None:
    """The two codes of a column, and each hospital's values as 0 and 1 (NaN: missing).

    None where the codes of all are not two, or fewer than two hospitals have enough patients.
    """
    spelt: dict[str, list[str]] = {}
    for site, (table, shapes) in tables.items():
        if name not in table.columns or np.count_nonzero(shapes[name].counted) > 2:
            return None
        spelt[site] = [code(text, joined=joined) for text in table.columns[name].texts]
    codes = sorted(
        {
            one
            for site, (_, shapes) in tables.items()
            for one, counts in zip(spelt[site], shapes[name].counted, strict=True)
            if counts
        }
    )
    if len(codes) != 2:
        return None
    result = {}
    for site, (table, shapes) in tables.items():
        upper = np.array([float(one == codes[1]) for one in spelt[site]])
        values = np.where(shapes[name].counted, upper, np.nan)[table.columns[name].codes]
        if np.isfinite(values).sum() >= LEAST:
            result[site] = values
    return None if len(result) < 2 else ((codes[0], codes[1]), result)


def measurements(tables: Tables, outcome: Collection[str]) -> dict[str, Mapping[str, Array]]:
    """Columns of numbers of all hospitals, each hospital's values by row, (B,)."""
    return {
        name: values
        for name in next(iter(tables.values()))[0].columns
        if name not in outcome
        and all(name in table.columns for table, _ in tables.values())
        and (values := _measured(name, tables))
        and all(np.isfinite(shapes[name].values).sum() > 2 for _, shapes in tables.values())
    }


def pulls_of(of_site: Mapping[str, Array], outcomes: Mapping[str, Array]) -> Pulls:
    """How a column goes with the outcome."""
    found = {site: correlation(values, outcomes[site]) for site, values in of_site.items()}
    return {
        site: r * math.sqrt(max(0, known - 2) / max(1e-12, 1 - r * r))
        for site, (r, known) in found.items()
    }


def correlation(one: Array, other: Array) -> tuple[float, int]:
    """Of rows that have both, and how many have; 0 of fewer than `LEAST`, or one value alone."""
    known = np.isfinite(one) & np.isfinite(other)
    x, y = one[known], other[known]
    if len(x) < LEAST or np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0, len(x)
    return float(np.corrcoef(x, y)[0, 1]), len(x)
