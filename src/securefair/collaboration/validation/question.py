"""About patients, one by one: what is opened are a teacher's logits of each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from securefair.circuit.planner import plan_exchange
from securefair.collaboration.sizes import longest_plans
from securefair.collaboration.transfer.exchange import AskingStudent, read_request
from securefair.collaboration.transfer.questions.encrypted import (
    REQUEST_FRAMING,
    AskedExchange,
    EncryptedQuestion,
)
from securefair.collaboration.transfer.questions.interface import (
    Charged,
    Disclosed,
)
from securefair.data.dataset import Samples
from securefair.exchange import steps
from securefair.model.transfer import OwnFit, Polynomial

if TYPE_CHECKING:
    from securefair.collaboration.transfer.terms import TransferTerms

Array = NDArray[np.float64]


TEST_SHARE = 2
"""Patients that are asked about, over the training samples that were agreed on: test patients, whom
no peer's model knows either, are asked about as well, and are as many at most."""


def most_asked(agreed: TransferTerms) -> int:
    """Patients that one hospital may ask about."""
    return TEST_SHARE * agreed.facts.samples


class LogitsExchange(AskedExchange):
    """See `HospitalExchange`; nothing is added up, and nothing is learnt from it."""

    def __init__(
        self, question: LogitsQuestion, student: AskingStudent, backend: str, device: str
    ) -> None:
        super().__init__(question, student, backend, device)
        self._patients = student.patients

    def told(self, request: bytes, student: str) -> Charged:
        """See `HospitalExchange`: all that a dishonest student might have put in its place."""
        plan = plan_exchange(self._agreed.spec_for(read_request(request, student).patients))
        return Charged(plan.numbers, plan.spec.samples)

    def open(self, answer: bytes) -> Array:
        """See `HospitalExchange`: logits (n, L)."""
        return super().open(answer)[: self._patients]


class LogitsQuestion(EncryptedQuestion):
    """See `TransferQuestion`."""

    student: ClassVar[type[AskingStudent]] = AskingStudent
    exchanged: ClassVar[type[AskedExchange]] = LogitsExchange

    @property
    def lengths(self) -> tuple[int, int]:
        """See `TransferQuestion`."""
        plans = longest_plans(
            most_asked(self.agreed), lambda size: plan_exchange(self.agreed.spec_for(size))
        )
        asked = max(plan.key_bytes + plan.feature_bytes for plan in plans)
        return asked + REQUEST_FRAMING, max(plan.answer_bytes for plan in plans)

    def numbers_of(self, patients: int) -> int:
        """See `TransferQuestion`: as the ledger counts them."""
        return plan_exchange(self.agreed.spec_for(patients)).numbers

    def determines_fit(self, patients: int) -> bool:
        """See `TransferQuestion`: as many numbers as a predictor has coefficients.

        A dishonest student fills places of a ciphertext that hold none of its patients.
        """
        return self.numbers_of(patients) >= self.agreed.parameters

    @property
    def most_patients(self) -> int:
        """See `TransferQuestion`."""
        return most_asked(self.agreed)

    def determines_logits(self, patients: int) -> bool:
        """See `TransferQuestion`: they are what is opened."""
        del patients
        return True

    @property
    def told(self) -> Disclosed:
        """See `TransferQuestion`."""
        return Disclosed("logits", most_asked(self.agreed), self.agreed.parameters)

    def clear(self, patients: Samples, own: OwnFit, model: Polynomial) -> Array:
        """See `TransferQuestion`."""
        del own
        compiled = steps.compile_model(plan_exchange(self.agreed.spec_for(len(patients))), model)
        logits: Array = compiled.logits(self.agreed.asked(patients).features)
        return logits
