"""The student of one exchange: data and the secret key."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.circuit.planner import ExchangePlan, plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends import get_backend
from securefair.ckks.keys import PublicKeys
from securefair.data.dataset import Samples
from securefair.errors import DataError, EncryptionError
from securefair.exchange import steps
from securefair.exchange.request import REQUEST_FORMAT, Request
from securefair.model.projection import public_rows, student_basis
from securefair.model.reconstruction import Reconstructor

Array = NDArray[np.float64]


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
        spec: what both sides agreed on; `spec.samples` is this student's number of samples.
        backend: which encryption engine to use ("rns", "seal", "clear").
        seed: public seed of a projection's basis; fixed for a data epoch.

    Raises:
        PlanError: the spec cannot be granted.
    """

    def __init__(self, spec: ExchangeSpec, *, backend: str = "rns", seed: bytes = b"") -> None:
        self.plan: ExchangePlan = plan_exchange(spec)
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
        if plan.spec.student_basis:
            rows = student_basis(samples, plan.spec.q)
        elif plan.spec.release == "projection":
            signs = self._basis.signs.astype(np.float64)
            n = plan.params.ring_degree
            rows = public_rows(n, self._basis.coefficients, plan.spec.samples, signs)
        if rows is not None:
            # A student basis travels scaled to a peak of 1, and what is opened is scaled back.
            scale = float(np.abs(rows).max()) if plan.spec.student_basis else 1.0
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
        spec, factors = self.plan.spec, self.plan.factors
        if not spec.sends_predictions or factors is None:
            raise DataError("this release sends no predictions", found=spec.release)
        expected = (spec.samples, spec.classes)
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
        if self.plan.spec.sends_predictions and not question:
            raise DataError(
                "this release needs the student's predictions", where=self.plan.spec.release
            )
        return msgspec.msgpack.encode(
            Request(
                format=REQUEST_FORMAT,
                spec=self.plan.spec,
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
        if plan.spec.sends_predictions:
            return Opened(released / temperature, None, None)
        if plan.spec.release == "logits":
            return Opened(released, released, 0.0)
        if self._reconstructor is None:
            raise EncryptionError("an answer was opened before the features were encrypted")
        released = released / self._row_scale[:, None]
        logits = self._reconstructor.logits(released)
        return Opened(released, logits, self._reconstructor.unexplained)
