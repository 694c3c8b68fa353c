"""A clock that jumps only between two starts of a site.

The machine's clock may be set while a site runs, by a day or by a year. What a site dates and what
it lets expire then goes on as before: it looked at the machine's clock when it began, and counts
seconds since.
"""

from __future__ import annotations

import time
from collections.abc import Callable

WRONG = 86_400
"""Seconds from which on two clocks that differ are worth a word to the operator."""


class SteadyClock:
    """Seconds since 1970.

    Args:
        wall: the machine's clock.
        monotonic: seconds that nobody can set.
    """

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall, self._monotonic = wall, monotonic
        self._began = wall() - monotonic()

    def __call__(self) -> float:
        """Now, by the clock as it was at the start."""
        return self._began + self._monotonic()

    @property
    def shifted(self) -> float:
        """Seconds by which the machine's clock was set forward since; below 0 for back."""
        return self._wall() - self()
