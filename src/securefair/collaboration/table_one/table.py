"""Opened sums -> table 1: all hospitals together, beside one hospital's own patients."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from securefair.collaboration.described import Described, DescribedRow
from securefair.collaboration.table_one.cells import BINS, OwnVariable, Variable
from securefair.collaboration.table_one.rules import Allowed, TellableVariable, told_of

Array = NDArray[np.float64]
QUARTERS = (0.25, 0.5, 0.75)
WIDEST = BINS // 8
"""Bins of a group in which a quartile is read: an eighth of the range."""
WIDEST_MEAN = BINS // 4
"""Bins of a patient's group on average, where a mean is read: two groups at least."""
BESIDE = 0.2
"""Of a group, that counts as spread over all of it. All spread so made the SD of ages of four
hospitals 1.4 times what it is."""


def table_one(
    hospital: str,
    variables: Sequence[Variable],
    allowed: Allowed,
    own: Sequence[OwnVariable],
    *,
    hospitals: int,
    own_patients: int,
    patients: int,
    first_rows: bool,
    total: Array,
    strata_of: str,
    numbers: int,
    bits: int,
) -> Described:
    """Table 1 of one hospital.

    Args:
        hospital: whose.
        variables: that are described.
        allowed: which cells were told.
        own: its own patients.
        hospitals: that have patients in a cell that is told.
        own_patients, patients: its own, and all.
        total: (length,) of all hospitals, of what is told.
        first_rows, strata_of, numbers, bits: as of `Described`.
    """
    rows: list[DescribedRow] = []
    parts = told_of(total, variables, allowed)
    for variable, rule, part, one in zip(variables, allowed, parts, own, strict=True):
        figures = _measured if variable.measured else _counted
        for figure, level, together, alone in figures(variable, rule, part, patients, one):
            rows.append(
                DescribedRow(
                    variable=variable.name,
                    figure=figure,
                    level=level,
                    together=together,
                    by_hospital={hospital: alone},
                )
            )
    return Described(
        patients=patients,
        by_hospital={hospital: own_patients},
        hospitals=hospitals,
        rows=rows,
        filled=[one.name for one, rule in zip(variables, allowed, strict=True) if rule.filled],
        first_rows=first_rows,
        strata_of=strata_of,
        numbers=numbers,
        bits=bits,
    )


_Figure = tuple[str, str, float | None, float | None]
"""Which, of which level, together, own."""


def _counted(
    variable: Variable, rule: TellableVariable, part: Array, patients: int, own: OwnVariable
) -> list[_Figure]:
    counts = {group[0]: int(value) for group, value in zip(rule.groups, part.tolist(), strict=True)}
    rows: list[_Figure] = [
        ("level", level, counts.get(at), int(own.counts[at]))
        for at, level in enumerate(variable.levels)
    ]
    missing = len(variable.levels)
    rows.append(
        ("missing", "", counts.get(missing), int(own.counts[missing]))
        if variable.optional
        else ("missing", "", 0, 0)
    )
    hidden = [at for at in range(variable.cells) if at not in counts]
    if hidden:
        rest = patients - sum(counts.values())
        rows.append(("others", "", rest, int(own.counts[hidden].sum())))
    return rows


def _measured(
    variable: Variable, rule: TellableVariable, part: Array, patients: int, own: OwnVariable
) -> list[_Figure]:
    figures: dict[str, float | None] = dict.fromkeys(("mean", "sd", "q25", "median", "q75"))
    missing: float | None = None if variable.optional else 0
    if rule.groups:
        edges = [0, *(group[-1] + 1 for group in rule.groups)]
        values = int(part.sum())
        if part @ np.diff(edges) <= WIDEST_MEAN * values:
            mean, sd = _mean_and_sd(part, edges, rule.cores)
            figures["mean"] = variable.in_unit(mean)
            figures["sd"] = sd * (variable.high - variable.low) / 2
        quarters = _quantiles(part, edges)
        figures |= {
            name: None if quarter is None else variable.in_unit(quarter)
            for name, quarter in zip(("q25", "median", "q75"), quarters, strict=True)
        }
        if variable.optional and not rule.filled:
            missing = patients - values
    alone = _own_figures(variable, own)
    together = {**figures, "missing": missing}
    return [(figure, "", value, alone[figure]) for figure, value in together.items()]


def _mean_and_sd(
    counts: Array, edges: Sequence[int], cores: Sequence[tuple[int, int]]
) -> tuple[float, float]:
    """In [-1, 1], as if values were spread evenly: of a group four of five in its core, and one of
    five over all of it."""
    ends = 2 * np.array([*cores, *pairwise(edges)]) / BINS - 1
    middles, widths, values = ends.mean(axis=1), np.ptp(ends, axis=1), counts.sum()
    weights = np.concatenate([(1 - BESIDE) * counts, BESIDE * counts])
    mean = float(weights @ middles / values)
    spread = weights @ ((middles - mean) ** 2 + widths**2 / 12) / max(1.0, values - 1)
    return mean, float(np.sqrt(spread))


def _quantiles(counts: Array, edges: Sequence[int]) -> list[float | None]:
    """Quarters in [-1, 1], as if values were spread evenly within groups of bins; None in a group
    that is too wide to say where in it."""
    below = np.concatenate([[0.0], counts.cumsum()])
    found: list[float | None] = []
    for quarter in np.array(QUARTERS) * below[-1]:
        at = int(np.searchsorted(below[1:], quarter))
        start, end = edges[at], edges[at + 1]
        inside = start + (quarter - below[at]) / counts[at] * (end - start)
        found.append(None if end - start > WIDEST else -1 + 2 * float(inside) / BINS)
    return found


def _own_figures(variable: Variable, own: OwnVariable) -> dict[str, float | None]:
    """Of a hospital's own patients, from their values."""
    values = own.scaled[np.isfinite(own.scaled)]
    missing = float(len(own.scaled) - len(values))
    if not len(values):
        return dict.fromkeys(("mean", "sd", "q25", "median", "q75")) | {"missing": missing}
    quarters = np.quantile(values, QUARTERS).tolist()
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return {
        "mean": variable.in_unit(float(values.mean())),
        "sd": spread * (variable.high - variable.low) / 2,
        **dict(zip(("q25", "median", "q75"), map(variable.in_unit, quarters), strict=True)),
        "missing": missing,
    }
