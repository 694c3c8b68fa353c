"""The teacher of one exchange: a private model, and what it agreed to tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from securefair.circuit.answer import Inputs
from securefair.circuit.network import Chunk
from securefair.circuit.planner import ExchangePlan, plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends import get_backend
from securefair.ckks.evaluator import Evaluator
from securefair.ckks.keys import PublicKeys
from securefair.ckks.tensor import CipherTensor
from securefair.errors import EncryptionError, LedgerError, PlanError
from securefair.exchange import steps
from securefair.exchange.request import Request, decode_request
from securefair.model.heads import Foldable
from securefair.model.networks import NetworkHead

MIN_FLOODING_BITS = 30
"""A teacher refuses to answer with less."""


@dataclass(frozen=True, eq=False)
class Upload:
    """A student's material at the teacher, validated and expanded; no secret in it.

    The features of a network stay as they were sent, and are expanded whenever they are read:
    all at once they would take twice the memory.
    """

    plan: ExchangePlan
    basis: steps.PublicBasis
    evaluator: Evaluator[object]
    features: Sequence[CipherTensor[object] | Sequence[Chunk[object]]]
    factors: list[CipherTensor[object]]

    def __repr__(self) -> str:
        """What it is, without its residues."""
        spec = self.plan.spec
        return (
            f"Upload({spec.samples} samples of {spec.features} features, "
            f"blocks: {len(self.features)}, release {spec.release})"
        )


class Teacher:
    """Owns a private model and answers with sanitised releases only.

    Args:
        model: the head or network to evaluate.
        agreed: the spec that both sides agreed on; its number of samples is the most that a
            student may bring. None answers whatever a student specs, which gives a stranger
            the choice of release, numbers and bounds: only for students that may have the model.
        seed: public seed that was agreed on for the basis of projections.
        backend: which encryption engine to use; must be the student's ("seal" and "rns" mix).
        min_flooding_bits: refuse requests that hide the model less well.
        max_numbers: refuse requests that release more numbers; None for no limit. A run of many
            exchanges keeps a `Ledger` instead.
    """

    def __init__(
        self,
        model: Foldable,
        agreed: ExchangeSpec | None = None,
        *,
        seed: bytes = b"",
        backend: str = "rns",
        min_flooding_bits: int = MIN_FLOODING_BITS,
        max_numbers: int | None = None,
    ) -> None:
        self.model = model
        self._agreed = agreed
        self._seed = seed
        self._backend = get_backend(backend)
        self._min_flooding_bits = min_flooding_bits
        self._max_numbers = max_numbers

    def receive(
        self, spec: ExchangeSpec, seed: bytes, keys: PublicKeys, features: bytes, basis: bytes
    ) -> Upload:
        """Validate a student's keys and ciphertexts once, for any number of answers.

        Raises:
            PlanError: the spec is impossible or hides the model too little.
            EncryptionError: keys or ciphertexts do not fit the plan.
        """
        if spec.flooding_bits < self._min_flooding_bits:
            raise PlanError(
                "the request would hide the model too little",
                where="flooding_bits",
                found=spec.flooding_bits,
                expected=f"at least {self._min_flooding_bits}",
            )
        plan = plan_exchange(spec)
        if len(keys.relinearization) > plan.evaluation_key_bytes:
            raise EncryptionError(
                "evaluation keys are larger than the plan lists",
                found=f"{len(keys.relinearization)} bytes",
                expected=f"at most {plan.evaluation_key_bytes} bytes",
            )
        evaluator = self._backend.evaluator(plan.params, keys)
        factors = (
            steps.receive(evaluator, plan.factors, basis, plan.blocks)
            if plan.factors is not None and spec.student_basis
            else []
        )
        return Upload(
            plan=plan,
            basis=steps.public_basis(plan, seed),
            evaluator=evaluator,
            features=(
                steps.receive_in_chunks(evaluator, plan.features, features, plan.blocks)
                if spec.network
                else steps.receive(evaluator, plan.features, features, plan.blocks)
            ),
            factors=factors,
        )

    def evaluate(self, upload: Upload, predictions: bytes = b"") -> bytes:
        """One answer to an upload.

        Raises:
            ModelError: the model does not fit the plan.
            EncryptionError: the encrypted predictions do not fit the plan.
        """
        plan = upload.plan
        factors = upload.factors
        if plan.spec.sends_predictions and plan.factors is not None:
            factors = steps.receive(upload.evaluator, plan.factors, predictions, plan.blocks)
        inputs = Inputs(upload.features, factors, upload.basis.signs, upload.basis.coefficients)
        model = steps.compile_model(plan, self.model)
        if isinstance(self.model, NetworkHead):
            steps.check_own_bounds(plan, model, self.model.calibration)
        return steps.infer(upload.evaluator, plan, model, inputs)

    def answer(self, request: bytes) -> bytes:
        """A whole request -> the answer.

        Raises:
            DataError: the bytes are not a request.
            LedgerError: more numbers would be released than allowed.
            PlanError, EncryptionError, ModelError: see `receive` and `evaluate`.
        """
        asked = decode_request(request)
        self._check_agreed(asked)
        plan = plan_exchange(asked.spec)
        if self._max_numbers is not None and plan.numbers > self._max_numbers:
            raise LedgerError(
                "the request asks for too many numbers",
                found=plan.numbers,
                expected=f"at most {self._max_numbers}",
            )
        if plan.digest != asked.digest:
            raise PlanError(
                "student and teacher plan differently",
                hint="Use the same version of securefair on both sides",
            )
        keys = PublicKeys(asked.public_key, asked.evaluation_keys)
        upload = self.receive(asked.spec, asked.seed, keys, asked.features, asked.basis)
        return self.evaluate(upload, asked.predictions)

    def _check_agreed(self, asked: Request) -> None:
        """Nothing but the number of samples is the student's choice."""
        agreed = self._agreed
        if agreed is None:
            return
        same = msgspec.structs.replace(asked.spec, samples=agreed.samples) == agreed
        if not same or asked.spec.samples > agreed.samples or asked.seed != self._seed:
            raise PlanError(
                "the request is not what was agreed",
                found=asked.spec,
                expected=agreed,
                hint="Use the same spec and seed on both sides",
            )
