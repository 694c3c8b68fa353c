"""Which cells may be told: decided by everybody alike, before any count leaves a hospital.

First hospitals add up, for every cell, whether they have a patient in it, and whether they have
two. A cell passes where three hospitals have two or more: it then holds six patients at least.
Empty ones are told as empty. What does not pass is never sent, and neither is one that does pass
beside it: else all patients less the cells that are told would be the cell that is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.collaboration.describing.cells import OwnVariable, Variable

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

FEWEST_HOSPITALS = 3
"""That contribute to a cell, and that take part."""
FEWEST_EACH = 2
"""Patients of each of these in it, so that a cell holds more than `FEWEST_PATIENTS`."""
FEWEST_PATIENTS = 5
"""Of a cell; and that a hospital must have to take part, and values to count where they are
averaged."""


@dataclass(frozen=True)
class TellableVariable:
    """What is told of one variable.

    Attributes:
        groups: cells that are counted together, of which the count is sent; ranges of bins, or
            single levels.
        empty: cells that hold nobody.
        moments: whether sums of values are sent.
        filled: whether missing values count as the hospital's mean, since their number may not be
            told.
    """

    groups: tuple[tuple[int, ...], ...]
    empty: frozenset[int]
    moments: bool = False
    filled: bool = False

    @property
    def numbers(self) -> int:
        """That a hospital sends."""
        return len(self.groups) + 2 * self.moments


def questions(variable: Variable) -> int:
    """Yes or no that a hospital answers of a variable."""
    return 2 * variable.cells + variable.measured


def answers(own: OwnVariable, variable: Variable) -> Array:
    """Of each cell whether there is anybody, then whether there are `FEWEST_EACH`; and of a
    measurement whether there are `FEWEST_PATIENTS` values."""
    counts = own.counts
    said = [counts > 0, counts >= FEWEST_EACH]
    if variable.measured:
        said.append(np.array([counts[:-1].sum() >= FEWEST_PATIENTS]))
    return np.concatenate(said).astype(np.float64)


def tellable(variable: Variable, yes: Counts, hospitals: int) -> TellableVariable:
    """What may be told.

    Args:
        variable: asked about.
        yes: how many hospitals said yes, in the order of `answers`.
        hospitals: all of them.
    """
    anybody, enough = yes[: variable.cells], yes[variable.cells : 2 * variable.cells]
    empty = frozenset(np.flatnonzero(anybody == 0).tolist())
    passing = [at for at in range(variable.cells) if enough[at] >= FEWEST_HOSPITALS]
    if variable.measured:
        return _of_bins(variable, passing, empty, int(yes[-1]), hospitals)
    if len(passing) + len(empty) < variable.cells and passing:
        passing.remove(min(reversed(passing), key=lambda at: enough[at]))
    return TellableVariable(tuple((at,) for at in passing), empty)


def _of_bins(
    variable: Variable, passing: list[int], empty: frozenset[int], valued: int, hospitals: int
) -> TellableVariable:
    missing = variable.cells - 1
    filled = missing not in passing and missing not in empty
    if valued < (hospitals if filled else FEWEST_HOSPITALS):
        return TellableVariable((), empty)
    starts = [at for at in passing if at != missing]
    ends = [*starts[1:], missing] if starts else [missing]
    groups = zip([0, *starts[1:]], ends, strict=True)
    return TellableVariable(
        tuple(tuple(range(start, end)) for start, end in groups), empty, moments=True, filled=filled
    )


def told(own: Sequence[OwnVariable], allowed: Sequence[TellableVariable]) -> Array:
    """What a hospital sends: counts of groups, and sums of values, of every variable."""
    parts = []
    for one, rule in zip(own, allowed, strict=True):
        counted = one.filled() if rule.filled else one
        counts = counted.counts
        parts.append(np.array([float(counts[list(group)].sum()) for group in rule.groups]))
        if rule.moments:
            parts.append(counted.moments)
    return np.concatenate(parts) if parts else np.empty(0)
