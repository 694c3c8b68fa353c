"""A site's post: what is said is sealed into the outbox, what arrives is checked into the inbox.

The machine's side calls `send` inside its own transaction, so that nothing leaves before the turn
that said it is on the disk. The courier's side is a `Port`: any thread may use it. What was
refused changes nothing but its count.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from securefair.errors import StorageError
from securefair.sites.post.envelope import (
    OVERHEAD,
    Header,
    accept,
    digest_of,
    frame_of,
    read_header,
    seal,
)
from securefair.sites.post.peers import PeerState, read_peer, refused_once_more, write_peer
from securefair.sites.post.port import nonce_of
from securefair.sites.post.receipts import NONCE_BYTES, Fate, Receipt, read_receipt
from securefair.sites.post.refusals import Reason, RefusedError
from securefair.sites.post.streams import Turn, check_expected, stream_of, turn_of
from securefair.sites.project.card import Card, utc
from securefair.sites.project.identity import Identity
from securefair.storage.queues import Arrival
from securefair.storage.store import Store, Transaction

_FATES = {
    Arrival.NEW: Fate.TAKEN,
    Arrival.REPEATED: Fate.TAKEN,
    Arrival.GAP: Fate.WAITS,
    Arrival.CHANGED: Fate.TURNED_BACK,
}


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


class Post:
    """The `Port` of a site with a store.

    Args:
        about: who and what for.
        store: open, and this process's alone.
        clock: seconds since 1970.
        tick: whole seconds; envelopes leave, and are dated, at multiples of them. So when one
            leaves tells of its making only between which ticks it was. 0: at once.
    """

    def __init__(
        self, about: Correspondence, store: Store, clock: Callable[[], float], *, tick: int = 0
    ) -> None:
        self._about, self._store, self._clock, self._tick = about, store, clock, tick
        self._own = about.identity.card.fingerprint
        self._names = {card.fingerprint: name for name, card in about.cards.items()}
        self._nonces: dict[str, bytes] = {}
        self._changed = threading.Condition()
        self._changes = 0
        self.fault: StorageError | None = None  # why this site must not go on
        self.carried = 0  # bytes of parcels that were taken or refused here

    @property
    def name(self) -> str:
        """See `Port`."""
        return self._about.identity.card.name

    @property
    def peers(self) -> tuple[str, ...]:
        """See `Port`."""
        return tuple(self._about.cards)

    @property
    def limit(self) -> int:
        """See `Port`."""
        return NONCE_BYTES + OVERHEAD + self._about.largest_frame

    # --- the machine's side, inside its transaction ---

    def send(self, tx: Transaction, peer: str, frame: bytes, round: int) -> None:
        """Seal a frame for a peer; it leaves once the transaction is committed."""
        about, known = self._about, read_peer(tx, peer)
        epoch = known.epoch
        stream, head = stream_of(peer, epoch), tx.audit.head()
        sequence = tx.outbox.next_sequence(stream)
        envelope = seal(
            about.identity,
            about.cards[peer],
            frame,
            project=about.project,
            epoch=epoch,
            sequence=sequence,
            round=round,
            sent=self._next_tick(),
            expires=about.expires,
            audit_count=head.length,
            audit_head=head.digest,
        )
        tx.outbox.add(stream, sequence, envelope)
        write_peer(tx, peer, known.plus(bytes_out=known.bytes_out + len(envelope)))

    def announce(self) -> None:
        """Something was committed: wake whoever waits for it."""
        with self._changed:
            self._changes += 1
            self._changed.notify_all()

    @property
    def changes(self) -> int:
        """How often something was committed; for `wait`."""
        return self._changes

    def wait(self, since: int, seconds: float) -> None:
        """Wait until something was committed after `changes` was `since`, or so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._changes != since, seconds)

    def unconfirmed(self, tx: Transaction, peer: str) -> int:
        """Envelopes that a peer has not confirmed yet."""
        known = read_peer(tx, peer)
        return tx.outbox.next_sequence(stream_of(peer, known.epoch)) - known.confirmed

    # --- the courier's side ---

    def pending(self, peer: str, seconds: float) -> bytes | None:
        """See `Port`."""
        envelope: bytes | None = None
        since = self.changes
        with self._guarded():
            envelope, left = self._first(peer)
            if envelope is None:
                self.wait(since, min(seconds, left))
                envelope, _ = self._first(peer)
        if envelope is None:
            return None
        nonce = self._nonces[peer] = os.urandom(NONCE_BYTES)
        return nonce + envelope

    def settle(self, peer: str, receipt: bytes) -> bool:
        """See `Port`."""
        about = self._about
        read = read_receipt(
            receipt,
            nonce=self._nonces.get(peer, b""),
            project=about.project,
            own=self._own,
            peer=about.cards[peer],
        )
        if read is None:
            return False
        with self._guarded():
            with self._store.transaction() as tx:
                taken = self._settle(tx, peer, read)
            self.announce()
            return taken
        return False

    def receive(self, parcel: bytes) -> bytes:
        """See `Port`."""
        nonce, envelope = nonce_of(parcel)
        about = self._about
        try:
            header = accept(
                envelope,
                own=self._own,
                project=about.project,
                cards={card.fingerprint: card for card in about.cards.values()},
                now=self._clock(),
                limit=self.limit - NONCE_BYTES,
            )
            frame = frame_of(about.identity, header, envelope)
        except RefusedError as error:
            self._refuse(error)
            return b""
        with self._guarded():
            with self._store.transaction() as tx:
                receipt = self._take(tx, header, frame, digest_of(envelope), nonce)
            self.announce()
            return receipt.encode(about.identity)
        return b""

    # --- inside ---

    def _first(self, peer: str) -> tuple[bytes | None, float]:
        """The envelope that a peer gets next if it may leave, and the seconds until it may."""
        with self._store.view() as tx:
            stream = stream_of(peer, read_peer(tx, peer).epoch)
            item = next(tx.outbox.pending(stream), None)
        if item is None:
            return None, math.inf
        left = read_header(item.payload, limit=self.limit).sent - self._clock()
        return (item.payload, 0.0) if left <= 0 else (None, left)

    def _next_tick(self) -> int:
        """When what is sealed now may leave, seconds since 1970."""
        now, tick = self._clock(), self._tick
        return int(now) if not tick else (int(now) // tick + 1) * tick

    def _settle(self, tx: Transaction, peer: str, receipt: Receipt) -> bool:
        known = read_peer(tx, peer)
        if receipt.epoch > known.epoch:
            self._renew(tx, peer, known, receipt.epoch)
            return False
        if receipt.epoch < known.epoch:
            return False  # it does not know of the new epoch yet
        stream = stream_of(peer, known.epoch)
        self._compare_audit(tx, peer, receipt)
        try:
            check_expected(
                receipt.expected,
                confirmed=known.confirmed,
                following=tx.outbox.next_sequence(stream),
            )
        except ValueError as error:
            self._disagree(tx, peer, known, receipt, str(error))
            return False
        if receipt.fate is Fate.TURNED_BACK:
            self._turned_back("a peer has other envelopes of this site than it remembers", peer)
            return False
        if receipt.expected > known.confirmed:
            tx.outbox.acknowledge(stream, receipt.expected - 1)
            write_peer(tx, peer, known.plus(confirmed=receipt.expected, fault=""))
        return receipt.fate is Fate.TAKEN

    def _disagree(
        self, tx: Transaction, peer: str, known: PeerState, receipt: Receipt, problem: str
    ) -> None:
        if receipt.expected > known.confirmed:
            self._turned_back(problem, peer)
        elif known.fault != problem:
            write_peer(tx, peer, known.plus(fault=problem))
            self._audit(tx, "peer disagrees", peer=peer, problem=problem)

    def _turned_back(self, problem: str, peer: str) -> None:
        self.fault = StorageError(
            "this site's store is not what its peers remember",
            where=peer,
            found=problem,
            hint="Put the newest store back; where it is lost, run `securefair site recover`",
        )

    def _compare_audit(self, tx: Transaction, peer: str, receipt: Receipt) -> None:
        """The peer says what it has seen of this site's audit log: it must still be there."""
        head = tx.audit.head_at(receipt.audit_count)
        if head is not None and head.digest == receipt.audit_head:
            return
        self.fault = StorageError(
            "this site's audit log was changed or cut short",
            where=peer,
            found="none" if head is None else head.digest.hex()[:16],
            expected=f"{receipt.audit_head.hex()[:16]} after {receipt.audit_count} rows",
            hint="Put the newest store back, and find out who changed it",
        )

    def _renew(self, tx: Transaction, peer: str, known: PeerState, epoch: int) -> None:
        """Begin a higher epoch with a peer: whatever is left of the lower one is void."""
        stream = stream_of(peer, known.epoch)
        tx.outbox.drop(stream)
        for item in list(tx.inbox.pending(stream)):
            tx.inbox.done(item)
        fresh = PeerState(
            epoch=epoch,
            blocked=known.blocked,
            bytes_out=known.bytes_out,
            bytes_in=known.bytes_in,
        )
        write_peer(tx, peer, fresh)
        self._audit(tx, "epoch", peer=peer, epoch=epoch)

    def _take(
        self, tx: Transaction, header: Header, frame: bytes, digest: bytes, nonce: bytes
    ) -> Receipt:
        peer = self._names[header.sender]
        known = read_peer(tx, peer)
        turn = turn_of(known.epoch, header.epoch, header.sequence)
        if known.blocked:
            fate = self._note(tx, Reason.BLOCKED, peer)
        elif turn is Turn.PAST:
            fate = self._note(tx, Reason.OLD_EPOCH, peer)
        elif turn is Turn.EARLY:
            fate = Fate.WAITS
        elif known.turned_back and turn is Turn.PRESENT:
            fate = self._note(tx, Reason.TURNED_BACK, peer, Fate.TURNED_BACK)
        else:
            if turn is Turn.RENEWAL:
                self._renew(tx, peer, known, header.epoch)
                known = read_peer(tx, peer)
            fate = self._arrive(tx, peer, known, header, frame, digest)
        known = read_peer(tx, peer)
        return Receipt(
            nonce=nonce,
            project=header.project,
            by=self._own,
            to=header.sender,
            fate=fate,
            epoch=known.epoch,
            expected=tx.inbox.next_sequence(stream_of(peer, known.epoch)),
            audit_count=known.before_count,
            audit_head=known.before_head,
        )

    def _arrive(
        self,
        tx: Transaction,
        peer: str,
        known: PeerState,
        header: Header,
        frame: bytes,
        digest: bytes,
    ) -> Fate:
        arrival = tx.inbox.add(stream_of(peer, header.epoch), header.sequence, frame, digest=digest)
        if arrival is Arrival.NEW:
            seen = known.plus(
                seen_count=header.audit_count,
                seen_head=header.audit_head,
                before_count=known.seen_count,
                before_head=known.seen_head,
                heard=int(self._clock()),
                bytes_in=known.bytes_in + OVERHEAD + len(frame),
            )
            if header.audit_count < known.seen_count:
                problem = f"its audit log has {header.audit_count} rows, and had {known.seen_count}"
                seen = seen.plus(fault=problem)
                self._audit(tx, "peer's audit log was cut short", peer=peer, problem=problem)
            write_peer(tx, peer, seen)
            self.carried += len(frame)
        elif arrival is Arrival.CHANGED:
            write_peer(tx, peer, known.plus(turned_back=True))
            self._note(tx, Reason.TURNED_BACK, peer)
        elif arrival is Arrival.REPEATED:
            refused_once_more(tx, "repeated", peer)
        return _FATES[arrival]

    def _refuse(self, error: RefusedError) -> None:
        """Count what was refused."""
        peer = self._names.get(error.sender or b"", "")
        with self._guarded(), self._store.transaction() as tx:
            self._note(tx, error.reason, peer)
        self.announce()

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """A store that fails ends the site, not the courier's thread."""
        try:
            yield
        except StorageError as error:
            self.fault = error
            self.announce()

    def _note(self, tx: Transaction, reason: Reason, peer: str, fate: Fate = Fate.REFUSED) -> Fate:
        """Count a refusal; the first and every doubling goes into the audit log."""
        count = refused_once_more(tx, reason.value, peer)
        if count & (count - 1) == 0:
            self._audit(tx, "refused", reason=reason.value, peer=peer, count=count)
        return fate

    def _audit(self, tx: Transaction, event: str, **facts: str | int) -> None:
        tx.audit.append(event, facts, at=utc(self._clock()))
