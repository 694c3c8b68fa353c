"""For a sum of what fits know: everybody adds numbers of the fit on its own patients.

A question holds the digest of the plan and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from securefair.averaging import Gathering, SumSpec
from securefair.averaging.fixed_point import FixedPlan
from securefair.circuit.spec import HeadBounds
from securefair.collaboration.transfer.questions.interface import Charged, MaskKeys, StoredKeys
from securefair.collaboration.transfer.questions.masked import MaskedExchange, MaskedQuestion
from securefair.collaboration.wording import data_size
from securefair.data.dataset import Samples
from securefair.errors import LedgerError, RemoteProtocolError
from securefair.model.transfer import OwnFit, Polynomial, Transferred
from securefair.model.transfer.sums import FitSum, transfer_sum

if TYPE_CHECKING:
    from securefair.collaboration.transfer.terms import TransferTerms

Array = NDArray[np.float64]


class SummedExchange(MaskedExchange):
    """See `HospitalExchange`."""

    _question: SummedQuestion

    def request(self) -> bytes:
        """See `HospitalExchange`."""
        return self._question.digest

    def told(self, request: bytes, student: str) -> Charged:
        """See `HospitalExchange`."""
        if request != self._question.digest:
            raise RemoteProtocolError("asks for another sum than agreed", culprit=student)
        agreed = self._question.agreed
        return Charged(self._question.numbers_of(agreed.facts.samples), agreed.facts.samples)

    def share(
        self, request: bytes, gathering: Gathering, keys: MaskKeys, own: OwnFit, model: Polynomial
    ) -> bytes:
        """See `HospitalExchange`."""
        del request, model  # the first is the plan's digest, which masks are bound to
        samples = own.samples
        people = samples if samples.patients is None else set(samples.patients.tolist())
        self._question.check_patients(len(people), len(gathering.senders))
        return self.masked(gathering, keys, self._question.summed.told(own))

    def transferred(self, own: OwnFit, mean: Array, senders: Sequence[str]) -> Transferred:
        """See `HospitalExchange`."""
        features = self._question.agreed.features
        return transfer_sum(own, self._question.summed.opened(mean, len(senders), features))


class SummedQuestion(MaskedQuestion):
    """See `TransferQuestion`.

    Args:
        agreed: the agreement.
        summed: what is added up.

    Raises:
        PlanError: the numbers do not fit the words of a sum.
    """

    release: ClassVar[str] = "summed_fits"

    def __init__(self, agreed: TransferTerms, summed: FitSum) -> None:
        super().__init__(agreed)
        self.summed = summed

    @cached_property
    def plan(self) -> FixedPlan:
        """See `MaskedQuestion`.

        A curvature is at most the summed squares of features times a loss's own, and a slope that
        times a logit's bound.
        """
        bounds, patients = HeadBounds(), self.agreed.facts.samples
        bend = self.agreed.outcome.curvature or 0.0
        spec = SumSpec(
            parameters=self.summed.numbers(self.agreed.features, self.agreed.outputs),
            senders=self.agreed.most_teachers,
            bound=max(1.0, patients * bounds.feature**2 * bend) * bounds.logit,
        )
        return self.sums.plan(spec)

    def warnings(self, patients: Mapping[str, int]) -> list[str]:
        """See `TransferQuestion`: who has too few to add anything."""
        fewest = self.summed.fewest_patients(self.agreed.features, self.agreed.most_teachers)
        few = [name for name, count in patients.items() if count < fewest]
        if not few:
            return []
        return [
            f"{', '.join(few)} will add nothing to sums, for want of {fewest} patients: they would "
            'tell their records. Others may then get no sum. Take sums = "gradient".'
        ]

    def check_patients(self, patients: int, hospitals: int) -> None:
        """Refuse to add to a sum that would tell of too few.

        Raises:
            LedgerError: this hospital has too few patients.
        """
        fewest = self.summed.fewest_patients(self.agreed.features, hospitals)
        if patients < fewest:
            raise LedgerError(
                "a sum over so few patients would tell their records",
                where="transfer.sums",
                found=f"{patients} patients, in a sum of {hospitals} hospitals",
                expected=f"at least {fewest}, for {self.agreed.features} features",
                hint='sums = "gradient" holds no products of features',
            )

    @property
    def summary(self) -> str:
        """See `TransferQuestion`."""
        return (
            f"sums of {self.plan.spec.parameters} numbers of fits under masks, nothing encrypted; "
            f"{data_size(self.plan.share_bytes)} a part"
        )

    def determines_fit(self, patients: int) -> bool:
        """See `TransferQuestion`: fits are among what is summed."""
        del patients
        return True

    def determines_logits(self, patients: int) -> bool:
        """See `TransferQuestion`: whoever knows a mean of fits knows what it says of anybody."""
        del patients
        return True

    def exchange(self, patients: Samples, *, keys: StoredKeys | None = None) -> SummedExchange:
        """See `TransferQuestion`."""
        del keys
        self.agreed.check_samples(len(patients))
        return SummedExchange(self)

    def clear(self, patients: Samples, own: OwnFit, model: Polynomial) -> Array:
        """See `TransferQuestion`."""
        del patients, model
        return self.summed.told(own)
