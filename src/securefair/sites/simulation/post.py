"""The post of a site that others share a process with: frames, and neither seals nor signatures.

Frames are numbered, kept in the outbox and taken into the inbox as those of any site, each in the
transaction of the turn that it belongs to. What seals would protect never leaves the process, and
who sent a frame is known: so there are no envelopes, receipts or epochs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import msgspec

from securefair.protocol.codec import kind_of
from securefair.sites.post.streams import FIRST_EPOCH, stream_of
from securefair.sites.site.notices import NoticeKind
from securefair.storage import Arrival, Store, Transaction

Carry = Callable[[str, int, bytes], None]
"""Takes a frame to a peer: to whom, its number, its bytes."""

Sent = Counter[tuple[str, str]]
"""Messages or bytes by receiver and type of message."""

_TRAFFIC = "simulated traffic "


class SimulatedPost:
    """See `Letters`. Messages of the protocol are counted by round, notices are not.

    Args:
        peers: all others.
        store: of the site.
        carry: the courier's side.
    """

    fault = None

    def __init__(self, peers: tuple[str, ...], store: Store, carry: Carry) -> None:
        self.peers = peers
        self.changes = 0
        self.counts: dict[int, Sent] = {}
        self.bytes: dict[int, Sent] = {}
        self._store, self._carry = store, carry
        self._fresh: list[tuple[str, int, bytes]] = []
        self._taken: dict[str, int] = {}
        with store.view() as tx:
            for name in tx.memory.names(_TRAFFIC):
                self._restore(int(name.removeprefix(_TRAFFIC)), tx.memory.get(name) or b"")
            self._fresh = list(self._unconfirmed(tx))

    def send(self, tx: Transaction, peer: str, frame: bytes, round: int, kind: str = "") -> None:
        """See `Letters`."""
        del kind
        stream = stream_of(peer, FIRST_EPOCH)
        taken = self._taken.pop(peer, None)
        if taken is not None:
            tx.outbox.acknowledge(stream, taken)
        sequence = tx.outbox.next_sequence(stream)
        tx.outbox.add(stream, sequence, frame)
        self._fresh.append((peer, sequence, frame))
        if frame[0] == NoticeKind.MESSAGE:
            self._count(tx, peer, frame[1:], round)

    def announce(self) -> None:
        """See `Letters`: what was committed may leave."""
        self.changes += 1
        fresh, self._fresh = self._fresh, []
        for peer, sequence, frame in fresh:
            self._carry(peer, sequence, frame)

    def wait(self, since: int, seconds: float) -> None:
        """See `Letters`: whoever plays all sites lets time pass."""

    def unconfirmed(self, tx: Transaction, peer: str, kind: str = "") -> int:
        """See `Letters`: the courier loses nothing for good."""
        del tx, peer, kind
        return 0

    def has_heard(self, tx: Transaction, peer: str) -> bool:
        """See `Letters`."""
        return tx.inbox.next_sequence(stream_of(peer, FIRST_EPOCH)) > 0

    def is_blocked(self, tx: Transaction, peer: str) -> bool:
        """See `Letters`: nobody has an operator of its own."""
        del tx, peer
        return False

    def may_ask(self, tx: Transaction, peer: str, most: int) -> bool:
        """See `Letters`: what arrives is confirmed."""
        del tx, peer, most
        return True

    def take(self, peer: str, sequence: int, frame: bytes) -> bool:
        """Take a frame that arrived; False: others of this peer must come first."""
        with self._store.transaction() as tx:
            # A repeated number holds the same bytes: there is no other sender.
            arrival = tx.inbox.add(stream_of(peer, FIRST_EPOCH), sequence, frame, digest=b"")
        return arrival is not Arrival.GAP

    def confirm(self, peer: str, sequence: int) -> None:
        """A peer has taken a frame; it is forgotten with the next one for that peer."""
        self._taken[peer] = max(sequence, self._taken.get(peer, 0))

    def _unconfirmed(self, tx: Transaction) -> Iterator[tuple[str, int, bytes]]:
        for peer in self.peers:
            for item in tx.outbox.pending(stream_of(peer, FIRST_EPOCH)):
                yield peer, item.sequence, item.payload

    def _count(self, tx: Transaction, peer: str, message: bytes, round: int) -> None:
        key = peer, kind_of(message)
        self.counts.setdefault(round, Counter())[key] += 1
        self.bytes.setdefault(round, Counter())[key] += len(message)
        if self._store.lasts:
            rows = [
                (*key, count, self.bytes[round][key]) for key, count in self.counts[round].items()
            ]
            tx.memory.put(f"{_TRAFFIC}{round:06d}", msgspec.msgpack.encode(rows))

    def _restore(self, round: int, data: bytes) -> None:
        rows = msgspec.msgpack.decode(data, type=list[tuple[str, str, int, int]])
        self.counts[round] = Counter({(peer, kind): count for peer, kind, count, _ in rows})
        self.bytes[round] = Counter({(peer, kind): size for peer, kind, _, size in rows})
