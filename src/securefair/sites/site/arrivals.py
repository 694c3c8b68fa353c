"""What an envelope that arrived says, to a site and to its machine. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from securefair.errors import SecureFairError
from securefair.protocol.codec import Limits, decode
from securefair.protocol.effects import BeganAnew, Input, Received
from securefair.sites.post.streams import FIRST_EPOCH
from securefair.sites.site.attendance import Attendance
from securefair.sites.site.notices import Notice, read_frame
from securefair.storage import Item


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What an envelope says.

    Attributes:
        peer: who sent it.
        peers: what the site knows of them from now on.
        inputs: for the machine, in this order.
        blame: why it cannot be read; "" where it can.
        newcomer: its sender has to be told how far the site is: it came late, or was recovered.
    """

    peer: str
    peers: Attendance
    inputs: tuple[Input, ...]
    blame: str
    newcomer: bool


def arrived(item: Item, peers: Attendance, *, rounds: int, limits: Limits) -> Reading:
    """Read an envelope.

    Args:
        item: of the inbox.
        peers: what the site knew of them before.
        rounds: of the collaboration.
        limits: most bytes of every message.
    """
    peer, epoch = item.stream.rsplit(" ", 1)
    first, anew = item.sequence == 0, int(epoch) > FIRST_EPOCH
    peers = peers.hears(peer)
    said: list[Input] = [BeganAnew(peer)] if first and anew else []
    blame = ""
    try:
        content = read_frame(item.payload, sender=peer, rounds=rounds)
        if isinstance(content, Notice):
            peers = peers.says(peer, content.ready)
            peers = peers.leaves(peer) if content.leaves else peers
        else:
            said.append(Received(peer, decode(content, sender=peer, limits=limits)))
    except SecureFairError as error:
        blame = str(error)
    return Reading(
        peer=peer,
        peers=peers,
        inputs=tuple(said),
        blame=blame,
        newcomer=first and (anew or peers.announced > 0),
    )
