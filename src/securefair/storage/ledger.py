"""How much was disclosed, to whom and of what: numbers and bits, with finite limits.

A row is charged before what it counts leaves, in the transaction that makes it leave. So the
ledger may count an answer that a crash kept back, and never misses one that left.
"""

from __future__ import annotations

import math
import sqlite3

import msgspec

from securefair.errors import LedgerError, StorageError

_SLACK = 1e-9
"""Relative, for sums of fractions of bits: ten tenths make one."""


class Amount(msgspec.Struct, frozen=True, kw_only=True):
    """What one disclosure tells: released numbers, and the bits that they can carry at most.

    Raises:
        StorageError: negative, or not finite.
    """

    numbers: int = 0
    bits: float = 0.0

    def __post_init__(self) -> None:
        if self.numbers < 0 or not 0 <= self.bits < math.inf:
            raise StorageError(
                "not an amount",
                found=f"{self.numbers} numbers, {self.bits} bits",
                expected="finite, not negative",
            )

    def __add__(self, other: Amount) -> Amount:
        return Amount(numbers=self.numbers + other.numbers, bits=self.bits + other.bits)


class LedgerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The most that may be disclosed within one scope; whole lives, not runs.

    Args:
        identity_numbers, identity_bits: to one identity, over all items.
        total_numbers, total_bits: to all identities together: what they know if they collude.

    `math.inf` stands for no limit.

    Raises:
        StorageError: negative, or not a number, which no count ever exceeds.
    """

    identity_numbers: float = math.inf
    identity_bits: float = math.inf
    total_numbers: float = math.inf
    total_bits: float = math.inf

    def __post_init__(self) -> None:
        for name, value in msgspec.structs.asdict(self).items():
            if not value >= 0:
                raise StorageError("not a limit", where=name, found=value, expected="0 or more")


class LedgerEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One row: what one identity was told of one item."""

    scope: str
    identity: str
    item: str
    charges: int
    amount: Amount


class StoredLedger:
    """The ledger's rows inside a transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def charge(
        self, scope: str, identity: str, item: str, amount: Amount, limits: LedgerLimits
    ) -> Amount:
        """Count one disclosure, or refuse it.

        Args:
            scope: the kind of disclosure that `limits` are for.
            identity: who learns it, as the channel authenticated; "" for whom nobody did.
            item: of what; a model and its version, say.
            amount: how much.
            limits: the most, after this charge.

        Returns:
            What this identity was told in this scope, this charge included.

        Raises:
            LedgerError: a limit would be exceeded; nothing was charged.
        """
        to_one = self.check(scope, identity, amount, limits)
        self._connection.execute(
            "INSERT INTO ledger VALUES (?, ?, ?, 1, ?, ?)"
            " ON CONFLICT (scope, identity, item) DO UPDATE SET charges = charges + 1,"
            " numbers = numbers + excluded.numbers, bits = bits + excluded.bits",
            (scope, identity, item, amount.numbers, amount.bits),
        )
        return to_one

    def check(self, scope: str, identity: str, amount: Amount, limits: LedgerLimits) -> Amount:
        """What `charge` would return or refuse, without charging anything.

        Raises:
            LedgerError: a limit would be exceeded; `where` names it.
        """
        one, everybody = self.spent(scope, identity=identity), self.spent(scope)
        checks = (
            ("identity_numbers", "numbers", one.numbers, amount.numbers, "to one identity"),
            ("identity_bits", "bits", one.bits, amount.bits, "to one identity"),
            ("total_numbers", "numbers", everybody.numbers, amount.numbers, "to all together"),
            ("total_bits", "bits", everybody.bits, amount.bits, "to all together"),
        )
        for name, unit, told, more, whom in checks:
            limit = getattr(limits, name)
            if told + more > limit * (1 + _SLACK):
                raise LedgerError(
                    f"answering would disclose too many {unit} {whom}",
                    where=name,
                    found=told + more,
                    expected=f"at most {limit:.12g}",
                    hint=f"So far it disclosed {told:.12g}",
                )
        return one + amount

    def spent(self, scope: str, *, identity: str | None = None, item: str | None = None) -> Amount:
        """What was disclosed so far: to everybody or one identity, of everything or one item."""
        query = "SELECT coalesce(sum(numbers), 0), coalesce(sum(bits), 0.0) FROM ledger"
        conditions, values = ["scope = ?"], [scope]
        for column, value in (("identity", identity), ("item", item)):
            if value is not None:
                conditions.append(f"{column} = ?")
                values.append(value)
        numbers, bits = self._connection.execute(
            f"{query} WHERE {' AND '.join(conditions)}", values
        ).fetchone()
        return Amount(numbers=numbers, bits=bits)

    def entries(self) -> list[LedgerEntry]:
        """All rows, in the order of scope, identity and item."""
        rows = self._connection.execute(
            "SELECT scope, identity, item, charges, numbers, bits FROM ledger"
            " ORDER BY scope, identity, item"
        )
        return [
            LedgerEntry(
                scope=scope,
                identity=identity,
                item=item,
                charges=charges,
                amount=Amount(numbers=numbers, bits=bits),
            )
            for scope, identity, item, charges, numbers, bits in rows
        ]
