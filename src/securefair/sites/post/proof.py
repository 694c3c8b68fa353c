"""What a peer says of this site's past: believed is what this site has signed, no word more.

A receipt quotes envelopes. One that this site made and does not remember proves that its store was
lost or turned back; one with a head of the audit log that the log does not lead through proves that
the log was changed. Then the site must stop. A claim without such a quote is the peer's fault.
"""

from __future__ import annotations

from collections.abc import Iterable

from securefair.errors import StorageError
from securefair.sites.post.envelope import Header
from securefair.sites.post.quotes import quote_of
from securefair.sites.post.streams import stream_of
from securefair.storage.store import Transaction

RECOVER = "Put the newest store back; where it is lost, run `securefair site recover`"


class TurnedBackError(StorageError):
    """This site's own signature proves that its store is not what it was.

    Args:
        peer: who showed it.
        epoch: of the envelope.
        found, expected: what was shown, and what is remembered.
    """

    def __init__(self, peer: str, epoch: int, found: str, expected: str) -> None:
        self.peer, self.epoch = peer, epoch
        super().__init__(
            "this site's store is not what its peers remember: it was lost, or turned back to a "
            "backup",
            where=peer,
            found=f"{found}, signed by this site",
            expected=expected,
            hint=RECOVER,
        )


def check_own_past(
    tx: Transaction, peer: str, epoch: int, quoted: Iterable[tuple[bytes, Header]]
) -> None:
    """See that this site remembers the envelopes that a peer has of it.

    Args:
        tx: of the own store.
        peer: who quotes them.
        epoch: of the pair, as this site remembers it.
        quoted: quotes and their headers, each signed by this site for that peer.

    Raises:
        TurnedBackError: it does not: the store is not what it was.
        StorageError: the audit log is not what it was.
    """
    stream = stream_of(peer, epoch)
    following = tx.outbox.next_sequence(stream)
    for quote, header in quoted:
        if header.epoch > epoch:
            raise TurnedBackError(peer, header.epoch, f"epoch {header.epoch}", f"epoch {epoch}")
        if header.epoch < epoch:
            continue  # of before a recovery: void on both sides
        if header.sequence >= following:
            raise TurnedBackError(
                peer, epoch, f"envelope {header.sequence}", f"{following} of them"
            )
        own = tx.outbox.get(stream, header.sequence)
        if own is not None and quote_of(own) != quote:
            raise TurnedBackError(
                peer, epoch, f"another envelope {header.sequence}", "the one in its outbox"
            )
        head = tx.audit.head_at(header.audit_count)
        if head is None or head.digest != header.audit_head:
            raise StorageError(
                "this site's audit log was changed or cut short",
                where=peer,
                found="none" if head is None else head.digest.hex()[:16],
                expected=f"{header.audit_head.hex()[:16]} after {header.audit_count} rows, "
                "as this site has signed",
                hint="Put the newest store back, and find out who changed it",
            )
