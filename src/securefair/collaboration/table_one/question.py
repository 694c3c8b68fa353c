"""For sums of counts: first of yes and no, then of the cells that all decided to tell.

A question holds the digest of the plan and the round, the second one also the digest of which
cells are told, and nothing else. Both sums are of one length, so that what was decided shows in no
size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from securefair.averaging import Gathering, SumSpec
from securefair.averaging.fixed_point import FixedPlan, FixedPoint
from securefair.collaboration.table_one.cells import own_variables
from securefair.collaboration.table_one.counted import Counted
from securefair.collaboration.table_one.rules import (
    LAYOUT_BYTES,
    Allowed,
    asked_first,
    decided,
    layout_of,
    length,
    told,
)
from securefair.collaboration.transfer.questions.interface import Charged, MaskKeys, StoredKeys
from securefair.collaboration.transfer.questions.masked import MaskedExchange, MaskedQuestion
from securefair.collaboration.wording import data_size
from securefair.data.dataset import Samples
from securefair.errors import LocalProtocolError, RemoteProtocolError
from securefair.model.transfer import OwnFit, Polynomial

if TYPE_CHECKING:
    from securefair.collaboration.transfer.terms import TransferTerms

Array = NDArray[np.float64]

ROUNDS = 2
"""Whether there are patients in each cell, then how many."""

NEARLY_HALF = 0.500001
"""Of a patient, by which a hospital's part may be off: words hold whole numbers, and no more."""


class CountsExchange(MaskedExchange):
    """See `HospitalExchange`: own patients, counted.

    Args:
        question: that was agreed on.
        patients: all own ones.

    Attributes:
        allowed: which cells are told, once that is decided.
    """

    _question: CountsQuestion

    def __init__(self, question: CountsQuestion, patients: Samples) -> None:
        super().__init__(question)
        counted = question.counted
        self.own = own_variables(
            counted.columns,
            counted.classes,
            np.asarray(patients.features, np.float64),
            patients.labels,
            None if counted.within is None or patients.values is None else patients.values[:, 0],
        )
        self.patients = len(patients)
        self.allowed: Allowed | None = None

    def numbers(self, round: int) -> Array:
        """What this hospital adds in a round.

        Raises:
            LocalProtocolError: what may be told is not decided.
        """
        variables = self._question.counted.variables
        if round == 0:
            return asked_first(self.patients, self.own, variables)
        if self.allowed is None:
            raise LocalProtocolError("nobody has decided yet which cells may be told")
        return told(self.own, variables, self.allowed)

    def decide(self, opened: Array) -> Allowed:
        """Which cells may be told, from what all others added first."""
        counted, total = self._question.counted, self.total(0, opened)
        yes = np.rint(total).astype(np.int64)
        self.allowed = decided(counted.variables, yes, counted.hospitals)
        return self.allowed

    def total(self, round: int, opened: Array) -> Array:
        """Over all hospitals, from the sum of the others."""
        return opened + self.numbers(round)

    def masked(self, gathering: Gathering, keys: MaskKeys, numbers: Array) -> bytes:
        """See `MaskedExchange`: whole numbers for a sum, whose digits tell nothing of its parts.
        Each one's share of a mean is rounded by itself, which a third of a count would show."""
        return super().masked(gathering, keys, len(gathering.senders) * numbers)

    def request(self) -> bytes:
        """See `HospitalExchange`: of the first round."""
        return self.asking(0)

    def asking(self, round: int) -> bytes:
        """The question of a round.

        Raises:
            LocalProtocolError: what may be told is not decided.
        """
        layout = b""
        if round:
            if self.allowed is None:
                raise LocalProtocolError("nobody has decided yet which cells may be told")
            layout = layout_of(self.allowed)
        return self._question.request(round) + layout

    def told(self, request: bytes, student: str) -> Charged:
        """See `HospitalExchange`."""
        self._question.round_of(request, student)
        agreed = self._question.agreed
        return Charged(self._question.numbers_of(agreed.facts.samples), agreed.facts.samples)

    def share(
        self, request: bytes, gathering: Gathering, keys: MaskKeys, own: OwnFit, model: Polynomial
    ) -> bytes:
        """See `HospitalExchange`."""
        del own, model
        if request != self.asking(gathering.round):
            raise RemoteProtocolError(
                "asks for the sum of another round, or of other cells than may be told",
                culprit=gathering.receiver,
            )
        return self.masked(gathering, keys, self.numbers(gathering.round))


class CountsQuestion(MaskedQuestion):
    """See `TransferQuestion`.

    Args:
        agreed: the agreement.
        counted: what everybody counts.

    Raises:
        PlanError: the numbers do not fit the words of a sum.
    """

    release: ClassVar[str] = "counts"

    def __init__(self, agreed: TransferTerms, counted: Counted) -> None:
        super().__init__(agreed)
        self.counted = counted

    @cached_property
    def plan(self) -> FixedPlan:
        """See `MaskedQuestion`: nobody has more of anything than patients."""
        plan = self.sums.plan(
            SumSpec(
                parameters=length(self.counted.variables),
                senders=self.counted.others,
                bound=float(self.counted.others * self.counted.patients),
                precision=NEARLY_HALF / self.counted.patients,
            )
        )
        return replace(plan, fixed=FixedPoint(plan.fixed.word_bits, log2_scale=0))

    def request(self, round: int) -> bytes:
        """How the question of a round begins."""
        return self.digest + bytes([round])

    def round_of(self, request: bytes, student: str) -> int:
        """Of a question.

        Raises:
            RemoteProtocolError: there is none such.
        """
        for round, more in enumerate((0, LAYOUT_BYTES)):
            if request[: len(request) - more] == self.request(round):
                return round
        raise RemoteProtocolError("asks for another sum than agreed", culprit=student)

    def check_sum(self, round: int, opened: Array, senders: Sequence[str]) -> None:
        """Refuse sums that honest hospitals cannot have added: of yes and no, then of counts.

        Raises:
            RemoteProtocolError: one of the senders is the culprit, and nobody can tell which.
        """
        everybody = len(senders) * self.counted.patients
        most = everybody if round else len(senders)
        bounds = np.full(len(opened), float(most))
        bounds[0] = everybody
        if not ((opened >= 0) & (opened <= bounds)).all():
            raise RemoteProtocolError(
                "a sum holds what nobody could have said",
                culprit=" or ".join(senders),
                expected=f"0 to {most}",
            )

    @property
    def lengths(self) -> tuple[int, int]:
        """See `TransferQuestion`."""
        return len(self.request(1)) + LAYOUT_BYTES, self.plan.share_bytes

    @property
    def most_patients(self) -> int:
        """See `TransferQuestion`."""
        return self.counted.patients

    @property
    def summary(self) -> str:
        """See `TransferQuestion`."""
        return (
            f"two sums of {self.plan.spec.parameters} counts under masks, nothing encrypted; "
            f"{data_size(self.plan.share_bytes)} a part"
        )

    def determines_fit(self, patients: int) -> bool:
        """See `TransferQuestion`: no fit is in counts of single columns."""
        del patients
        return False

    def determines_logits(self, patients: int) -> bool:
        """See `TransferQuestion`."""
        del patients
        return False

    def exchange(self, patients: Samples, *, keys: StoredKeys | None = None) -> CountsExchange:
        """See `TransferQuestion`."""
        del keys
        self.agreed.check_samples(len(patients))
        return CountsExchange(self, patients)

    def clear(self, patients: Samples, own: OwnFit, model: Polynomial) -> Array:
        """See `TransferQuestion`: of the first round."""
        del own, model
        return CountsExchange(self, patients).numbers(0)
