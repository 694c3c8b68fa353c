"""The order between two sites: one stream a pair, epoch and direction.

Within an epoch the store takes the next envelope only, tells repeats from changes, and sends the
same bytes until they are confirmed. The epoch is the pair's: 0 at first, and higher once one of the
two has lost its store and an operator has recovered it. What is left of a lower one is void.
"""

from __future__ import annotations

import enum

FIRST_EPOCH = 0
LAST_EPOCH = 2**33
"""No higher epoch is begun or believed. Epochs are seconds since 1970, so it lasts 270 years."""


class StreamTurn(enum.Enum):
    """How an envelope's epoch relates to the pair's."""

    PRESENT = "of the pair's epoch"
    PAST = "of an epoch that is over"
    RENEWAL = "first of a higher epoch"
    EARLY = "of a higher epoch, and not its first"


def turn_of(known: int, epoch: int, sequence: int) -> StreamTurn:
    """What to make of an envelope of this epoch and sequence."""
    if epoch == known:
        return StreamTurn.PRESENT
    if epoch < known:
        return StreamTurn.PAST
    return StreamTurn.RENEWAL if sequence == 0 else StreamTurn.EARLY


def stream_of(peer: str, epoch: int) -> str:
    """The store's name of a stream."""
    return f"{peer} {epoch}"
