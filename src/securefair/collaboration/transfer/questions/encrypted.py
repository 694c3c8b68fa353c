"""About patients: a student encrypts their features, and teachers answer what their fits say.

What is opened are weighted sums of logits (`projection`), of every teacher or of their mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from securefair.averaging.gathering import Gathering
from securefair.circuit.planner import ExchangePlan, plan_exchange
from securefair.ckks.backends import get_backend
from securefair.ckks.keys import PublicKeys
from securefair.collaboration.audit import Audit
from securefair.collaboration.facts import EncryptionFacts
from securefair.collaboration.sizes import longest_plans
from securefair.collaboration.transfer.exchange import (
    AskingStudent,
    TransferStudent,
    answer,
    masked,
    read_request,
)
from securefair.collaboration.transfer.questions.interface import (
    Charged,
    Disclosed,
    HospitalExchange,
    MaskKeys,
    StoredKeys,
    TransferQuestion,
)
from securefair.collaboration.wording import data_size, ring_said
from securefair.data.dataset import Samples
from securefair.errors import LocalProtocolError
from securefair.exchange import steps
from securefair.model.projection import public_rows
from securefair.model.transfer import OwnFit, Polynomial, Transferred, transfer, transfer_each
from securefair.model.transfer.answers import asked_about, determines_logits, determines_model
from securefair.storage import Secret

Array = NDArray[np.float64]

REQUEST_FRAMING = 64
"""Room for lengths and the number of samples in a request."""


class AskedExchange(HospitalExchange):
    """See `HospitalExchange`: what every question about patients has.

    Args:
        question: that was agreed on.
        student: asks it.

    Raises:
        ConfigError, BackendUnavailableError: no such engine or device; that is no reason for a
            teacher to decline later.
    """

    def __init__(self, question: TransferQuestion, student: AskingStudent) -> None:
        self._agreed, self._asking = question.agreed, student
        self._encryption = question.agreed.encryption
        get_backend(self._encryption.backend, self._encryption.device)

    def request(self) -> bytes:
        """See `HospitalExchange`: keys, and encrypted features."""
        return self._asking.request()

    def told(self, request: bytes, student: str) -> Charged:
        """See `HospitalExchange`."""
        spec = self._agreed.spec_for(read_request(request, student).patients)
        return Charged(spec.q * self._agreed.outputs, spec.samples)

    def answer(self, request: bytes, student: str, model: Polynomial) -> bytes:
        """See `HospitalExchange`."""
        return self._answered(request, student, model)[1]

    def _answered(
        self, request: bytes, student: str, model: Polynomial
    ) -> tuple[ExchangePlan, bytes]:
        read = read_request(request, student)
        engine, device = self._encryption.backend, self._encryption.device
        return answer(self._agreed, model, read, backend=engine, device=device)

    def open(self, answer: bytes) -> Array:
        """See `HospitalExchange`."""
        return self._asking.open(answer)

    def export_keys(self) -> StoredKeys:
        """See `HospitalExchange`."""
        public, secret = self._asking.export_keys()
        return public.encryption, public.evaluation, secret.reveal()


class EncryptedExchange(AskedExchange):
    """See `HospitalExchange`; the arguments are those of `TransferQuestion.exchange`."""

    def __init__(self, question: TransferQuestion, student: TransferStudent) -> None:
        super().__init__(question, student)
        self._student = student

    def share(
        self, request: bytes, gathering: Gathering, keys: MaskKeys, own: OwnFit, model: Polynomial
    ) -> bytes:
        """See `HospitalExchange`."""
        del own
        plan, data = self._answered(request, gathering.receiver, model)
        return masked(
            plan,
            data,
            keys.private,
            keys.publics,
            gathering,
            keys.sender,
            request,
            backend=self._encryption.backend,
        )

    def open_sum(self, gathering: Gathering, shares: Mapping[str, bytes]) -> Array:
        """See `HospitalExchange`."""
        return self._student.open_mean([shares[name] for name in gathering.senders])

    def transferred(self, own: OwnFit, mean: Array, senders: Sequence[str]) -> Transferred:
        """See `HospitalExchange`."""
        del senders
        agreed = self._agreed
        return transfer(own, self._student.logits(mean), agreed.degree, leaves=agreed.leaves)

    def carried(self, numbers: Array, later: HospitalExchange) -> Array:
        """See `HospitalExchange`."""
        if not isinstance(later, EncryptedExchange):
            raise LocalProtocolError("the later question is of another kind")
        return self._student.carried(numbers, later._student)

    def transferred_each(self, own: OwnFit, each: Mapping[str, Array]) -> Transferred:
        """See `HospitalExchange`."""
        logits = {name: self._student.logits(numbers) for name, numbers in each.items()}
        agreed = self._agreed
        return transfer_each(own, logits, agreed.degree, leaves=agreed.leaves)


class EncryptedQuestion(TransferQuestion):
    """See `TransferQuestion`."""

    encrypts: ClassVar[bool] = True
    student: ClassVar[type[AskingStudent]] = TransferStudent
    exchanged: ClassVar[type[AskedExchange]] = EncryptedExchange

    @property
    def digest(self) -> bytes:
        """See `TransferQuestion`."""
        return self.agreed.plan.digest

    @property
    def summary(self) -> str:
        """See `TransferQuestion`."""
        plan, numbers = self.agreed.plan, self.numbers_of(self.agreed.facts.samples)
        said = ring_said(self.agreed.encryption.backend, plan.params.ring_degree)
        return f"{said}, {numbers} numbers an answer; upload {data_size(plan.feature_bytes)} a peer"

    @property
    def lengths(self) -> tuple[int, int]:
        """See `TransferQuestion`: over all numbers of patients admitted."""
        plans = longest_plans(
            self.agreed.facts.samples, lambda size: plan_exchange(self.agreed.spec_for(size))
        )
        largest = max(
            plan.public_key_bytes + plan.evaluation_key_bytes + plan.feature_bytes for plan in plans
        )
        return largest + REQUEST_FRAMING, max(plan.answer_bytes for plan in plans)

    def numbers_of(self, patients: int) -> int:
        """See `TransferQuestion`."""
        return self.agreed.numbers_of(patients) * self.agreed.outputs

    def determines_fit(self, patients: int) -> bool:
        """See `TransferQuestion`."""
        agreed = self.agreed
        q = agreed.numbers_of(patients)
        return determines_model(q, agreed.asked_features, agreed.degree, patients)

    def determines_logits(self, patients: int) -> bool:
        """See `TransferQuestion`."""
        return determines_logits(self.agreed.numbers_of(patients), patients)

    def bytes_of(self, patients: int) -> tuple[int, int]:
        """See `TransferQuestion`."""
        plan = plan_exchange(self.agreed.spec_for(patients))
        return plan.key_bytes + plan.feature_bytes, plan.answer_bytes

    @property
    def told(self) -> Disclosed:
        """See `TransferQuestion`."""
        return Disclosed("projection", self.agreed.transfer.q, self.agreed.parameters)

    def exchange(self, patients: Samples, *, keys: StoredKeys | None = None) -> HospitalExchange:
        """See `TransferQuestion`."""
        restored = None
        if keys is not None:
            encryption, evaluation, secret = keys
            restored = PublicKeys.read(encryption, evaluation), Secret(bytearray(secret))
        backend = self.agreed.encryption.backend
        student = self.student(self.agreed, patients, backend=backend, keys=restored)
        return self.exchanged(self, student)

    def clear(self, patients: Samples, own: OwnFit, model: Polynomial) -> Array:
        """See `TransferQuestion`."""
        del own
        plan = plan_exchange(self.agreed.spec_for(len(patients)))
        basis = steps.public_basis(plan, self.agreed.basis_seed)
        rows = public_rows(
            plan.ring_degree, basis.coefficients, plan.spec.samples, basis.signs.astype(np.float64)
        )
        compiled = steps.compile_model(plan, model)
        numbers: Array = rows @ compiled.logits(asked_about(self.agreed.asked(patients)).features)
        return numbers

    def encryption(self, audit: Audit) -> EncryptionFacts:
        """See `TransferQuestion`."""
        backend = self.agreed.encryption.backend
        return EncryptionFacts.of_exchange(self.agreed.plan, audit, backend=backend)
