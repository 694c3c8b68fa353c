"""Encrypted distillation as a library call: three lines on each side, bytes in between.

    student = Student(wish)                       # hospital A: data and secret key
    request = student.request(samples)
    ...                                           # bytes
    answer = Teacher(model, wish).answer(request)  # hospital B: a private model
    ...                                           # bytes
    opened = student.open(answer)                 # hospital A: logits, or a loss

The participants of a collaboration use the same two classes, message by message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair import steps
from securefair.circuit.answer import Inputs
from securefair.circuit.network import Chunk
from securefair.circuit.planner import ExchangePlan, plan_exchange
from securefair.circuit.wish import Wish
from securefair.ckks.backends import get_backend
from securefair.ckks.evaluator import Evaluator
from securefair.ckks.keys import PublicKeys
from securefair.ckks.tensor import CipherTensor
from securefair.data.dataset import Samples
from securefair.errors import DataError, EncryptionError, LedgerError, PlanError
from securefair.model.heads import Head
from securefair.model.networks import NetworkHead
from securefair.model.projection import public_rows, student_basis
from securefair.model.reconstruction import Reconstructor

Array = NDArray[np.float64]

REQUEST_FORMAT = 1
MIN_FLOODING_BITS = 30
"""A teacher refuses to answer with less."""


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A self-contained question: the wish, the student's public keys and its ciphertexts."""

    format: int
    wish: Wish
    digest: bytes  # of the plan, so that a disagreement shows before any work
    seed: bytes  # public, of the projection's basis
    public_key: bytes
    evaluation_keys: bytes
    features: bytes
    basis: bytes
    predictions: bytes


@dataclass(frozen=True, eq=False)
class Opened:
    """What a student learns from one answer.

    Attributes:
        released: exactly the numbers that the teacher let out: (B, M) logits, (q, M) projected
            logits, (M,) class sums or () loss, the latter two as sums over samples of p.z / T.
        logits: the teacher's logits (B, M) as far as they can be known; None for `loss` and
            `class_sums`, which do not tell them.
        unexplained: expected share of the logits' variance that stays unknown; 0 for `logits`.
    """

    released: Array
    logits: Array | None
    unexplained: float | None


class Student:
    """Owns data and the secret key. Nothing it returns as bytes reveals a sample.

    Args:
        wish: what both sides agreed on; `wish.samples` is this student's number of samples.
        backend: which encryption engine to use ("rns", "seal", "clear").
        seed: public seed of a projection's basis; fixed for a data epoch.

    Raises:
        PlanError: the wish cannot be granted.
    """

    def __init__(self, wish: Wish, *, backend: str = "rns", seed: bytes = b"") -> None:
        self.plan: ExchangePlan = plan_exchange(wish)
        self.seed = seed
        self._basis = steps.public_basis(self.plan, seed)
        self._keys = get_backend(backend).generate_keys(
            self.plan.params, relinearization=self.plan.needs_relinearization
        )
        self._reconstructor: Reconstructor | None = None
        self._row_scale: Array = np.ones(1)  # of a student basis, (q,)

    @property
    def public_keys(self) -> PublicKeys:
        """What the teacher needs of this student's keys."""
        return self._keys.public

    def encrypt_features(self, samples: Samples) -> tuple[bytes, bytes]:
        """Encrypted features and, for a student basis, the encrypted basis (else empty).

        Also prepares the reconstruction of logits, which depends on the samples only.

        Raises:
            DataError: the samples do not fit the plan's shape or bounds.
        """
        plan = self.plan
        slots = steps.pack(plan, samples.features)
        rows = None
        if plan.wish.student_basis:
            rows = student_basis(samples, plan.wish.q)
        elif plan.wish.release == "projection":
            signs = self._basis.signs.astype(np.float64)
            n = plan.params.ring_degree
            rows = public_rows(n, self._basis.coefficients, plan.wish.samples, signs)
        if rows is not None:
            # A student basis travels scaled to a peak of 1, and what is opened is scaled back.
            scale = float(np.abs(rows).max()) if plan.wish.student_basis else 1.0
            self._reconstructor = Reconstructor(samples, rows, plan.noise_std * scale)
        features = steps.encrypt(self._keys.encryptor, plan.features, slots)
        if rows is None or plan.factors is None:
            return features, b""
        self._row_scale = 1.0 / np.abs(rows).max(axis=1)  # use all of the encoding's precision
        packed = steps.pack_factors(plan, rows.T * self._row_scale)
        return features, steps.encrypt(self._keys.encryptor, plan.factors, packed)

    def encrypt_predictions(self, predictions: Array) -> bytes:
        """Encrypted softmax outputs (B, M), which `loss` and `class_sums` weigh logits with.

        Raises:
            DataError: not probabilities of this many samples and classes.
        """
        wish, factors = self.plan.wish, self.plan.factors
        if not wish.sends_predictions or factors is None:
            raise DataError("this release sends no predictions", found=wish.release)
        expected = (wish.samples, wish.classes)
        probable = predictions.shape == expected and predictions.min() >= 0
        if not probable or not np.allclose(predictions.sum(axis=1), 1.0):
            raise DataError(
                "not the probabilities of every sample", found=predictions.shape, expected=expected
            )
        packed = steps.pack_factors(self.plan, predictions)
        return steps.encrypt(self._keys.encryptor, factors, packed)

    def request(self, samples: Samples, *, predictions: Array | None = None) -> bytes:
        """Everything in one message; `predictions` only for `loss` and `class_sums`."""
        features, basis = self.encrypt_features(samples)
        question = b"" if predictions is None else self.encrypt_predictions(predictions)
        if self.plan.wish.sends_predictions and not question:
            raise DataError(
                "this release needs the student's predictions", where=self.plan.wish.release
            )
        return msgspec.msgpack.encode(
            Request(
                format=REQUEST_FORMAT,
                wish=self.plan.wish,
                digest=self.plan.digest,
                seed=self.seed,
                public_key=self.public_keys.encryption,
                evaluation_keys=self.public_keys.relinearization,
                features=features,
                basis=basis,
                predictions=question,
            )
        )

    def open(self, answer: bytes, *, temperature: float = 1.0) -> Opened:
        """Decrypt an answer and, where the release allows, reconstruct the logits.

        Args:
            answer: the teacher's bytes.
            temperature: T, by which `loss` and `class_sums` are divided.

        Raises:
            EncryptionError: the answer's length or content does not fit the plan.
        """
        plan = self.plan
        released = steps.open_answer(self._keys.decryptor, plan, self._basis, answer)
        if plan.wish.sends_predictions:
            return Opened(released / temperature, None, None)
        if plan.wish.release == "logits":
            return Opened(released, released, 0.0)
        if self._reconstructor is None:
            raise EncryptionError("an answer was opened before the features were encrypted")
        released = released / self._row_scale[:, None]
        logits = self._reconstructor.logits(released)
        return Opened(released, logits, self._reconstructor.unexplained)


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
        wish = self.plan.wish
        return (
            f"Upload({wish.samples} samples of {wish.features} features, "
            f"blocks: {len(self.features)}, release {wish.release})"
        )


