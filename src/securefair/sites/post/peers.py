"""What a site's store remembers of each peer's post, and how often something was refused."""

from __future__ import annotations

import msgspec

from securefair.sites.post.streams import FIRST_EPOCH
from securefair.storage.store import Transaction

_PEER, _REFUSED = "post peer ", "post refused"


class PeerState(msgspec.Struct, frozen=True, kw_only=True):
    """One peer's post.

    Attributes:
        epoch: of the pair.
        confirmed: envelopes of this epoch that the peer has confirmed.
        seen_count, seen_head: newest state of the peer's audit log that it sent.
        before_count, before_head: the one before it. Receipts say this one, also of an envelope
            that comes again: so a log that was written anew is found by its own site.
        heard: when its newest envelope was taken, seconds since 1970; 0 for never.
        turned_back: its store was turned back: this epoch is over for it.
        blocked: the operator wants nothing of it.
        fault: what it remembers otherwise than this site.
        bytes_out, bytes_in: of envelopes that were made for it, and taken from it.
    """

    epoch: int = FIRST_EPOCH
    confirmed: int = 0
    seen_count: int = 0
    seen_head: bytes = bytes(32)
    before_count: int = 0
    before_head: bytes = bytes(32)
    heard: int = 0
    turned_back: bool = False
    blocked: bool = False
    fault: str = ""
    bytes_out: int = 0
    bytes_in: int = 0

    def plus(self, **changes: object) -> PeerState:
        """With other values."""
        return msgspec.structs.replace(self, **changes)


def read_peer(tx: Transaction, peer: str) -> PeerState:
    """What is remembered of a peer."""
    data = tx.memory.get(_PEER + peer)
    return PeerState() if data is None else msgspec.msgpack.decode(data, type=PeerState)


def write_peer(tx: Transaction, peer: str, state: PeerState) -> None:
    """Remember this of a peer from now on."""
    tx.memory.put(_PEER + peer, msgspec.msgpack.encode(state))


def refusals(tx: Transaction) -> dict[str, int]:
    """How often something was refused, by "reason" or "reason, peer"."""
    data = tx.memory.get(_REFUSED)
    return {} if data is None else msgspec.msgpack.decode(data, type=dict[str, int])


def refused_once_more(tx: Transaction, reason: str, peer: str) -> int:
    """Count one more; how often it was by now."""
    counts = refusals(tx)
    key = f"{reason}, {peer}" if peer else reason
    counts[key] = counts.get(key, 0) + 1
    tx.memory.put(_REFUSED, msgspec.msgpack.encode(counts))
    return counts[key]
