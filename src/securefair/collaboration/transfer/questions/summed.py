"""For a sum of what fits know: nobody says anything of its patients, and nothing is encrypted.

Everybody adds numbers of the fit on its own patients, in fixed point, under masks that cancel in
the sum (`averaging.masked`). All count alike: the weights are the senders' own, whatever a student
wishes. A question holds the digest of the plan and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from securefair.averaging import Gathering, SumSpec
from securefair.averaging.fixed_point import FixedPlan
from securefair.averaging.masked import MaskedKeys, MaskedSums
from securefair.averaging.messages import write_weights
from securefair.averaging.pairwise import public_bytes
from securefair.circuit.spec import HeadBounds
from securefair.collaboration.audit import Audit
from securefair.collaboration.facts import EncryptionFacts
from securefair.collaboration.transfer.questions.interface import (
    Charged,
    Disclosed,
    HospitalExchange,
    MaskKeys,
    StoredKeys,
    TransferQuestion,
)
from securefair.collaboration.wording import data_size
from securefair.data.dataset import Samples
from securefair.errors import LedgerError, LocalProtocolError, RemoteProtocolError
from securefair.model.transfer import OwnFit, Polynomial, Transferred
from securefair.model.transfer.sums import FitSum, transfer_sum

if TYPE_CHECKING:
    from securefair.collaboration.transfer.terms import TransferTerms

Array = NDArray[np.float64]

MASK_SECURITY_BITS = 128
"""Of X25519, and of AES-256 behind it."""


class SummedExchange(HospitalExchange):
    """See `HospitalExchange`."""

    def __init__(self, question: SummedQuestion) -> None:
        self._question = question

    def request(self) -> bytes:
        """See `HospitalExchange`."""
        return self._question.digest

    def told(self, request: bytes, student: str) -> Charged:
        """See `HospitalExchange`."""
        if request != self._question.digest:
            raise RemoteProtocolError("asks for another sum than agreed", culprit=student)
        agreed = self._question.agreed
        return Charged(self._question.numbers_of(agreed.facts.samples), agreed.facts.samples)

    def answer(self, request: bytes, student: str, model: Polynomial) -> bytes:
        """See `HospitalExchange`.

        Raises:
            RemoteProtocolError: what a fit knows is told in a sum only.
        """
        del request, model
        raise RemoteProtocolError("asks for what is told in a sum only", culprit=student)

    def share(
        self, request: bytes, gathering: Gathering, keys: MaskKeys, own: OwnFit, model: Polynomial
    ) -> bytes:
        """See `HospitalExchange`."""
        del request, model  # the first is the plan's digest, which masks are bound to
        samples = own.samples
        people = samples if samples.patients is None else set(samples.patients.tolist())
        self._question.check_patients(len(people), len(gathering.senders))
        mask_keys = MaskedKeys(public=public_bytes(keys.private), private=keys.private)
        weight = write_weights([1 / len(gathering.senders)])
        return self._question.sums.message(
            self._question.plan,
            mask_keys,
            keys.publics,
            gathering,
            keys.sender,
            weight,
            self._question.summed.told(own),
        )

    def open(self, answer: bytes) -> Array:
        """See `HospitalExchange`.

        Raises:
            LocalProtocolError: nothing is opened by itself.
        """
        raise LocalProtocolError("a part of a sum opens nothing", found=f"{len(answer)} bytes")

    def open_sum(self, gathering: Gathering, shares: Mapping[str, bytes]) -> Array:
        """See `HospitalExchange`."""
        return self._question.total(gathering, shares)

    def transferred(self, own: OwnFit, mean: Array, senders: Sequence[str]) -> Transferred:
        """See `HospitalExchange`."""
        features = self._question.agreed.features
        return transfer_sum(own, self._question.summed.opened(mean, len(senders), features))

    def transferred_each(self, own: OwnFit, each: Mapping[str, Array]) -> Transferred:
        """See `HospitalExchange`.

        Raises:
            LocalProtocolError: nothing is opened by itself.
        """
        del own
        raise LocalProtocolError("a part of a sum opens nothing", found=", ".join(each))

    def carried(self, numbers: Array, later: HospitalExchange) -> Array:
        """See `HospitalExchange`: a sum of fits is of nobody's patients."""
        del later
        return numbers

    def export_keys(self) -> StoredKeys:
        """See `HospitalExchange`: none but those for masks, which are the hospital's."""
        return b"", b"", b""


class SummedQuestion(TransferQuestion):
    """See `TransferQuestion`.

    Args:
        agreed: the agreement.
        summed: what is added up.

    Raises:
        PlanError: the numbers do not fit the words of a sum.
    """

    encrypts: ClassVar[bool] = False

    def __init__(self, agreed: TransferTerms, summed: FitSum) -> None:
        super().__init__(agreed)
        self.summed, self.sums = summed, MaskedSums()

    @cached_property
    def _keys(self) -> MaskedKeys:
        """No sum of masked shares needs its receiver's."""
        return self.sums.generate_keys(self.plan)

    @cached_property
    def plan(self) -> FixedPlan:
        """Of every sum.

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

    def total(self, gathering: Gathering, shares: Mapping[str, bytes]) -> Array:
        """The mean of all senders' numbers."""
        return self.sums.total(self.plan, self._keys, gathering, shares)

    @property
    def digest(self) -> bytes:
        """See `TransferQuestion`."""
        return self.plan.digest

    @property
    def summary(self) -> str:
        """See `TransferQuestion`."""
        return (
            f"sums of {self.plan.spec.parameters} numbers of fits under masks, nothing encrypted; "
            f"{data_size(self.plan.share_bytes)} a part"
        )

    @property
    def lengths(self) -> tuple[int, int]:
        """See `TransferQuestion`."""
        return len(self.digest), self.plan.share_bytes

    def numbers_of(self, patients: int) -> int:
        """See `TransferQuestion`."""
        del patients
        return self.plan.spec.parameters

    def determines_fit(self, patients: int) -> bool:
        """See `TransferQuestion`: fits are among what is summed."""
        del patients
        return True

    def determines_logits(self, patients: int) -> bool:
        """See `TransferQuestion`: whoever knows a mean of fits knows what it says of anybody."""
        del patients
        return True

    def bytes_of(self, patients: int) -> tuple[int, int]:
        """See `TransferQuestion`."""
        del patients
        return self.lengths

    @property
    def told(self) -> Disclosed:
        """See `TransferQuestion`: all that is told of a fit is told once."""
        numbers = self.plan.spec.parameters
        return Disclosed("summed_fits", numbers, numbers)

    def exchange(
        self, patients: Samples, *, backend: str, device: str, keys: StoredKeys | None = None
    ) -> SummedExchange:
        """See `TransferQuestion`."""
        del backend, device, keys
        self.agreed.check_samples(len(patients))
        return SummedExchange(self)

    def clear(self, patients: Samples, own: OwnFit, model: Polynomial) -> Array:
        """See `TransferQuestion`."""
        del patients, model
        return self.summed.told(own)

    def encryption(self, audit: Audit, *, backend: str) -> EncryptionFacts:
        """See `TransferQuestion`."""
        del backend
        return EncryptionFacts(
            backend=self.sums.name,
            ring_degree=0,
            log_qp=0.0,
            security_bits=MASK_SECURITY_BITS,
            release="summed_fits",
            flooding_bits=0,
            max_abs_error=audit.max_abs_error,
            error_over_range=audit.error_over_range,
            error_bound=self.plan.error_bound,
            bits_per_number=8 * self.plan.fixed.word_bytes,
        )
