"""The order between two sites: one stream a pair, epoch and direction.

Within an epoch the store takes the next envelope only, tells repeats from changes, and sends the
same bytes until they are confirmed. The epoch is the pair's: 0 at first, and higher once one of the
two has lost its store and an operator has recovered it. What is left of a lower one is void.
"""

from __future__ import annotations

import enum

FIRST_EPOCH = 0


class Turn(enum.Enum):
    """How an envelope's epoch relates to the pair's."""

    PRESENT = "of the pair's epoch"
    PAST = "of an epoch that is over"
    RENEWAL = "first of a higher epoch"
    EARLY = "of a higher epoch, and not its first"


def turn_of(known: int, epoch: int, sequence: int) -> Turn:
    """What to make of an envelope of this epoch and sequence."""
    if epoch == known:
        return Turn.PRESENT
    if epoch < known:
        return Turn.PAST
    return Turn.RENEWAL if sequence == 0 else Turn.EARLY


def stream_of(peer: str, epoch: int) -> str:
    """The store's name of a stream."""
    return f"{peer} {epoch}"


def check_expected(expected: int, *, confirmed: int, following: int) -> None:
    """See that a peer, who says which envelope it expects, remembers what this site remembers.

    Args:
        expected: what the peer says, freshly.
        confirmed: envelopes that it confirmed before.
        following: number of the next envelope that this site will make.

    Raises:
        ValueError: one of the two stores was turned back to a backup, or lost; says which.
    """
    if expected > following:
        raise ValueError(
            f"it has {expected} envelopes of this site, which remembers {following}: "
            "this site's store was lost, or turned back to a backup"
        )
    if expected < confirmed:
        raise ValueError(
            f"it remembers {expected} envelopes of this site and has confirmed {confirmed}: "
            "its store was lost, or turned back to a backup"
        )
