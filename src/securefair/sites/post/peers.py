"""What a site's store remembers of each peer's post, and how often something was refused."""

from __future__ import annotations

import msgspec

from securefair.sites.post.clock import WRONG
from securefair.sites.post.quotes import header_of
from securefair.sites.post.refusals import Reason
from securefair.sites.post.streams import FIRST_EPOCH, stream_of
from securefair.storage.audit import START, AuditHead
from securefair.storage.store import Transaction

QUESTION, REPLY = "question", "reply"
"""What an outbox counts envelopes under. A reply would not be there had its recipient not asked."""

CONFIRMS_NOTHING = "it asks, and its receipts are missing: its questions are let be so long"
"""What is wrong with it."""

_PEER, _REFUSED = "post peer ", "post refused"


class PeerState(msgspec.Struct, frozen=True, kw_only=True):
    """One peer's post.

    Attributes:
        epoch: of the pair.
        epochs: how often a new one was begun with it.
        began: when this one began, seconds since 1970; 0 for the first, and of earlier versions.
        confirmed: envelopes of this epoch that the peer has confirmed.
        newest, before: quotes of the two newest envelopes of it in this epoch; empty for none.
        heard: when its newest envelope was taken, seconds since 1970; 0 for never.
        ahead: seconds by which that one was dated after this site's clock.
        proved: an epoch that this site has begun with it and does not remember, by its own
            signature; 0 for none. The next recovery begins a higher one.
        turned_back: its store was turned back: this epoch is over for it.
        forgotten: it goes on after envelopes that this site does not remember, and by what it says
            has confirmed: a backup of this site was put back, or it lies.
        blocked: the operator wants nothing of it.
        fault: what it remembers otherwise than this site.
        bytes_out, bytes_in: of envelopes that were made for it, and taken from it.
    """

    epoch: int = FIRST_EPOCH
    epochs: int = 0
    began: int = 0
    confirmed: int = 0
    newest: bytes = b""
    before: bytes = b""
    heard: int = 0
    ahead: int = 0
    proved: int = 0
    turned_back: bool = False
    forgotten: bool = False
    blocked: bool = False
    fault: str = ""
    bytes_out: int = 0
    bytes_in: int = 0

    @property
    def seen(self) -> AuditHead:
        """The newest state of its audit log that it sent, under its signature."""
        header = header_of(self.newest)
        return START if header is None else AuditHead(header.audit_count, header.audit_head)

    @property
    def trouble(self) -> str:
        """What is wrong with it, or with what it remembers, for an operator; "" for nothing."""
        if self.turned_back:
            return "its store was turned back: nothing of it is taken until it recovers"
        if self.forgotten:
            return (
                "it goes on after envelopes that this site does not remember: if a backup of this "
                "site was put back, `site recover`; otherwise ask its operator"
            )
        if not self.fault and self.ahead > WRONG:
            return (
                "its clock, or this one, is wrong: its newest envelope is dated "
                f"{self.ahead / WRONG:.0f} days after it came"
            )
        return self.fault

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


def unconfirmed(tx: Transaction, peer: str, kind: str = "") -> int:
    """Envelopes that a peer has not confirmed yet: all, or those of a kind."""
    known = read_peer(tx, peer)
    stream = stream_of(peer, known.epoch)
    if kind:
        return tx.outbox.count(stream, kind)
    return tx.outbox.next_sequence(stream) - known.confirmed


def drop_unconfirmed(tx: Transaction, peer: str) -> None:
    """Forget what a peer has not confirmed: it left, and reads nothing any more."""
    tx.outbox.drop(stream_of(peer, read_peer(tx, peer).epoch))


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


def note_refusal(tx: Transaction, reason: Reason, peer: str, at: str) -> None:
    """Count what was refused; the first and every doubling goes into the audit log.

    Args:
        tx: of the own store.
        reason: the word for it.
        peer: who is behind it; "" where nobody is proved to be.
        at: now, for the audit log.
    """
    count = refused_once_more(tx, reason.value, peer)
    if count & (count - 1) == 0:
        facts = {"reason": reason.value, "peer": peer, "count": count}
        tx.audit.append("refused", facts, at=at)
