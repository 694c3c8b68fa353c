"""What a courier sees of its site: bytes for each peer, bytes that arrived. Nothing else.

A courier holds no data, key or model. It may lose, repeat, delay, reorder or alter what it
carries: the site notices, and sends the same bytes again.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from typing import Protocol

from securefair.sites.post.receipts import NONCE_BYTES
from securefair.sites.post.refusals import Reason

_log = logging.getLogger(__name__)

HandOver = Callable[[bytes], bytes | None]
"""Takes a parcel to one peer's site and brings its receipt; None where it could not be reached."""

Spoil = Callable[[str, HandOver], HandOver]
"""Makes the hand-over to a peer fail at times; for rehearsals."""

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0
"""Seconds between attempts: doubled from the first to the second."""

LONGEST_AFTER_A_PARCEL = 300.0
"""Where a whole parcel went over and was not taken: it may be megabytes."""


class Port(Protocol):
    """A site, towards its courier. All methods may be called from any thread."""

    @property
    def name(self) -> str:
        """Of this participant."""
        ...

    @property
    def peers(self) -> tuple[str, ...]:
        """Whom the courier goes to."""
        ...

    @property
    def limit(self) -> int:
        """Most bytes of a parcel."""
        ...

    def pending(self, peer: str, seconds: float) -> bytes | None:
        """The parcel for a peer, as soon as there is one; None after so many seconds.

        A parcel is a nonce and an envelope, and stays the same until a receipt for it was settled,
        however long that takes. Then the nonce is a new one; the envelope stays until it is taken.
        """
        ...

    def settle(self, peer: str, receipt: bytes) -> bool:
        """Take a receipt for the parcel that `pending` gave last; whether the peer took it."""
        ...

    def receive(self, parcel: bytes) -> bytes | None:
        """Take a parcel from a peer; the receipt is empty where its sender cannot be told.

        None where nothing can be taken now, as the store is closed or cannot be written.
        """
        ...

    def note(self, peer: str, reason: Reason) -> None:
        """Count what stood in the way to or from a peer, for the operator to read."""
        ...


class OwnPort(Port, Protocol):
    """The same in the site's own process, for couriers that run in it."""

    @property
    def ways(self) -> Ways:
        """To and from peers."""
        ...


class Ways:
    """What keeps a courier's parcels just now, until somebody mends it.

    Args:
        changed: is called where that is news.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed, self._lock = changed, threading.Lock()
        self._why: dict[str, str] = {}

    def tell(self, way: str, why: str) -> None:
        """Say what keeps them on one way, such as "to north"; "" for nothing."""
        with self._lock:
            news = self._why.get(way, "") != why
            self._why[way] = why
        if news:
            self._changed()

    @property
    def hindrance(self) -> str:
        """All of it, for the operator to read; "" for nothing."""
        with self._lock:
            return "; ".join(sorted({why for why in self._why.values() if why}))


def carry(port: Port, peer: str, hand_over: HandOver, stop: threading.Event) -> None:
    """Take one parcel after the other to one peer, until `stop`.

    Whatever was not taken is tried again after a pause that grows: to seconds where nobody was
    reached, which costs nothing, and to minutes where somebody has said no.
    """
    pause = FIRST_PAUSE
    while not stop.is_set():
        parcel = port.pending(peer, 1.0)
        if parcel is None:
            continue
        receipt = hand_over(parcel)
        if receipt is not None and port.settle(peer, receipt):
            pause = FIRST_PAUSE
            continue
        longest = LONGEST_PAUSE if receipt is None else LONGEST_AFTER_A_PARCEL
        stop.wait(min(pause, longest))
        pause = min(2 * pause, longest)


def surviving(port: Port, peer: str, step: Callable[[], object]) -> None:
    """One step of a courier's thread: whatever goes wrong is noted, and the thread goes on."""
    try:
        step()
    except Exception:  # noqa: BLE001 hostile bytes must end no thread
        _log.exception("a courier to or from %s failed, and goes on", peer)
        with contextlib.suppress(Exception):
            port.note(peer, Reason.COURIER)


def unspoilt(_: str, hand_over: HandOver) -> HandOver:
    """Every hand-over as it is."""
    return hand_over


def nonce_of(parcel: bytes) -> tuple[bytes, bytes]:
    """A parcel's nonce and envelope."""
    return parcel[:NONCE_BYTES], parcel[NONCE_BYTES:]
