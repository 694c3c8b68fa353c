"""A teacher's account of what it disclosed: in memory, or in a store that outlives the process.

Limits hold for the life of the account and not for a request: once they are spent, every request is
refused. An account in memory ends with its teacher; give a store wherever that matters.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from securefair.circuit.planner import ExchangePlan, most_bits, plan_exchange
from securefair.circuit.schedule import Schedule
from securefair.circuit.spec import ExchangeSpec
from securefair.errors import DataError, LedgerError, StorageError
from securefair.model.foldable import Foldable
from securefair.protocol.ledger import Account, DisclosurePolicy, Ledger
from securefair.releases import exchanged_releases
from securefair.storage import Access, Store, Transaction
from securefair.storage.connection import DATABASE

ANSWERS = "answers "
"""Before a caller's name: where its account is in the store."""

ACCOUNTS = 8
"""All callers together may get so many times what one may, by default."""

WAIT_SECONDS = 5.0
"""Teachers take turns at a store within milliseconds; a site may keep one for itself."""


_ARGUMENTS = {
    "student_total": ("max_numbers", "numbers"),
    "student_bits": ("max_bits", "bits"),
    "teacher_total": ("total_numbers", "numbers"),
}
"""A teacher's arguments, and what they limit, by what the ledger calls these limits."""


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """The most that a teacher discloses over its account's life.

    Args:
        max_numbers: to one caller; None for the default of `policy`.
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
            if value is not None and not (isinstance(value, int | float) and value >= 0):
                raise LedgerError("not a limit", where=name, found=value, expected="0 or more")

    def unplanned(self, spec: ExchangeSpec, determining: int) -> DisclosurePolicy:
        """What is known of the limits before there is a plan: what was given, and no default."""
        most = math.inf if self.max_numbers is None else self.max_numbers
        bits = math.inf if self.max_bits is None else self.max_bits
        return self._policy(spec, determining, most, bits)

    def policy(
        self,
        plan: ExchangePlan,
        determining: int,
        agreed: ExchangeSpec | None,
        *,
        coefficients: bool = True,
        kept: Schedule | None = None,
    ) -> DisclosurePolicy:
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
            kept: of the own plan of what was agreed, if it was found before.

        Raises:
            PlanError: what was agreed is impossible.
        """
        numbers = self.max_numbers
        if numbers is None:
            numbers = determining
            if agreed is not None:
                bound = min(determining, plan.spec.samples * plan.spec.classes)
                numbers = max(_one_answer(plan, agreed, coefficients, kept), bound)
        bits = most_bits(plan) * numbers if self.max_bits is None else self.max_bits
        return self._policy(plan.spec, determining, numbers, bits)

    def _policy(
        self, spec: ExchangeSpec, determining: int, numbers: float, bits: float
    ) -> DisclosurePolicy:
        total = ACCOUNTS * numbers if self.total_numbers is None else self.total_numbers
        return DisclosurePolicy(
            release=spec.release,
            classes=spec.classes,
            rows=max(1, spec.q),
            teacher_parameters=max(1, determining),
            fraction_per_version=None,
            student_total=_whole(numbers),
            student_bits=None if bits == math.inf else bits,
            teacher_total=_whole(total),
        )


