"""A peer that was recovered: it forgot what it was told, what it asked, and what it answered.

It is told everything again, and asked again what its answer alone decides; of a sum it has lost its
part, or the key of it. What it had asked stays decided: it gets no second answer, and is not blamed
for asking.
"""

from __future__ import annotations

from dataclasses import replace

from securefair.protocol import admission, summing
from securefair.protocol.states import ServingState
from securefair.protocol.turn import Turn


def begin_anew(turn: Turn, name: str) -> None:
    """A peer began anew; questions that were only kept are as if it had never asked them."""
    peer = turn.peer(name)
    serving = {
        at: replace(one, forgotten=True)
        for at, one in peer.serving.items()
        if one.state is not ServingState.KEPT or one.asked.summed
    }
    turn.set_peer(name, replace(peer, serving=serving))
    admission.tell_again(turn, name)
    summing.give_up(turn, name)
