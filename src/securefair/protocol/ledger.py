"""The disclosure ledger: how many numbers a teacher has let out, to whom, of which model.

There is one, whoever answers: a participant of a collaboration, simulated or a site, keeps it among
what it remembers, a teacher of single exchanges in its store (`exchange.account`).

What happened (the numbers of each answer) is kept apart from what it amounts to (totals against
limits). Two disclosure bounds say how much there is to know at all:

    the teacher's parameter count P      that many independent numbers determine a model that is
                                         linear in its parameters
    the student's samples times classes  the B * M logits from which every release is computed

A student that holds the *smaller* of the two in numbers may know all that the release could ever
tell it, so the limit for one teacher version is a fraction of that smaller bound. A later
version is a different model and starts its own count, but successive versions are alike; the
optional totals over all versions bound what is learnt of all of them together. Several students
may pool their answers, hence a total per teacher besides the one per student.

Guarantee: for every student and version, the numbers released never exceed the limit, nor any
total its own. Numbers count from the moment an answer is decided: if its computation fails, the
ledger overstates, never the reverse. The count is the same for honest and malicious students:
whatever a student encrypts, an answer is that many functionals of its logits and no more. What a
number can carry is not bounded by the count: one of an answer to chosen ciphertexts may hold 17 to
20 bits at the default precision, and more at a finer one or in sums over few samples
(docs/threat-model.md). It is not differential privacy.

Edge cases: the samples of the second bound are the student's claim, which only the import of its
features can check. One answer of `logits` is at least the whole second bound, and with `block` it
counts every slot, two numbers each: 2 * block / B times as much for one block. Where the first
bound is the smaller, it exceeds that by even more. So fractions about 1 refuse it, and a
collaboration that agreed on `logits` sets none (None).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from securefair.errors import ConfigError, LedgerError
from securefair.records import WEIGHTED_SUM, LedgerRow
from securefair.releases import Release, release_of

EVERY_OFFER = 1 << 31
"""Rounds, more than any budget of sums: a participant that does not know what it let out before."""

EVERY_NUMBER = 1 << 62
"""Numbers, as many: a student that may have had so many gets none more, whatever the limits."""

_SLACK = 1e-9
"""Relative, for sums of fractions of bits: ten tenths make one."""


@dataclass(frozen=True, kw_only=True)
class DisclosurePolicy:
    """What one teacher releases, and how much of it at most.

    Args:
        release: the kind of answer, a name of the register (`securefair.releases`).
        classes: M.
        block: samples that a block of `logits` holds; whole blocks are counted, real and
            imaginary parts, because a dishonest student may fill every slot. None counts what
            an honest student gets.
        rows: q, weighted sums over the samples per answer (`projection` only, else ignored).
        teacher_parameters: P.
        fraction_per_version: most numbers to one student from one teacher version, as a
            fraction of min(P, B * M), rounded down; None for no limit.
        student_total: most numbers to one student over all versions; None for no limit.
        student_bits: most bits that these can carry; None for no limit.
        teacher_total: most numbers to all students over all versions; None for no limit.

    A limit of 0 lets nothing out.

    Raises:
        ConfigError: a count is below 1, a limit below 0, or the fraction is not positive.
    """

    release: str
    classes: int
    rows: int
    teacher_parameters: int
    fraction_per_version: float | None
    student_total: int | None = None
    student_bits: float | None = None
    teacher_total: int | None = None
    block: int | None = None

    def __post_init__(self) -> None:
        for name in ("classes", "rows", "teacher_parameters"):
            value = getattr(self, name)
            if value < 1:
                raise ConfigError("a count is too small", where=name, found=value, expected=">= 1")
        for name in ("student_total", "student_bits", "teacher_total"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise ConfigError("not a limit", where=name, found=value, expected="0 or more")
        fraction = self.fraction_per_version
        if fraction is not None and not (0 < fraction < math.inf):
            raise ConfigError(
                "not a fraction", where="fraction_per_version", found=fraction, expected="> 0"
            )

    def numbers_per_answer(self, samples: int) -> int:
        """Numbers that one answer to a student with B = `samples` discloses (protocol, table 2)."""
        if self.kind.whole and self.block is not None:
            return math.ceil(samples / self.block) * 2 * self.block * self.classes
        return self.kind.numbers(samples, self.classes, self.rows)

    @property
    def kind(self) -> Release:
        """What leaves."""
        return release_of(self.release)

    def limit_per_version(self, samples: int) -> float:
        """Most numbers of one teacher version to a student with `samples`; inf for no limit."""
        if self.fraction_per_version is None:
            return math.inf
        smaller = self.teacher_parameters
        if self.kind.exchanged:  # which is of gradients, not of logits
            smaller = min(smaller, samples * self.classes)
        return math.floor(self.fraction_per_version * smaller)


@dataclass(frozen=True)
class Account:
    """What one student has been given: numbers by teacher version and basis, and their total."""

    samples: int
    answers: int = 0
    total: int = 0
    carried: float = 0.0  # bits that these numbers can carry, where they were counted
    released: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    sums: int = 0  # weighted sums of models that this one is in
    offers: int = 0  # rounds in which it was offered the own model
    bits: float = 0.0  # of opened values, that control messages told it (`protocol.flows`)
    choice_told: bool = False  # whether it is asked until the next forced round

    def of_version(self, version: int) -> int:
        """Numbers released from one teacher version."""
        return sum(self.released.get(version, {}).values())

    def plus(self, version: int, basis: str, more: int, bits: float = 0.0) -> Account:
        """The account after one more answer that adds `more` numbers, which carry `bits`."""
        bases = dict(self.released.get(version, {}))
        bases[basis] = bases.get(basis, 0) + more
        return replace(
            self,
            answers=self.answers + 1,
            total=self.total + more,
            carried=self.carried + bits,
            released={**self.released, version: bases},
        )


@dataclass(frozen=True)
class Ledger:
    """One teacher's accounts; immutable, `charge` returns the next one."""

    policy: DisclosurePolicy
    accounts: Mapping[str, Account] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Numbers released to all students: what they know if they collude."""
        return sum(account.total for account in self.accounts.values())

    def charge(
        self,
        student: str,
        *,
        numbers: int,
        version: int,
        basis: str,
        samples: int,
        bits: float = 0.0,
        repeats: bool = True,
    ) -> Ledger:
        """The ledger after one more answer to `student`.

        Args:
            student: who gets the numbers.
            numbers: how many.
            version: of the teacher's model.
            basis: names the functionals.
            samples: B of the student, for the second disclosure bound.
            bits: that the numbers can carry, where bits are limited.
            repeats: whether an answer with the same version and basis is the same numbers, which
                cost nothing more (at most the difference, if it has more). Not where each comes
                with other noise.

        Raises:
            LedgerError: a limit would be exceeded; the ledger is unchanged.
        """
        account = replace(self.accounts.get(student, Account(samples)), samples=samples)
        before = account.released.get(version, {}).get(basis, 0) if repeats else 0
        more = max(0, numbers - before)
        if more:
            self._permit(student, account, version, more, bits)
        account = account.plus(version, basis, more, bits)
        return replace(self, accounts={**self.accounts, student: account})

    def with_sum(self, receiver: str) -> Ledger:
        """The ledger after one more weighted sum that the own model is a part of.

        Kept apart from the numbers: P numbers of several models together are released, not of one.
        """
        account = self.accounts.get(receiver, Account(0))
        accounts = {**self.accounts, receiver: replace(account, sums=account.sums + 1)}
        return replace(self, accounts=accounts)

    def with_offer(self, receiver: str) -> Ledger:
        """The ledger after one more round in which a receiver may ask for the own model."""
        account = self.accounts.get(receiver, Account(0))
        accounts = {**self.accounts, receiver: replace(account, offers=account.offers + 1)}
        return replace(self, accounts=accounts)

    def with_bits(self, peer: str, bits: float) -> Ledger:
        """The ledger after control messages told a peer so many bits more of opened values."""
        account = self.accounts.get(peer, Account(0))
        told = replace(account, bits=account.bits + bits)
        return replace(self, accounts={**self.accounts, peer: told})

    def with_choice(self, peer: str, bits: float) -> Ledger:
        """The ledger after a round told a peer whether it is asked until the next forced round.

        A reputation stays as it is until then. So only the first such round tells something.
        """
        if self.accounts.get(peer, Account(0)).choice_told:
            return self
        told = self.with_bits(peer, bits)
        account = replace(told.accounts[peer], choice_told=True)
        return replace(told, accounts={**told.accounts, peer: account})

    def with_new_choices(self) -> Ledger:
        """The ledger as a forced round begins, which may change every reputation."""
        accounts = {name: replace(one, choice_told=False) for name, one in self.accounts.items()}
        return replace(self, accounts=accounts)

    def _permit(self, student: str, account: Account, version: int, more: int, bits: float) -> None:
        policy, whom = self.policy, student or "whoever has no name"
        checks = (
            (
                f"one version of the model to {whom}",
                account.of_version(version) + more,
                policy.limit_per_version(account.samples),
                "fraction_per_version",
            ),
            (
                f"all versions to {whom}",
                account.total + more,
                EVERY_NUMBER
                if policy.student_total is None
                else min(EVERY_NUMBER, policy.student_total),
                "student_total",
            ),
            (
                "all versions to all students",
                self.total + more,
                math.inf if policy.teacher_total is None else policy.teacher_total,
                "teacher_total",
            ),
        )
        for what, count, limit, name in checks:
            if count > limit:
                raise LedgerError(
                    f"answering would disclose too many numbers of {what}",
                    where=name,
                    found=count,
                    expected=f"at most {limit}",
                    hint=f"Raise {name}, or release fewer numbers per answer",
                )
        carried, most = account.carried + bits, policy.student_bits
        if most is not None and carried > most * (1 + _SLACK):
            raise LedgerError(
                f"answering would disclose too many bits to {whom}",
                where="student_bits",
                found=f"{carried:.12g}",
                expected=f"at most {most:.12g}",
                hint="Raise student_bits, or release fewer numbers per answer",
            )

    def rows(self, *, algorithm: str, teacher: str) -> list[LedgerRow]:
        """One summary row a student, in order of names, and one more for weighted sums."""
        policy = self.policy
        rows = [
            LedgerRow(
                algorithm=algorithm,
                student=student,
                teacher=teacher,
                release=policy.release,
                answers=account.answers,
                numbers_per_answer=policy.numbers_per_answer(account.samples),
                numbers_total=account.total,
                teacher_parameters=policy.teacher_parameters,
                student_logits=account.samples * policy.classes,
                control_bits=account.bits,
            )
            for student, account in sorted(self.accounts.items())
        ]
        sums = [
            LedgerRow(
                algorithm=algorithm,
                student=student,
                teacher=teacher,
                release=WEIGHTED_SUM,
                answers=account.sums,
                numbers_per_answer=policy.teacher_parameters,
                numbers_total=account.sums * policy.teacher_parameters,
                teacher_parameters=policy.teacher_parameters,
                student_logits=0,
            )
            for student, account in sorted(self.accounts.items())
            if account.sums
        ]
        return rows + sums
