"""Which cells may be told: decided by everybody alike, before any count leaves a hospital.

First hospitals add up, for every cell, whether they have `FEWEST_EACH` patients in it. A cell
passes where so many hospitals have as the settings say. Where that are all, no lie of others makes
a hospital send a cell in which it has fewer. What does not pass is never sent, an empty cell as
little as a rare one, and neither is one that does pass beside it: else all patients less the cells
that are told would be the cell that is not.

Of a measurement the range is halved as long as a half passes; one that does not is counted with its
neighbour. So groups hold everybody, and each holds a part that passes by itself. Nothing else of
values is told: an exact sum of them would tell the one rare value that it holds.

How many hospitals have anybody is not asked: with how many have several it would tell a cell of
one patient in each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.collaboration.table_one.cells import BINS, OwnVariable, Variable

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

FEWEST_EACH = 3
"""Patients of a hospital in a cell, so that two others together, of whom a third hospital knows the
sum, have more than `FEWEST_PATIENTS`."""
HALVES = tuple(
    (start, start + size)
    for size in (BINS >> depth for depth in range(1, BINS.bit_length()))
    for start in range(0, BINS, size)
)
"""Of the range of a measurement, and halves of halves, down to single bins: first and last + 1."""

FEWEST_PATIENTS = 5
"""Of a cell; and that a hospital must have to take part, and values of a measurement that is
told."""


@dataclass(frozen=True)
class TellableVariable:
    """What is told of one variable.

    Attributes:
        groups: cells that are counted together, of which the count is sent; ranges of bins, or
            single levels.
        filled: whether missing values count as the hospital's median, since their number may not
            be told.
        cores: of each group of bins the part that passes by itself, first and last + 1.
    """

    groups: tuple[tuple[int, ...], ...]
    filled: bool = False
    cores: tuple[tuple[int, int], ...] = ()


LAYOUT_BYTES = 32

Allowed = tuple[TellableVariable, ...]
"""Of every variable."""


def width(variable: Variable) -> int:
    """Numbers of one variable in every sum: yes or no of its levels, or of all halves of its range,
    of missing values where there may be some, and of a measurement whether there are values."""
    if not variable.measured:
        return variable.cells
    return len(HALVES) + variable.optional + 1


def length(variables: Sequence[Variable]) -> int:
    """Numbers of a sum: patients, and what each variable has."""
    return 1 + sum(map(width, variables))


def answers(own: OwnVariable, variable: Variable) -> Array:
    """Of each whether `FEWEST_EACH` are in it; of a measurement whether there are
    `FEWEST_PATIENTS` values; (width,) as there.

    Missing values that are too few to be told are filled from the start: groups with more patients
    than the halves that do not pass have room for would tell of them.
    """
    counts = own.counts
    if not variable.measured:
        return (counts >= FEWEST_EACH).astype(np.float64)
    if counts[BINS:].sum() < FEWEST_EACH:
        counts = own.filled().counts
    halves = [counts[start:end].sum() >= FEWEST_EACH for start, end in HALVES]
    missing = (counts[BINS:] >= FEWEST_EACH).tolist()
    enough = counts[:BINS].sum() >= FEWEST_PATIENTS
    return np.array([*halves, *missing, enough], dtype=np.float64)


def asked_first(patients: int, own: Sequence[OwnVariable], variables: Sequence[Variable]) -> Array:
    """What a hospital adds first, (length,)."""
    said = [answers(one, variable) for one, variable in zip(own, variables, strict=True)]
    return np.concatenate([[float(patients)], *said])


def decided(variables: Sequence[Variable], yes: Counts, hospitals: int) -> Allowed:
    """What may be told of every variable.

    Args:
        variables: all of them.
        yes: (length,) sum of what all hospitals added first.
        hospitals: that must have said yes of a cell.
    """
    ends = np.cumsum([1, *map(width, variables)])[:-1]
    return tuple(
        tellable(variable, part, hospitals)
        for variable, part in zip(variables, np.split(yes, ends)[1:], strict=True)
    )


def layout_of(allowed: Allowed) -> bytes:
    """32 bytes over what is told: sums of hospitals that decided otherwise do not open."""
    plain = [(one.groups, one.filled) for one in allowed]
    return hashlib.sha256(b"securefair description\0" + msgspec.msgpack.encode(plain)).digest()


def tellable(variable: Variable, yes: Counts, hospitals: int) -> TellableVariable:
    """What may be told of one.

    Args:
        variable: asked about.
        yes: (width,) how many hospitals said yes, in the order of `answers`.
        hospitals: that must have.
    """
    if variable.measured:
        return _of_halves(variable, yes >= hospitals)
    passing = [at for at in range(variable.cells) if yes[at] >= hospitals]
    if passing and len(passing) < variable.cells:
        passing.remove(min(reversed(passing), key=lambda at: yes[at]))
    return TellableVariable(tuple((at,) for at in passing))


def _of_halves(variable: Variable, passes: NDArray[np.bool_]) -> TellableVariable:
    if not passes[-1]:
        return TellableVariable(())
    may = dict(zip(HALVES, passes.tolist(), strict=False))

    def parts(start: int, end: int) -> list[tuple[tuple[int, int], int]]:
        """Cores of a part that passes, and where their groups end; a half that does not goes to its
        neighbour."""
        middle = (start + end) // 2
        halves = ((start, middle), (middle, end)) if end - start > 1 else ()
        found = [one for half in halves if may.get(half) for one in parts(*half)]
        *before, (core, _) = found or [((start, end), end)]
        return [*before, (core, end)]

    cores, ends = zip(*parts(0, BINS), strict=True)
    groups = [tuple(range(start, end)) for start, end in pairwise([0, *ends])]
    filled = variable.optional and not passes[len(HALVES)]
    return TellableVariable(tuple(groups), filled=filled, cores=cores)


def told(own: Sequence[OwnVariable], variables: Sequence[Variable], allowed: Allowed) -> Array:
    """What a hospital adds then, (length,): counts of groups, in the place of their first cell; 0
    elsewhere."""
    parts = [np.zeros(1)]
    for one, variable, rule in zip(own, variables, allowed, strict=True):
        counted, part = one.filled() if rule.filled else one, np.zeros(width(variable))
        counts = counted.counts
        for group in rule.groups:
            part[group[0]] = counts[list(group)].sum()
        parts.append(part)
    return np.concatenate(parts)


def told_of(total: Array, variables: Sequence[Variable], allowed: Allowed) -> list[Array]:
    """Of an opened sum what each variable has: counts of its groups."""
    ends = np.cumsum([1, *map(width, variables)])[:-1]
    return [
        part[[group[0] for group in rule.groups]]
        for variable, rule, part in zip(variables, allowed, np.split(total, ends)[1:], strict=True)
    ]
