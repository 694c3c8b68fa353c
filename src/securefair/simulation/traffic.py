"""Traffic of a run that several processes carried out, as if it had been one."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from securefair.records import TrafficRow

INTRODUCTIONS = ("hello", "keys", "features")
"""Messages that a collaboration needs once, and again from whoever has new keys."""


def joined(earlier: Sequence[TrafficRow], now: Sequence[TrafficRow]) -> list[TrafficRow]:
    """All rows, but for what this process sent once more because its keys are new.

    Args:
        earlier: of the processes before this one; empty if there were none.
        now: of this process.
    """
    if not earlier:
        return list(now)
    rows = {(row.sender, row.receiver, row.message): row for row in earlier}
    for row in now:
        if row.message in INTRODUCTIONS:
            continue
        key = (row.sender, row.receiver, row.message)
        before = rows.get(key)
        rows[key] = row if before is None else _sum(before, row)
    return [rows[key] for key in sorted(rows)]


def repeated_bytes(earlier: Sequence[TrafficRow], now: Sequence[TrafficRow]) -> int:
    """Introductions that were sent although an earlier process had sent its own."""
    return sum(row.bytes for row in now if row.message in INTRODUCTIONS) if earlier else 0


def _sum(a: TrafficRow, b: TrafficRow) -> TrafficRow:
    return structs.replace(a, count=a.count + b.count, bytes=a.bytes + b.bytes)
