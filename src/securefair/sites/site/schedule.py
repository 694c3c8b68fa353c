"""How a site keeps time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Timetable:
    """How a site keeps time.

    Attributes:
        rounds: of the collaboration.
        coins: the sharing coin of a round and student, in [0, 1).
        wall: seconds since 1970.
        monotonic: seconds that only grow; they do not count while the site is down.
        fewest: peers without which no deadline counts; 0: it always does.
        ends: when the project does, seconds since 1970: then every deadline counts.
        linger: seconds that a site waits after its last round for the others to end theirs.
        receipts: seconds that it waits for the last receipts when all have.
        leave: seconds for which it still answers then.
    """

    rounds: int
    coins: Callable[[int, str], float]
    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    fewest: int = 0
    ends: float = math.inf
    linger: float = 600.0
    receipts: float = 20.0
    leave: float = 2.0
