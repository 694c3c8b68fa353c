"""The site of a hostile rehearsal that lies: it takes part, and does whatever harm it can.

Its machine follows the protocol, so that rounds go on with it. Its post does not: it signs false
receipts and impossible envelopes, floods its peers, and plants links, pipes and devices where
others look for its parcels.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from securefair.errors import SecureFairError
from securefair.report import write_text
from securefair.sites.couriers.folder import start_folder
from securefair.sites.post.door import DoorClient
from securefair.sites.post.envelope import seal
from securefair.sites.post.port import nonce_of
from securefair.sites.post.post import Post
from securefair.sites.post.quotes import NO_QUOTE
from securefair.sites.post.receipts import NONCE_BYTES, Fate, Receipt
from securefair.sites.post.refusals import Reason
from securefair.sites.post.streams import stream_of
from securefair.sites.rehearsal.process import FAILED
from securefair.sites.site.folder import DOOR, KEYS
from securefair.sites.site.starting import OpenSite, Rehearsal, open_site
from securefair.storage import unlock

BEYOND = 2**64 - 1
YEAR = 365 * 86_400

ENVELOPES: Mapping[str, Callable[[float], dict[str, int]]] = {
    "an envelope dated 2^63": lambda _: {"sent": 2**63},
    "an envelope that never expires": lambda _: {"expires": BEYOND},
    "an envelope of epoch 2^64 - 1": lambda _: {"epoch": BEYOND},
    "an envelope of number 2^64 - 1": lambda _: {"sequence": BEYOND},
    "an audit log of 2^64 - 1 rows": lambda _: {"audit_count": BEYOND},
}
"""What is signed that cannot be, by what it is called: changes to an honest header."""

RECEIPTS: Mapping[str, dict[str, object]] = {
    "a receipt for a thousand envelopes": {"expected": 1000},
    "a receipt for 2^64 - 1 envelopes": {"expected": BEYOND},
    "a receipt that the store was turned back": {"fate": Fate.TURNED_BACK},
    "a receipt of epoch 2^64 - 1": {"epoch": BEYOND},
    "a receipt with a forged quote": {"newest": bytes([7]) * len(NO_QUOTE)},
}

PLANTED = ("a link to the keystore", "a link to a device", "a pipe", "a folder", "a huge file")

FLOOD = 100
"""Frames of no meaning that it says to everybody."""

PATIENCE = 20.0
"""Seconds for which what was planted may lie there."""


class LyingPort:
    """The liar's port: every peer gets each false receipt once before it gets an honest one."""

    def __init__(self, opened: OpenSite) -> None:
        self._post, self._opened = opened.post, opened
        self._told: dict[bytes, list[str]] = {}
        self.name, self.peers, self.limit = self._post.name, self._post.peers, self._post.limit
        self.ways = self._post.ways

    def pending(self, peer: str, seconds: float) -> bytes | None:
        """See `Port`."""
        return self._post.pending(peer, seconds)

    def settle(self, peer: str, receipt: bytes) -> bool:
        """See `Port`."""
        return self._post.settle(peer, receipt)

    def note(self, peer: str, reason: Reason) -> None:
        """See `Port`."""
        self._post.note(peer, reason)

    def receive(self, parcel: bytes) -> bytes | None:
        """See `Port`."""
        honest = self._post.receive(parcel)
        nonce, envelope = nonce_of(parcel)
        sender = envelope[5 + 32 : 5 + 64]  # behind magic, version and project
        told = self._told.setdefault(sender, [])
        if not honest or len(told) == len(RECEIPTS):
            return honest
        name = list(RECEIPTS)[len(told)]
        told.append(name)
        receipt = Receipt(
            nonce=nonce,
            project=self._opened.project.digest,
            by=self._opened.post.identity.card.fingerprint,
            to=sender,
            fate=Fate.TAKEN,
            epoch=0,
            expected=0,
            newest=NO_QUOTE,
            before=NO_QUOTE,
        )
        return replace(receipt, **RECEIPTS[name]).encode(self._post.identity)  # type: ignore[arg-type]


def lie(opened: OpenSite, folder: Path, shared: Path) -> None:
    """Do to every peer whatever can be done before the first honest word.

    Args:
        opened: the liar's own site.
        folder: that holds the sites of all, so that envelopes go straight to their doors.
        shared: the folder of the courier.
    """
    for peer in opened.post.peers:
        door = _door_of(folder / peer / DOOR)
        for changes in ENVELOPES.values():
            door.receive(envelope(opened, peer, changes, time.time()))
        _flood(opened.post, opened, peer, door)
        door.close()
    for kind in PLANTED:
        left = [
            path
            for peer in opened.post.peers
            if _plant(kind, path := shared / peer / f"{opened.post.name}.parcel", folder / peer)
        ]
        until = time.monotonic() + PATIENCE
        while any(os.path.lexists(path) for path in left) and time.monotonic() < until:
            time.sleep(0.05)


def _plant(kind: str, path: Path, site: Path) -> bool:
    path.parent.mkdir(exist_ok=True)
    with contextlib.suppress(FileExistsError):
        if kind == "a link to the keystore":
            path.symlink_to(site / KEYS)
            path.with_name(f".{path.name}.part").symlink_to(site / KEYS)
        elif kind == "a link to a device":
            path.symlink_to("/dev/zero")
        elif kind == "a pipe":
            os.mkfifo(path)
        elif kind == "a folder":
            (path / "in the way").mkdir(parents=True)
        else:
            with path.open("xb") as file:
                file.truncate(1 << 40)
        return True
    return False


def envelope(
    opened: OpenSite, peer: str, changes: Callable[[float], dict[str, int]], now: float
) -> bytes:
    """A parcel with a signed envelope whose header is not honest."""
    facts: dict[str, int] = {
        "epoch": 0,
        "sequence": 0,
        "sent": int(now),
        "expires": opened.project.terms.valid_until,
        "audit_count": 0,
    }
    facts |= changes(now)
    sealed = seal(
        opened.post.identity,
        opened.project.card(peer),
        b"",
        project=opened.project.digest,
        round=0,
        audit_head=bytes(32),
        **facts,
    )
    return os.urandom(NONCE_BYTES) + sealed


def _flood(post: Post, opened: OpenSite, peer: str, door: DoorClient) -> None:
    """Say much without meaning, as fast as the peer's door takes it."""
    with opened.store.transaction() as tx:
        for number in range(FLOOD):  # the same once more would not be queued
            post.send(tx, peer, b"\xff" * 60 + number.to_bytes(4, "big"), 0)
        stream = stream_of(peer, 0)
        assert tx.outbox.next_sequence(stream) >= FLOOD
    for _ in range(2 * FLOOD):
        parcel = post.pending(peer, 0)
        if parcel is None:
            return
        if not post.settle(peer, door.receive(parcel)):
            time.sleep(0.05)


def _door_of(path: Path) -> DoorClient:
    """A peer's door, once its site is up."""
    until = time.monotonic() + 60.0
    while True:
        door = DoorClient(path)
        try:
            door.introduce()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
        else:
            return door


def play_liar(folder: Path, passphrase_file: Path, seed: int, shared: Path) -> None:
    """Run the liar in a process of its own."""
    stop = threading.Event()
    try:
        with open_site(
            folder, unlock(file=passphrase_file), rehearsal=Rehearsal(seed=seed)
        ) as opened:
            lie(opened, folder.parent, shared)
            start_folder(LyingPort(opened), shared, stop)
            opened.site.run()
    except SecureFairError as problem:
        write_text(folder / FAILED, str(problem))
        sys.exit(1)
    finally:
        stop.set()
