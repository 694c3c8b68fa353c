"""A teacher's account of what it disclosed: in memory, or in a store that outlives the process.

Limits hold for the life of the account and not for a request: once they are spent, every request is
refused. An account in memory ends with its teacher; give a store wherever that matters.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from securefair.circuit.planner import ExchangePlan, most_bits, plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.errors import DataError, LedgerError, StorageError
from securefair.model.foldable import Foldable
from securefair.storage import Access, Amount, LedgerLimits, Store, StoredLedger
from securefair.storage.connection import DATABASE

SCOPE = "answers"

ACCOUNTS = 8
"""All callers together may get so many times what one may, by default."""

WAIT_SECONDS = 5.0
"""Teachers take turns at a store within milliseconds; a site may keep one for itself."""


_ARGUMENTS = {
    "identity_numbers": "max_numbers",
    "identity_bits": "max_bits",
    "total_numbers": "total_numbers",
}
"""A teacher's arguments by what the ledger calls their limits."""


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """The most that a teacher discloses over its account's life.

    Args:
        max_numbers: to one caller; None for the default of `limits`.
        max_bits: to one caller; None for as many a number as a plan may carry (`most_bits`).
        total_numbers: to all callers together, who may be one; None for eight times `max_numbers`.

    `math.inf` stands for no limit.

    Raises:
        LedgerError: negative, or not a number, which no count ever exceeds.
    """

    max_numbers: float | None = None
    max_bits: float | None = None
    total_numbers: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not value >= 0:
                raise LedgerError("not a limit", where=name, found=value, expected="0 or more")

    @property
    def unplanned(self) -> LedgerLimits:
        """What is known of the limits before there is a plan."""
        most = math.inf if self.max_numbers is None else self.max_numbers
        total = ACCOUNTS * most if self.total_numbers is None else self.total_numbers
        bits = math.inf if self.max_bits is None else self.max_bits
        return LedgerLimits(identity_numbers=most, identity_bits=bits, total_numbers=total)

    def limits(
        self,
        plan: ExchangePlan,
        determining: int,
        agreed: ExchangeSpec | None,
        *,
        coefficients: bool = True,
    ) -> LedgerLimits:
        """The limits for answers by this plan.

        By default one answer of an agreed spec, and more only as long as all of them together stay
        below the smaller disclosure bound: the numbers that determine the model, and the student's
        samples times classes. Whatever a stranger chose raises no limit: neither a spec, without an
        agreement, nor a schedule that lets out more than the own plan of what was agreed.

        Args:
            plan: of the request, verified.
            determining: numbers that determine the model (`FoldedNetwork.determining`).
            agreed: the spec that was agreed on, if any.
            coefficients: whether the own engine packs coefficients.

        Raises:
            PlanError: what was agreed is impossible.
        """
        numbers = self.max_numbers
        if numbers is None:
            numbers = determining
            if agreed is not None:
                bound = min(determining, plan.spec.samples * plan.spec.classes)
                numbers = max(_one_answer(plan, agreed, coefficients), bound)
        total = self.total_numbers
        return LedgerLimits(
            identity_numbers=numbers,
            identity_bits=most_bits(plan) * numbers if self.max_bits is None else self.max_bits,
            total_numbers=ACCOUNTS * numbers if total is None else total,
        )


class AnswerAccount:
    """What one teacher has told, by caller.

    Args:
        store: folder of a store, which several processes may share; None: in memory.
        create: make a store where there is none. Not for a teacher that told something before: an
            account that is gone must not begin at zero.

    Raises:
        StorageError: the store is missing, or cannot be used.
    """

    def __init__(self, store: Path | None, *, create: bool = False) -> None:
        self._folder = store
        self._memory = Store.in_memory() if store is None else None
        if store is not None:
            if not create and not (store / DATABASE).exists():
                raise StorageError(
                    "there is no store in this folder",
                    where=str(store),
                    hint="A teacher that has told nothing yet makes one with create_store=True; "
                    "an account that is gone must not begin at zero",
                )
            # Usable at all?
            Store.open(store, access=Access.SHARED, create=create, wait_s=WAIT_SECONDS).close()

    def charge(self, peer: str, item: str, plan: ExchangePlan, limits: LedgerLimits) -> None:
        """Charge one answer; on the disk when this returns.

        Raises:
            DataError: this is no caller's name.
            LedgerError: a limit would be exceeded; nothing was charged.
            StorageError: the store cannot be used; nothing may leave.
        """
        check_caller(peer)
        with self._store() as store, _explained(), store.transaction() as tx:
            tx.ledger.charge(SCOPE, peer, item, amount_of(plan), limits)

    def spent(self, peer: str | None = None) -> Amount:
        """What one caller, or all together, were told."""
        with self._store() as store, store.view() as tx:
            ledger: StoredLedger = tx.ledger
            return ledger.spent(SCOPE, identity=peer)

    def check(self, peer: str, amount: Amount, limits: LedgerLimits) -> None:
        """Refuse early, before anything dear is done, what `charge` would refuse.

        Raises:
            DataError: this is no caller's name.
            LedgerError: a limit would be exceeded.
            StorageError: the store cannot be used.
        """
        check_caller(peer)
        with self._store() as store, _explained(), store.view() as tx:
            tx.ledger.check(SCOPE, peer, amount, limits)

    @contextmanager
    def _store(self) -> Iterator[Store]:
        if self._memory is not None:
            yield self._memory
        elif self._folder is not None:
            with Store.open(
                self._folder, access=Access.SHARED, create=False, wait_s=WAIT_SECONDS
            ) as store:
                yield store


def check_caller(peer: str) -> None:
    """Refuse what is no name: an account must be found again, in every process.

    Raises:
        DataError: it is no text, or text that cannot be written.
    """
    try:
        peer.encode()
    except (AttributeError, UnicodeEncodeError) as error:
        raise DataError(
            "this is no caller's name",
            where="peer",
            found=type(peer).__name__,
            expected="text, as the channel authenticated it",
        ) from error


@contextmanager
def _explained() -> Iterator[None]:
    """Say which argument of a teacher the limit is, and what there is to do."""
    try:
        yield
    except LedgerError as error:
        limit = _ARGUMENTS.get(error.where or "")
        if limit is None:
            raise
        raise LedgerError(
            error.problem,
            where=limit,
            found=error.found,
            expected=error.expected,
            hint=f"{error.hint}. Every answer counts, one to the same request too. More is for the "
            f"model's owner to decide, by a larger {limit}",
        ) from error


def amount_of(plan: ExchangePlan) -> Amount:
    """What one answer by a plan discloses."""
    return Amount(numbers=plan.numbers, bits=plan.bits)


def _one_answer(plan: ExchangePlan, agreed: ExchangeSpec, coefficients: bool) -> int:
    """Numbers of one answer, at most those of the own plan.

    Of `logits` they depend on packing and ring, which the student chooses with its schedule: in
    slots thousands leave where one a sample and class would do. The own plan is searched once a
    process, at nobody else's word.
    """
    if not plan.spec.leaves.whole:
        return plan.numbers
    return min(plan.numbers, plan_exchange(agreed, coefficients=coefficients).numbers)


def item_of(model: Foldable) -> str:
    """Names a version of a model in the account, without telling anything of it."""
    digest = hashlib.blake2b(digest_size=8, person=b"sf-model")
    for layer in model.folded().layers:
        for array in (value for value in vars(layer).values() if isinstance(value, np.ndarray)):
            digest.update(repr(array.shape).encode() + array.tobytes())
    return digest.hexdigest()
