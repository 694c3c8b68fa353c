"""What a rehearsal sees of its sites besides their end: that no promise was broken on the way.

A site's process notes every envelope that it hands over. After each kill, and at the end, the
stores are read: what left must be charged, and what was made under one mask must stay the same.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import msgspec

from securefair.averaging import Share
from securefair.errors import SecureFairError
from securefair.sites.post.envelope import read_header
from securefair.sites.post.port import HandOver, nonce_of
from securefair.sites.site.notes import told_in
from securefair.sites.site.records import HOST, stored_records
from securefair.storage import Transaction

SENT = "sent"
"""File in a rehearsed site's folder: a line for each envelope that was handed over."""

SHARE = "share "
"""Begins the names of pieces that were made under masks."""


def noting(hand_over: HandOver, peer: str, file: Path) -> HandOver:
    """The same courier, which notes every envelope before it takes it.

    Args:
        hand_over: carries.
        peer: to whom.
        file: grows by a line for each: peer, epoch, sequence and SHA-256.
    """

    def noted(parcel: bytes) -> bytes | None:
        _, envelope = nonce_of(parcel)
        header = read_header(envelope, limit=len(envelope))
        line = f"{peer} {header.epoch} {header.sequence} {sha256(envelope).hexdigest()}\n"
        with file.open("a", encoding="utf-8") as notes:
            notes.write(line)  # one short write: whole, or not at all where the process was killed
        return hand_over(parcel)

    return noted


@dataclass(eq=False)
class Witness:
    """Of all sites of one collaboration.

    Attributes:
        opened: numbers that a student has recorded of a teacher, by both names.
        shares: what was made under masks so far: SHA-256 by site, receiver and attempt.
    """

    opened: dict[tuple[str, str], int] = field(default_factory=dict)
    shares: dict[tuple[str, str, bytes], bytes] = field(default_factory=dict)

    def see(self, name: str, tx: Transaction) -> None:
        """Note what a site has opened, and see that its masked parts are those of before.

        Raises:
            SecureFairError: a second part was made under one mask.
        """
        got = Counter[str]()
        for record in stored_records(tx):
            got.update(record.received)
        self.opened |= {(name, teacher): numbers for teacher, numbers in got.items()}
        for piece in tx.memory.names(HOST + SHARE):
            data = tx.memory.get(piece)
            if data is None:
                continue
            share = msgspec.msgpack.decode(data, type=Share)
            at = (name, share.gathering.receiver, share.gathering.digest)
            digest = sha256(share.closed).digest()
            if self.shares.setdefault(at, digest) != digest:
                raise SecureFairError("a site made two parts under one mask", where=name)

    def compare(self, name: str, tx: Transaction) -> None:
        """See that a teacher's notes count whatever was opened of it before.

        Raises:
            SecureFairError: it counts less.
        """
        told = told_in(tx)
        for (student, teacher), got in self.opened.items():
            if teacher == name and told[student] < got:
                raise SecureFairError(
                    "a site sent more than its ledger counts",
                    where=f"{name} to {student}",
                    found=f"{told[student]} numbers",
                    expected=f"at least {got}",
                )


def check_versions(file: Path, name: str) -> None:
    """See that every envelope of a site was the same bytes whenever it left.

    Raises:
        SecureFairError: there were two versions of one.
    """
    seen: dict[str, str] = {}
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    for line in lines:
        which, _, digest = line.rpartition(" ")
        if seen.setdefault(which, digest) != digest:
            raise SecureFairError(
                "a site sent an envelope in two versions", where=f"{name} to {which}"
            )
