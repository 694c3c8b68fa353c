"""What a receipt does to the sender's side: what was confirmed is forgotten, and nothing more.

A peer may say in its receipts whatever it likes. It moves nothing but its own pair with this site,
and stops this site only by the site's own signature (`proof`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from securefair.sites.post.envelope import Header
from securefair.sites.post.peers import PeerState, note_refusal, read_peer, write_peer
from securefair.sites.post.proof import check_own_past
from securefair.sites.post.quotes import NO_QUOTE, quoted_header
from securefair.sites.post.receipts import Fate, Receipt
from securefair.sites.post.refusals import Reason
from securefair.sites.post.streams import stream_of
from securefair.sites.project.card import Card, utc
from securefair.sites.project.identity import Identity
from securefair.storage.store import Transaction

EPOCH_LASTS = 60
"""Seconds from the beginning of one epoch of a pair to that of the next, at least."""


@dataclass(frozen=True, kw_only=True)
class Correspondence:
    """Who writes to whom, and about what.

    Attributes:
        identity: of this site.
        project: digest of the project.
        cards: of the peers, by name.
        expires: when the project ends, seconds since 1970.
        largest_frame: most bytes of a frame.
    """

    identity: Identity
    project: bytes
    cards: Mapping[str, Card]
    expires: int
    largest_frame: int


def settle(tx: Transaction, about: Correspondence, peer: str, receipt: Receipt, now: float) -> bool:
    """Take what a peer says of this site's envelopes; whether it took the one that it got.

    Args:
        tx: of the own store.
        about: who and what for.
        peer: who signed the receipt.
        receipt: fresh.
        now: seconds since 1970.

    Raises:
        StorageError: the receipt proves that this site must not go on.
    """
    known = read_peer(tx, peer)
    if known.blocked:  # it stops nobody either, by what it shows of an epoch that is its alone
        return False
    if receipt.epoch < known.epoch:
        return False  # it does not know of the new epoch yet
    quoted = _quoted(about, peer, receipt)
    check_own_past(tx, peer, known.epoch, quoted)
    if receipt.epoch > known.epoch:
        if not is_young(known, now):
            renew(tx, peer, known, receipt.epoch, now)
        return False
    stream = stream_of(peer, known.epoch)
    following = tx.outbox.next_sequence(stream)
    problem = _unbelievable(receipt, known.confirmed, following)
    if len(quoted) < sum(one != NO_QUOTE for one in (receipt.before, receipt.newest)):
        problem = "it quotes what this site never signed for it"
    if problem is not None:
        write_peer(tx, peer, known.plus(fault=problem))
        note_refusal(tx, Reason.UNPROVED, peer, utc(now))
        return False
    if receipt.expected > known.confirmed:
        tx.outbox.acknowledge(stream, receipt.expected - 1)
        write_peer(tx, peer, known.plus(confirmed=receipt.expected, fault=""))
    return receipt.fate is Fate.TAKEN


def renew(tx: Transaction, peer: str, known: PeerState, epoch: int, now: float) -> None:
    """Begin a higher epoch with a peer: whatever is left of the lower one is void.

    Args:
        tx: of the own store.
        peer: with whom.
        known: of it.
        epoch: the higher one.
        now: seconds since 1970.
    """
    stream = stream_of(peer, known.epoch)
    tx.outbox.forget(stream)
    tx.inbox.forget(stream)
    fresh = PeerState(
        epoch=epoch,
        epochs=known.epochs + 1,
        began=int(now),
        blocked=known.blocked,
        bytes_out=known.bytes_out,
        bytes_in=known.bytes_in,
    )
    write_peer(tx, peer, fresh)
    if fresh.epochs & known.epochs == 0:  # the first and every doubling, as of refusals
        count = fresh.epochs
        tx.audit.append("epoch", {"peer": peer, "epoch": epoch, "count": count}, at=utc(now))


def is_young(known: PeerState, now: float) -> bool:
    """Whether a pair's epoch began so shortly ago that another may wait.

    Each costs everything that was ever told the peer once more, megabytes for a small envelope. No
    operator recovers a site twice in a minute.
    """
    return known.began > 0 and 0 <= now - known.began < EPOCH_LASTS


def _unbelievable(receipt: Receipt, confirmed: int, following: int) -> str | None:
    """What in a receipt is not so, or is not shown to be so."""
    if receipt.expected > following or receipt.fate is Fate.TURNED_BACK:
        return (
            f"it says that this site's store was lost or turned back (it has {receipt.expected} "
            f"envelopes, this site made {following}), and shows none that this site signed and "
            "does not remember: so there is nothing to be done here; ask its operator"
        )
    if receipt.expected < confirmed:
        return (
            f"it remembers {receipt.expected} envelopes of this site and has confirmed "
            f"{confirmed}: its store was lost, or turned back to a backup"
        )
    return None


def _quoted(about: Correspondence, peer: str, receipt: Receipt) -> list[tuple[bytes, Header]]:
    """What a receipt quotes of this site's own envelopes for that peer."""
    found = []
    for quote in (receipt.before, receipt.newest):
        header = quoted_header(
            quote,
            signer=about.identity.card,
            recipient=about.cards[peer].fingerprint,
            project=about.project,
        )
        if header is not None:
            found.append((quote, header))
    return found
