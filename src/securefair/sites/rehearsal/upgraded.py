"""What an upgrade met: a site in the midst of a round, as its store has it."""

from __future__ import annotations

import msgspec

from securefair.protocol.states import AskingState
from securefair.protocol.turn import Memory

UNDER_WAY = {
    AskingState.ASKED,
    AskingState.CLOSED,
    AskingState.REVEALING,
    AskingState.RECALLED,
    AskingState.RECOVERING,
    AskingState.OPENING,
}


class UpgradeMade(msgspec.Struct, frozen=True, kw_only=True):
    """A site that went on with this version where the release before had begun.

    Attributes:
        site, day: which, and when.
        version: of the release before.
        rounds: that were over at that site under it.
        open_round: the round in whose midst it was, counted from 0; None: in none.
        asked: peers that it had asked something in that round and had no word of yet.
    """

    site: str
    day: int
    version: str
    rounds: int
    open_round: int | None
    asked: tuple[str, ...]


def asked_in(memory: Memory) -> set[str]:
    """Peers that a site has asked in this round, and that have not answered to the end."""
    questions = {name: peer.asking for name, peer in memory.peers.items()}
    asked = {name for name, asking in questions.items() if asking.state in UNDER_WAY}
    if memory.averaging.sum is not None:
        teachers = memory.averaging.sum.teachers
        asked |= {name for name, asking in teachers.items() if asking.state in UNDER_WAY}
    return asked
