"""What a participant notes of its last rounds: its model as a round began, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from securefair.errors import LocalProtocolError

N = TypeVar("N")

KEPT_ROUNDS = 2
"""A participant may still owe something of the round before the one it has begun."""


class Rounds(dict[int, N]):
    """Notes by round, of the last rounds alone."""

    def begin(self, round: int, notes: N) -> None:
        """Note a round from now on, and forget what nobody may ask for any more."""
        self[round] = notes
        for old in [number for number in self if number <= round - KEPT_ROUNDS]:
            del self[old]

    def __missing__(self, round: int) -> N:
        """Refuse rounds that were forgotten, or never began.

        Raises:
            LocalProtocolError: always.
        """
        raise LocalProtocolError("that round's model is no longer kept", found=round)


@contextmanager
def timed(seconds: dict[str, float], peer: str) -> Iterator[None]:
    """Add the time inside to a peer's; timings are records and decide nothing."""
    start = time.perf_counter()
    yield
    seconds[peer] = seconds.get(peer, 0.0) + time.perf_counter() - start
