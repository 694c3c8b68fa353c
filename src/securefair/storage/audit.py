"""What happened, each row bound to all before it by a hash.

    hash_n = SHA-256("securefair audit 1" | hash_(n-1) | length and bytes of time, kind and facts)

with 32 zero bytes before the first row. Whoever knows one head (a count and a hash) finds every
later change to the rows under it, and that rows were cut off. Somebody who can write the whole file
can make a new chain: heads that others keep are what tells on him.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from securefair.errors import StorageError

Fact = str | int | float | bool | None

_DOMAIN = b"securefair audit 1"


class AuditHead(NamedTuple):
    """How many rows there are, and the hash of the last."""

    length: int
    digest: bytes


START = AuditHead(0, bytes(32))
"""Of an empty log."""


class AuditRow(msgspec.Struct, frozen=True, kw_only=True):
    """One event."""

    position: int  # from 0
    at: str  # time, as the caller writes it
    kind: str
    facts: dict[str, Fact]
    digest: bytes


class AuditLog:
    """The audit rows inside a transaction; they are appended, never changed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def append(self, kind: str, facts: Mapping[str, Fact], *, at: str) -> AuditHead:
        """Add a row; no patient's data, model or secret belongs into it.

        Args:
            kind: what happened, in a word or two.
            facts: plain values.
            at: when, as text; the clock is the caller's.
        """
        head = self.head()
        encoded = msgspec.json.encode(dict(facts), order="sorted")
        digest = _link(head.digest, at, kind, encoded)
        self._connection.execute(
            "INSERT INTO audit VALUES (?, ?, ?, ?, ?)", (head.length, at, kind, encoded, digest)
        )
        return AuditHead(head.length + 1, digest)

    def head(self) -> AuditHead:
        """The head of the chain, which peers may keep."""
        row = self._connection.execute(
            "SELECT position, hash FROM audit ORDER BY position DESC LIMIT 1"
        ).fetchone()
        return START if row is None else AuditHead(row[0] + 1, row[1])

    def head_at(self, length: int) -> AuditHead | None:
        """The head as it was after so many rows; None if there are fewer."""
        if length == 0:
            return START
        row = self._connection.execute(
            "SELECT hash FROM audit WHERE position = ?", (length - 1,)
        ).fetchone()
        return None if row is None else AuditHead(length, row[0])

    def rows(self, start: int = 0) -> Iterator[AuditRow]:
        """The rows from a position on, as they stand in the file."""
        rows = self._connection.execute(
            "SELECT position, at, kind, facts, hash FROM audit WHERE position >= ?"
            " ORDER BY position",
            (start,),
        )
        for position, at, kind, facts, digest in rows:
            try:
                plain = msgspec.json.decode(facts, type=dict[str, Fact])
            except msgspec.DecodeError as error:
                raise StorageError("the audit log was changed", where=f"row {position}") from error
            yield AuditRow(position=position, at=at, kind=kind, facts=plain, digest=digest)

    def verify(self, known: Sequence[AuditHead] = ()) -> AuditHead:
        """Check every row against the one before it, and the chain against heads known elsewhere.

        Raises:
            StorageError: a row was changed, or rows are missing; names the first.
        """
        return verify_chain(self.rows(), known)


def verify_chain(rows: Iterable[AuditRow], known: Sequence[AuditHead] = ()) -> AuditHead:
    """Check rows from the first on, and that they lead through all heads that are known.

    Raises:
        StorageError: a row was changed, or rows are missing; names the first.
    """
    heads = {head.length: head.digest for head in known}
    head = START
    for row in rows:
        encoded = msgspec.json.encode(row.facts, order="sorted")
        digest = _link(head.digest, row.at, row.kind, encoded)
        head = AuditHead(head.length + 1, digest)
        if row.position != head.length - 1 or row.digest != digest:
            raise StorageError("the audit log was changed", where=f"row {head.length - 1}")
        if heads.get(head.length, digest) != digest:
            raise StorageError(
                "the audit log is not the one that this head was seen of",
                where=f"head of {head.length} rows",
                found=heads[head.length].hex(),
                expected=digest.hex(),
                hint="It was rewritten, or the head was copied wrongly: have it read again",
            )
    missing = max(heads, default=0)
    if missing > head.length:
        raise StorageError(
            "the audit log was cut off",
            found=f"{head.length} rows",
            expected=f"at least {missing}",
        )
    return head


def _link(previous: bytes, at: str, kind: str, facts: bytes) -> bytes:
    digest = hashlib.sha256(_DOMAIN + previous)
    for part in (at.encode(), kind.encode(), facts):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.digest()
