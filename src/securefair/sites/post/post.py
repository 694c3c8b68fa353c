"""A site's post: what is said is sealed into the outbox, what arrives is checked into the inbox.

The machine's side calls `send` inside its own transaction, so that nothing leaves before the turn
that said it is on the disk. The courier's side is a `Port`: any thread may use it. What was
refused changes nothing but its count.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import threading
from collections.abc import Callable, Iterator

from securefair.errors import StorageError
from securefair.sites.post.clock import WRONG
from securefair.sites.post.envelope import (
    OVERHEAD,
    Header,
    accept,
    digest_of,
    frame_of,
    read_header,
    seal,
)
from securefair.sites.post.peers import (
    CONFIRMS_NOTHING,
    REPLY,
    PeerState,
    note_refusal,
    read_peer,
    refused_once_more,
    unconfirmed,
    write_peer,
)
from securefair.sites.post.port import Ways, nonce_of
from securefair.sites.post.proof import TurnedBackError
from securefair.sites.post.quotes import NO_QUOTE, quote_of
from securefair.sites.post.receipts import NONCE_BYTES, Fate, Receipt, read_receipt
from securefair.sites.post.refusals import Reason, RefusedError
from securefair.sites.post.settling import Correspondence, is_young, renew, settle
from securefair.sites.post.streams import StreamTurn, stream_of, turn_of
from securefair.sites.project.card import utc
from securefair.sites.project.identity import Identity
from securefair.storage.queues import Arrival
from securefair.storage.store import Store, Transaction

MOST_WAITING = 32
"""Envelopes of a peer that this site has taken and not handled yet; what comes then must wait."""

ROOM = 8
"""Largest frames that they may hold together."""

FRAME_DIGEST = 16
"""Bytes: two frames of this site do not meet by chance."""

CLOCK_SET = "clock was set"
"""Row of the audit log."""

_FATES = {
    Arrival.NEW: Fate.TAKEN,
    Arrival.REPEATED: Fate.TAKEN,
    Arrival.GAP: Fate.WAITS,
    Arrival.CHANGED: Fate.TURNED_BACK,
}


class Post:
    """The `OwnPort` of a site with a store.

    Args:
        about: who and what for.
        store: open, and this process's alone.
        clock: seconds since 1970.
        shifted: seconds by which somebody has set the machine's clock since the start; the audit
            log says so, and nothing else changes.
        tick: whole seconds; envelopes leave, and are dated, at multiples of them. So when one
            leaves tells of its making only between which ticks it was. 0: at once.
    """

    def __init__(
        self,
        about: Correspondence,
        store: Store,
        clock: Callable[[], float],
        *,
        shifted: Callable[[], float] = lambda: 0.0,
        tick: int = 0,
    ) -> None:
        self._about, self._store, self._clock, self._tick = about, store, clock, tick
        self._shifted, self._days_set = shifted, 0
        self._own = about.identity.card.fingerprint
        self._names = {card.fingerprint: name for name, card in about.cards.items()}
        self._attempts: dict[str, tuple[bytes, bytes]] = {}  # of each peer: nonce, envelope
        self._changed = threading.Condition()
        self.ways = Ways(self.announce)
        self._changes = 0
        self.fault: StorageError | None = None  # why this site must not go on
        self.carried = 0  # bytes of parcels that were taken or refused here

    @property
    def name(self) -> str:
        """See `Port`."""
        return self._about.identity.card.name

    @property
    def identity(self) -> Identity:
        """Of this site."""
        return self._about.identity

    @property
    def peers(self) -> tuple[str, ...]:
        """See `Port`."""
        return tuple(self._about.cards)

    @property
    def limit(self) -> int:
        """See `Port`."""
        return NONCE_BYTES + OVERHEAD + self._about.largest_frame

    # --- the machine's side, inside its transaction ---

    def send(self, tx: Transaction, peer: str, frame: bytes, round: int, kind: str = "") -> None:
        """Seal a frame for a peer; it leaves once the transaction is committed.

        What lies in the outbox for it, unconfirmed, is not put there once more (and see `may_ask`).
        Nothing is sealed for a peer that is blocked: somebody else may have its keys.
        """
        about, known = self._about, read_peer(tx, peer)
        if known.blocked:
            return
        epoch = known.epoch
        stream, head = stream_of(peer, epoch), tx.audit.head()
        digest = hashlib.blake2b(frame, digest_size=FRAME_DIGEST).digest()
        if tx.outbox.holds(stream, digest):
            return
        self._see_clock(tx)
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
        tx.outbox.add(stream, sequence, envelope, kind=kind, mark=digest)
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

    def unconfirmed(self, tx: Transaction, peer: str, kind: str = "") -> int:
        """See `Letters`."""
        return 0 if self.is_blocked(tx, peer) else unconfirmed(tx, peer, kind)

    def has_heard(self, tx: Transaction, peer: str) -> bool:
        """See `Letters`."""
        return bool(read_peer(tx, peer).heard)

    def is_blocked(self, tx: Transaction, peer: str) -> bool:
        """See `Letters`."""
        return read_peer(tx, peer).blocked

    def may_ask(self, tx: Transaction, peer: str, most: int) -> bool:
        """See `Letters`."""
        if unconfirmed(tx, peer, REPLY) < most:
            return True
        known = read_peer(tx, peer)
        write_peer(tx, peer, known.plus(fault=known.fault or CONFIRMS_NOTHING))
        self._note(tx, Reason.OUTBOX_FULL, peer)
        return False

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
        nonce, attempted = self._attempts.get(peer, (b"", b""))
        if attempted != envelope:
            nonce = os.urandom(NONCE_BYTES)
            self._attempts[peer] = nonce, envelope
        return nonce + envelope

    def settle(self, peer: str, receipt: bytes) -> bool:
        """See `Port`."""
        about = self._about
        try:
            read = read_receipt(
                receipt,
                nonce=self._attempts.get(peer, (b"", b""))[0],
                project=about.project,
                own=self._own,
                peer=about.cards[peer],
            )
        except RefusedError as error:
            self._refuse(error)
            return False
        if read is None:
            return False
        self._attempts.pop(peer, None)
        with self._guarded():
            try:
                with self._store.transaction() as tx:
                    taken = settle(tx, about, peer, read, self._clock())
            except TurnedBackError as error:
                with self._store.transaction() as tx:  # for the recovery
                    write_peer(tx, peer, read_peer(tx, peer).plus(proved=error.epoch))
                raise
            self.announce()
            return taken
        return False

    def note(self, peer: str, reason: Reason) -> None:
        """See `Port`."""
        with self._guarded():
            with self._store.transaction() as tx:
                self._note(tx, reason, peer)
            self.announce()

    def receive(self, parcel: bytes) -> bytes | None:
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
                last=about.expires,
                limit=self.limit - NONCE_BYTES,
            )
            frame = frame_of(about.identity, header, envelope)
        except RefusedError as error:
            self._refuse(error)
            return b""
        with self._guarded():
            with self._store.transaction() as tx:
                receipt = self._take(tx, header, frame, envelope, nonce)
            self.announce()
            return receipt.encode(about.identity)
        return None

    # --- inside ---

    def _first(self, peer: str) -> tuple[bytes | None, float]:
        """The envelope that a peer gets next if it may leave, and the seconds until it may."""
        with self._store.view() as tx:
            known = read_peer(tx, peer)
            item = tx.outbox.first(stream_of(peer, known.epoch))
        if item is None or known.blocked:
            return None, math.inf
        left = read_header(item.payload, limit=self.limit).sent - self._clock()
        # Later than a tick it was dated by a clock that was put back since: it has waited enough.
        return (None, left) if 0 < left <= self._tick else (item.payload, 0.0)

    def _next_tick(self) -> int:
        """When what is sealed now may leave, seconds since 1970."""
        now, tick = self._clock(), self._tick
        return int(now) if not tick else (int(now) // tick + 1) * tick

    def _take(
        self, tx: Transaction, header: Header, frame: bytes, envelope: bytes, nonce: bytes
    ) -> Receipt:
        peer = self._names[header.sender]
        known = read_peer(tx, peer)
        turn = turn_of(known.epoch, header.epoch, header.sequence)
        if known.blocked:
            fate = self._note(tx, Reason.BLOCKED, peer)
        elif turn is StreamTurn.PAST:
            fate = self._note(tx, Reason.OLD_EPOCH, peer)
        elif turn is StreamTurn.EARLY or (
            turn is StreamTurn.RENEWAL and is_young(known, self._clock())
        ):
            fate = Fate.WAITS
        elif known.turned_back and turn is StreamTurn.PRESENT:
            fate = self._note(tx, Reason.TURNED_BACK, peer, Fate.TURNED_BACK)
        else:
            if turn is StreamTurn.RENEWAL:
                renew(tx, peer, known, header.epoch, self._clock())
                known = read_peer(tx, peer)
            fate = self._arrive(tx, peer, known, header, frame, envelope)
        known = read_peer(tx, peer)
        return Receipt(
            nonce=nonce,
            project=header.project,
            by=self._own,
            to=header.sender,
            fate=fate,
            epoch=known.epoch,
            expected=tx.inbox.next_sequence(stream_of(peer, known.epoch)),
            newest=known.newest or NO_QUOTE,
            before=known.before or NO_QUOTE,
        )

    def _arrive(
        self,
        tx: Transaction,
        peer: str,
        known: PeerState,
        header: Header,
        frame: bytes,
        envelope: bytes,
    ) -> Fate:
        stream = stream_of(peer, header.epoch)
        if header.sequence == tx.inbox.next_sequence(stream) and self._is_full(tx, stream, frame):
            return self._note(tx, Reason.INBOX_FULL, peer, Fate.WAITS)
        arrival = tx.inbox.add(stream, header.sequence, frame, digest=digest_of(envelope))
        if arrival is Arrival.NEW:
            now = int(self._clock())
            taken = known.plus(
                newest=quote_of(envelope),
                before=known.newest,
                heard=now,
                ahead=max(0, header.sent - now),
                bytes_in=known.bytes_in + OVERHEAD + len(frame),
                forgotten=False,
            )
            had = known.seen.length
            if header.audit_count < had:
                problem = f"its audit log has {header.audit_count} rows, and had {had}"
                taken = taken.plus(fault=problem)
                facts = {"peer": peer, "problem": problem}
                tx.audit.append("peer's audit log was cut short", facts, at=self._now())
            write_peer(tx, peer, taken)
            self.carried += len(frame)
        elif arrival is Arrival.GAP:
            write_peer(tx, peer, known.plus(forgotten=True))
        elif arrival is Arrival.CHANGED:
            write_peer(tx, peer, known.plus(turned_back=True))
            self._note(tx, Reason.TURNED_BACK, peer)
        elif arrival is Arrival.REPEATED:
            refused_once_more(tx, "repeated", peer)
        return _FATES[arrival]

    def _is_full(self, tx: Transaction, stream: str, frame: bytes) -> bool:
        """Whether a peer has said as much as may wait here, while this site is at work."""
        waiting = tx.inbox.waiting(stream)
        room = ROOM * self._about.largest_frame
        return waiting.items >= MOST_WAITING or waiting.bytes + len(frame) > room

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
        note_refusal(tx, reason, peer, self._now())
        return fate

    def _see_clock(self, tx: Transaction) -> None:
        """Tell the audit log once that somebody has set the machine's clock."""
        days = round(self._shifted() / WRONG)
        if days != self._days_set:
            self._days_set = days
            tx.audit.append(CLOCK_SET, {"days": days}, at=self._now())

    def _now(self) -> str:
        return utc(self._clock())