class Teacher:
    """Owns a private model and answers with sanitised releases only.

    Args:
        model: the head or network to evaluate.
        agreed: the wish that both sides agreed on; its number of samples is the most that a
            student may bring. None answers whatever a student wishes, which gives a stranger
            the choice of release, numbers and bounds: only for students that may have the model.
        seed: public seed that was agreed on for the basis of projections.
        backend: which encryption engine to use; must be the student's ("seal" and "rns" mix).
        min_flooding_bits: refuse requests that hide the model less well.
        max_numbers: refuse requests that release more numbers; None for no limit. A run of many
            exchanges keeps a `Ledger` instead.
    """

    def __init__(
        self,
        model: Head,
        agreed: Wish | None = None,
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
        self, wish: Wish, seed: bytes, keys: PublicKeys, features: bytes, basis: bytes
    ) -> Upload:
        """Validate a student's keys and ciphertexts once, for any number of answers.

        Raises:
            PlanError: the wish is impossible or hides the model too little.
            EncryptionError: keys or ciphertexts do not fit the plan.
        """
        if wish.flooding_bits < self._min_flooding_bits:
            raise PlanError(
                "the request would hide the model too little",
                where="flooding_bits",
                found=wish.flooding_bits,
                expected=f"at least {self._min_flooding_bits}",
            )
        plan = plan_exchange(wish)
        if len(keys.relinearization) > plan.evaluation_key_bytes:
            raise EncryptionError(
                "evaluation keys are larger than the plan lists",
                found=f"{len(keys.relinearization)} bytes",
                expected=f"at most {plan.evaluation_key_bytes} bytes",
            )
        evaluator = self._backend.evaluator(plan.params, keys)
        factors = (
            steps.receive(evaluator, plan.factors, basis, plan.blocks)
            if plan.factors is not None and wish.student_basis
            else []
        )
        return Upload(
            plan=plan,
            basis=steps.public_basis(plan, seed),
            evaluator=evaluator,
            features=(
                steps.receive_in_chunks(evaluator, plan.features, features, plan.blocks)
                if wish.network
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
        if plan.wish.sends_predictions and plan.factors is not None:
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
        asked = _decode(request)
        self._check_agreed(asked)
        plan = plan_exchange(asked.wish)
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
        upload = self.receive(asked.wish, asked.seed, keys, asked.features, asked.basis)
        return self.evaluate(upload, asked.predictions)

    def _check_agreed(self, asked: Request) -> None:
        """Nothing but the number of samples is the student's choice."""
        agreed = self._agreed
        if agreed is None:
            return
        same = msgspec.structs.replace(asked.wish, samples=agreed.samples) == agreed
        if not same or asked.wish.samples > agreed.samples or asked.seed != self._seed:
            raise PlanError(
                "the request is not what was agreed",
                found=asked.wish,
                expected=agreed,
                hint="Use the same wish and seed on both sides",
            )


def _decode(request: bytes) -> Request:
    try:
        asked = msgspec.msgpack.decode(request, type=Request)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError("the bytes are not a request", found=str(error)) from error
    if asked.format != REQUEST_FORMAT:
        raise DataError("unknown request format", found=asked.format, expected=REQUEST_FORMAT)
    return asked
