"""What an envelope that arrived says, to a site and to its machine. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from securefair.errors import SecureFairError
from securefair.protocol.codec import Limits, decode
from securefair.protocol.effects import BeganAnew, Input, Presence, Received
from securefair.protocol.states import RoundState
from securefair.protocol.turn import Memory
from securefair.sites.post.streams import FIRST_EPOCH
from securefair.sites.site.notices import Notice, read_frame
from securefair.sites.site.pace import Pace
from securefair.sites.site.records import SiteState
from securefair.sites.site.schedule import Timetable
from securefair.sites.site.waiting import too_few
from securefair.storage import Item


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What an envelope says.

    Attributes:
        peer: who sent it.
        pace: what the site knows of everybody's rounds from now on.
        inputs: for the machine, in this order.
        blame: why it cannot be read; "" where it can.
        newcomer: its sender has to be told how far the site is: it came late, or was recovered.
    """

    peer: str
    pace: Pace
    inputs: tuple[Input, ...]
    blame: str
    newcomer: bool


@dataclass(frozen=True, kw_only=True)
class Shut:
    """Who is shut out, as a site begins to run.

    Attributes:
        pace: what the site knows of everybody's rounds from now on.
        inputs: for the machine.
        back: peers that are not blocked any more: they have to be told how far the site is.
    """

    pace: Pace
    inputs: tuple[Input, ...]
    back: tuple[str, ...]


def shut_out(
    state: SiteState, blocked: tuple[str, ...], memory: Memory, schedule: Timetable
) -> Shut:
    """The machine asks nobody who is blocked, or left.

    A round that too few would be left in keeps its questions, as a block may be taken back.

    Args:
        state: what the site knew before.
        blocked: by its operator.
        memory: of the machine.
        schedule: of the site.
    """
    now = state.pace.blocks(blocked)
    back = tuple(peer for peer in state.pace.blocked if peer not in now.shut)
    gone = [peer for peer in dict.fromkeys(now.shut) if not memory.peers[peer].away]
    within = memory.state is not RoundState.IDLE
    if within and too_few(replace(state, pace=now), now.away, schedule, tuple(memory.peers)):
        gone = []
    inputs: list[Input] = [Presence(peer, here=False) for peer in gone]
    for peer in back:
        inputs += [Presence(peer, here=True), BeganAnew(peer)]
    return Shut(pace=now, inputs=tuple(inputs), back=back)


def presences(back: Collection[str] = (), gone: Collection[str] = ()) -> list[Input]:
    """The machine is told who is here again, and who is away from now on."""
    here: list[Input] = [Presence(peer, here=True) for peer in back]
    return [*here, *(Presence(peer, here=False) for peer in gone)]


def arrived(item: Item, pace: Pace, *, rounds: int, limits: Limits) -> Reading:
    """Read an envelope.

    Args:
        item: of the inbox.
        pace: what the site knew before.
        rounds: of the collaboration.
        limits: most bytes of every message.
    """
    peer, epoch = item.stream.rsplit(" ", 1)
    first, anew, before = item.sequence == 0, int(epoch) > FIRST_EPOCH, pace
    pace = pace.hears(peer)
    said: list[Input] = []
    blame = ""
    try:
        content = read_frame(item.payload, sender=peer, rounds=rounds)
        if isinstance(content, Notice):
            pace = pace.says(peer, content.ready)
            if content.leaves:
                pace = pace.leaves(peer)
                said.append(Presence(peer, here=False))
        else:
            said.append(Received(peer, decode(content, sender=peer, limits=limits)))
    except SecureFairError as error:
        blame = str(error)
    back: list[Input] = []
    if peer in before.away and peer not in pace.away:
        back.append(Presence(peer, here=True))
    if first and anew:
        back.append(BeganAnew(peer))
    return Reading(
        peer=peer,
        pace=pace,
        inputs=(*back, *said),
        blame=blame,
        newcomer=first and (anew or pace.announced > 0),
    )
