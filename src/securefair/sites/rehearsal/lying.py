"""A site of a year that lies for some days, to all its peers.

Its machine computes and its identity signs; but of what it says every second message is cut and
every other one altered, so that peers find malformed messages and wrong numbers in honest
envelopes. It says besides what means nothing, signs what cannot be, and gives false receipts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from itertools import count

from securefair.sites.rehearsal.liar import ENVELOPES, LyingPort, envelope
from securefair.sites.rehearsal.playing import PlayingHere
from securefair.sites.site.starting import OpenSite
from securefair.storage import Transaction

NOISE = 3
"""Frames of no meaning that every peer gets each night."""


class LyingSite(PlayingHere):
    """A `Playing` that lies.

    Args:
        opened: the site.
        closing: what ends with it.
        wall: its machine's clock.
    """

    def __init__(
        self, opened: OpenSite, closing: contextlib.ExitStack, wall: Callable[[], float]
    ) -> None:
        super().__init__(opened, closing)
        self._port, self._wall, self._numbers = LyingPort(opened), wall, count()
        self._honest = opened.post.send
        opened.post.send = self._send  # type: ignore[method-assign]

    def receive(self, parcel: bytes) -> bytes:
        """See `Playing`."""
        return self._port.receive(parcel) or b""

    def lies(self, peer: str) -> list[bytes]:
        """Parcels that a peer gets besides, tonight; noise waits in the outbox."""
        with self.opened.store.transaction() as tx:
            for number in range(NOISE):  # the same once more would not be queued
                noise = b"\xff" * 60 + int(self._wall()).to_bytes(8, "big") + bytes([number])
                self._honest(tx, peer, noise, 0)
        return [
            envelope(self.opened, peer, changes, self._wall()) for changes in ENVELOPES.values()
        ]

    def _send(self, tx: Transaction, peer: str, frame: bytes, round: int, kind: str = "") -> None:
        self._honest(tx, peer, spoilt(frame, cut=next(self._numbers) % 2 == 0), round, kind)


def spoilt(frame: bytes, *, cut: bool) -> bytes:
    """A message of which a half is missing, or one byte is another."""
    half = len(frame) // 2
    return frame[:half] if cut else frame[:half] + bytes([frame[half] ^ 1]) + frame[half + 1 :]
