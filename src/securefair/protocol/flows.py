"""How many bits of opened values the control messages tell at most.

Whatever a participant sends after it has opened something is a function of what it opened. A table
says so for every field of every message (docs/threat-model.md, "What flows back").

Bits are an upper bound for one message, of what its *recipient*, or whoever made the opened value,
can learn of opened values. They say nothing of what a participant tells of data that it did not
open: a sharing decision is a bit about a reputation whether or not anybody aimed at it.

The machine charges them to the peer's account (`Ledger.with_bits`), whether a message leaves or
its absence tells as much. Everybody renews its keys after `MachineSettings.key_rounds`, in which
they cannot exceed `key_bits`: a public schedule, so that new keys tell nothing themselves. In
gossip the weight that a sender is told follows from the levels of its own alignments, and from
nothing else (`worth.mixing.attractions`). So an alignment is charged once, when it is opened, to
the neighbour that it is with; where senders see each other's weights, to all of them. An offer is
charged by itself: the best aligned neighbour sets its scale. It is charged to its receiver. The
other senders to that receiver see it too, by whom it asks: that bit is not charged to them. Rounds
that count against a receiver's budget unseen tell it, by the next reply to a comparison, whether
the budget is used up: that reply is charged as one in a round left to chance.
"""

from __future__ import annotations

import math

from securefair.protocol.messages import DeclineReason

QUERY_BITS = 1.0
"""Whether a teacher is asked. All queries between two forced rounds follow from one reputation, so
that they tell no more than the first of them."""

OFFER_BITS = 1.0
"""Whether a neighbour shares its model, or answers; each round until its sums are spent."""

OPENED_REASONS = frozenset(DeclineReason) - {DeclineReason.STALE}
"""What opened values may have a part in: all but the order of rounds."""

REPLY_BITS = math.log2(1 + len(OPENED_REASONS))
"""An answer, or one of these reasons for none."""


def alignment_bits(levels: int) -> float:
    """Most that all later messages tell of one opened alignment: its level, or that it was none."""
    return math.log2(levels + 1)
