"""How a site keeps time: clocks, rounds, and the one deadline that it waits for."""

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

    @property
    def needs(self) -> int:
        """Peers without which no deadline counts now."""
        return self.fewest if self.wall() < self.ends else 0


class Deadline:
    """Of the round, or after the last one of the waiting; time in which a site is down is no part.

    Args:
        monotonic: seconds that only grow.
        left: seconds to it, as they were noted last.
    """

    def __init__(self, monotonic: Callable[[], float], left: float) -> None:
        self._monotonic = monotonic
        self.set(left)

    @property
    def left(self) -> float:
        """Seconds to it; below 0 once it has passed."""
        return self._left - self.age

    @property
    def age(self) -> float:
        """Seconds since it was set or noted."""
        return self._monotonic() - self._anchor

    def set(self, seconds: float) -> None:
        """So many seconds from now."""
        self._anchor, self._left = self._monotonic(), seconds
