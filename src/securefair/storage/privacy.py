"""The privacy budget: what happened to the patients' privacy, kept apart from what it amounts to.

An event is a mechanism that was run once: a private fit, say. What several events cost together is
a matter of composition, which an accountant above this room knows; it is an argument. The default
adds epsilons and deltas up (basic composition: Dwork and Roth 2014, theorem 3.16), which is always
true and rarely the best.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Sequence

import msgspec

from securefair.errors import LedgerError, StorageError

_SLACK = 1e-9

UNKNOWN = "not known since a recovery"
"""The mechanism of what an older copy of a store does not know: at most the limit, once more."""


class Guarantee(msgspec.Struct, frozen=True, kw_only=True):
    """(epsilon, delta) differential privacy.

    Raises:
        StorageError: out of range.
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if not (self.epsilon >= 0 and 0 <= self.delta <= 1):  # an infinite epsilon promises nothing
            raise StorageError(
                "not a guarantee",
                found=f"epsilon {self.epsilon}, delta {self.delta}",
                expected="epsilon >= 0, delta in [0, 1]",
            )


class PrivacyEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one mechanism.

    Args:
        reference: names the event within its budget; charged again under the same name it costs
            nothing, so that one private model answers any number of students.
        mechanism: which one: "dp-sgd", "output perturbation", ...
        guarantee: what it promises alone.
        details: for an accountant that composes better than by adding up: noise multiplier,
            sampling rate, steps. Plain values.
    """

    reference: str
    mechanism: str
    guarantee: Guarantee
    details: dict[str, float | int | str] = {}


Compose = Callable[[Sequence[PrivacyEvent]], Guarantee]
"""What events amount to together; a function of the events only."""


def add_up(events: Sequence[PrivacyEvent]) -> Guarantee:
    """Basic composition: epsilons and deltas add up."""
    return Guarantee(
        epsilon=math.fsum(event.guarantee.epsilon for event in events),
        delta=min(1.0, math.fsum(event.guarantee.delta for event in events)),
    )


class PrivacyBudget:
    """The rows of privacy budgets inside a transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def charge(
        self, budget: str, event: PrivacyEvent, limit: Guarantee, *, compose: Compose = add_up
    ) -> Guarantee:
        """Count one event, or refuse it; before the mechanism is run.

        Args:
            budget: whose patients.
            event: what is about to happen.
            limit: the most that all events of this budget may amount to.
            compose: the accountant.

        Returns:
            What all events that are known amount to, this one included.

        Raises:
            LedgerError: the limit would be exceeded; nothing was charged.
            StorageError: another event has the same reference.
        """
        events = self.events(budget)
        known = next((other for other in events if other.reference == event.reference), None)
        if known is not None:
            if known != event:
                raise StorageError(
                    "two different events have one reference", where=budget, found=event.reference
                )
            return compose([one for one in events if one.mechanism != UNKNOWN])
        # What a recovery does not know stands beside the limit: a recovered site tells nobody more.
        spent = compose([*(one for one in events if one.mechanism != UNKNOWN), event])
        too_much = spent.epsilon > limit.epsilon * (1 + _SLACK) or spent.delta > limit.delta * (
            1 + _SLACK
        )
        if too_much:
            raise LedgerError(
                "the privacy budget does not suffice",
                where=budget,
                found=f"epsilon {spent.epsilon:.6g}, delta {spent.delta:.3g}",
                expected=f"at most epsilon {limit.epsilon:.6g}, delta {limit.delta:.3g}",
            )
        self._write(budget, event)
        return spent

    def lose(self, budget: str, reference: str, limit: Guarantee) -> None:
        """Count what was charged after an older copy of the store, and is not known: up to `limit`.

        Told under the same reference it counts once.
        """
        if all(one.reference != reference for one in self.events(budget)):
            event = PrivacyEvent(reference=reference, mechanism=UNKNOWN, guarantee=limit)
            self._write(budget, event)

    def _write(self, budget: str, event: PrivacyEvent) -> None:
        self._connection.execute(
            "INSERT INTO privacy (budget, reference, mechanism, epsilon, delta, details)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (
                budget,
                event.reference,
                event.mechanism,
                event.guarantee.epsilon,
                event.guarantee.delta,
                msgspec.json.encode(event.details, order="sorted"),
            ),
        )

    def events(self, budget: str) -> list[PrivacyEvent]:
        """All events of a budget, in the order in which they were charged."""
        rows = self._connection.execute(
            "SELECT reference, mechanism, epsilon, delta, details FROM privacy"
            " WHERE budget = ? ORDER BY position",
            (budget,),
        )
        return [
            PrivacyEvent(
                reference=reference,
                mechanism=mechanism,
                guarantee=Guarantee(epsilon=epsilon, delta=delta),
                details=msgspec.json.decode(details, type=dict[str, float | int | str]),
            )
            for reference, mechanism, epsilon, delta, details in rows
        ]

    def spent(self, budget: str, *, compose: Compose = add_up) -> Guarantee:
        """What the events of a budget amount to so far."""
        return compose(self.events(budget))

    def budgets(self) -> list[str]:
        """The names of all budgets that were charged, sorted."""
        rows = self._connection.execute("SELECT DISTINCT budget FROM privacy ORDER BY budget")
        return [budget for (budget,) in rows]
