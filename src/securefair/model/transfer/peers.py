"""Whom a hospital asks, and what it opens of their answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from securefair.model.seeds import derived_seed

Opened = Literal["each", "mean"]

FEWEST_SUMMED = 3
"""Teachers from which on only the sum of their answers is opened, unless the settings say else."""


def opened_of(wanted: Opened | None, teachers: int) -> Opened:
    """What a student of so many teachers opens; None leaves it to their number."""
    return wanted or ("mean" if teachers >= FEWEST_SUMMED else "each")


def asked_peers(names: Sequence[str], student: str, peers: int, seed: int) -> tuple[str, ...]:
    """Whom a student asks, in the order of `names`: all others, or about `peers` of them.

    The seed arranges everybody in a ring, and a student asks those next to it on either side, so
    that it is asked by whom it asks: an odd number of `peers` is one less then.
    """
    others = [name for name in names if name != student]
    if len(others) <= peers:
        return tuple(others)
    ring = list(np.random.default_rng(derived_seed(seed, "peers", "")).permutation(len(names)))
    at = ring.index(names.index(student))
    steps = [*range(-(peers // 2), 0), *range(1, peers - peers // 2 + 1)]
    if peers % 2:  # an odd one more would not ask back
        steps.pop()
    near = {int(ring[(at + step) % len(ring)]) for step in steps}
    return tuple(name for index, name in enumerate(names) if index in near)