class AnswerAccount:
    """What one teacher has told, by caller: the ledger (`protocol.ledger`), kept in a store.

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
        self._process = os.getpid()
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

    def charge(self, peer: str, item: str, plan: ExchangePlan, policy: DisclosurePolicy) -> None:
        """Charge one answer; on the disk when this returns.

        Args:
            peer: who gets it.
            item: of which model, see `item_of`.
            plan: of the answer, which says how many numbers and bits it discloses.
            policy: the limits.

        Raises:
            DataError: this is no caller's name.
            LedgerError: a limit would be exceeded; nothing was charged.
            StorageError: the store cannot be used; nothing may leave.
        """
        check_caller(peer)
        with self._store() as store, store.transaction() as tx:
            ledger = Ledger(policy, _accounts(tx))
            ledger = _charged(ledger, peer, plan.numbers, plan.bits, plan.spec.samples, item)
            tx.memory.put(ANSWERS + peer, msgspec.json.encode(ledger.accounts[peer]))

    def check(
        self, peer: str, policy: DisclosurePolicy, *, numbers: int, bits: float = 0.0
    ) -> None:
        """Refuse early, before anything dear is done, what `charge` would refuse.

        Raises:
            DataError: this is no caller's name.
            LedgerError: a limit would be exceeded.
            StorageError: the store cannot be used.
        """
        check_caller(peer)
        _charged(Ledger(policy, self.accounts()), peer, numbers, bits, samples=1)

    def accounts(self) -> dict[str, Account]:
        """What was told so far, by caller.

        Raises:
            StorageError: the store cannot be used.
        """
        with self._store() as store, store.view() as tx:
            return _accounts(tx)

    @contextmanager
    def _store(self) -> Iterator[Store]:
        if self._memory is not None:
            if self._process != os.getpid():  # each process would count by itself
                raise StorageError(
                    "an account in memory is of the process that made its teacher",
                    hint="Make the teacher in each worker, or give it a store, which they share",
                )
            yield self._memory
        elif self._folder is not None:
            with Store.open(
                self._folder, access=Access.SHARED, create=False, wait_s=WAIT_SECONDS
            ) as store:
                yield store


def _accounts(tx: Transaction) -> dict[str, Account]:
    found = {name: tx.memory.get(name) for name in tx.memory.names(ANSWERS)}
    return {
        name.removeprefix(ANSWERS): msgspec.json.decode(data, type=Account)
        for name, data in found.items()
        if data is not None
    }


def _charged(
    ledger: Ledger, peer: str, numbers: int, bits: float, samples: int, item: str = ""
) -> Ledger:
    """The ledger after an answer; a refusal says which argument of a teacher the limit is."""
    try:
        return ledger.charge(
            peer,
            numbers=numbers,
            bits=bits,
            version=0,
            basis=item,
            samples=samples,
            repeats=False,
        )
    except LedgerError as error:
        if error.where not in _ARGUMENTS:
            raise
        limit, what = _ARGUMENTS[error.where]
        whom = "all callers together" if limit == "total_numbers" else peer or "callers unnamed"
        account = ledger.accounts.get(peer, Account(samples))
        told = {
            "max_numbers": account.total,
            "max_bits": account.carried,
            "total_numbers": ledger.total,
        }
        raise LedgerError(
            f"answering would disclose too many {what} to {whom}",
            where=limit,
            found=error.found,
            expected=error.expected,
            hint=f"So far it disclosed {told[limit]:.12g}. Every answer counts, one to the same "
            f"request too. More is for the model's owner to decide, by a larger {limit}",
        ) from error


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


def _whole(limit: float) -> int | None:
    return None if limit == math.inf else math.floor(limit)


def _one_answer(
    plan: ExchangePlan, agreed: ExchangeSpec, coefficients: bool, kept: Schedule | None
) -> int:
    """Numbers of one answer, at most those of the own plan.

    Of `logits` they depend on packing and ring, which the student chooses with its schedule: in
    slots thousands leave where one a sample and class would do. The own plan is searched once a
    process, at nobody else's word, unless it was kept and is the student's as well.
    """
    if not plan.spec.leaves.whole or plan.schedule == kept:
        return plan.numbers
    return min(plan.numbers, plan_exchange(agreed, coefficients=coefficients).numbers)


def fewest_numbers(spec: ExchangeSpec) -> int:
    """Numbers that an answer discloses by any plan, of a spec that nobody has checked yet."""
    if spec.release not in exchanged_releases():
        return 1
    return max(1, spec.leaves.numbers(spec.samples, spec.classes, spec.q))


def item_of(model: Foldable) -> str:
    """Names a version of a model in the account, without telling anything of it."""
    digest = hashlib.blake2b(digest_size=8, person=b"sf-model")
    for layer in model.folded().layers:
        for array in (value for value in vars(layer).values() if isinstance(value, np.ndarray)):
            digest.update(repr(array.shape).encode() + array.tobytes())
    return digest.hexdigest()
