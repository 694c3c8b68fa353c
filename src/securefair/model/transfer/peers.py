"""Whom a hospital asks, and what it opens of their answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from securefair.model.seeds import derive_seed

Opened = Literal["each", "mean"]

FEWEST_SUMMED = 3
"""Teachers from which on only the sum of their answers is opened, unless the settings say else."""

FEWEST_LEFT = 2
"""Teachers of a mean: that over one is its answer."""


def opened_of(wanted: Literal["auto", "each", "mean"], teachers: int) -> Opened:
    """What a student of so many teachers opens; "auto" leaves it to their number."""
    if wanted != "auto":
        return wanted
    return "mean" if teachers >= FEWEST_SUMMED else "each"


def missing_of(wanted: int, teachers: int, fewest: int = FEWEST_LEFT) -> int:
    """How many of so many teachers a mean may be without: never so many that too few are left."""
    return max(0, min(wanted, teachers - fewest))


def asked_peers(names: Sequence[str], peers: int, seed: int) -> dict[str, tuple[str, ...]]:
    """Whom each student asks, in the order of `names`: all others of its group.

    The seed divides everybody into as many groups as there can be of `peers` + 1 and more, as equal
    as they get; fewer than twice that are one group. In a group everybody asks everybody. So all
    that a group ever opens is one sum of its fits, less the own one, over all but the few that may
    be missing: nobody finds a single fit but all others of it together (`missing_of`). Sets that
    overlap would tell more: of ten on a ring that ask eight each, three that work together find the
    fit of a fourth.

    For all at once: whoever divides everybody again for each student takes time that grows with the
    square of their number.
    """
    groups = max(1, len(names) // (peers + 1))
    order = np.random.default_rng(derive_seed(seed, "peers", "")).permutation(len(names))
    asked = dict[str, tuple[str, ...]]()
    for group in np.array_split(order, groups):
        members = [names[index] for index in sorted(group.tolist())]
        asked |= {student: tuple(one for one in members if one != student) for student in members}
    return asked
