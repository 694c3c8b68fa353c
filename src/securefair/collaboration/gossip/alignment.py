"""The cosine of two participants' gradients, and nothing else, for the one who asks.

    student = AlignmentStudent(plan)                    # participant i
    query = student.query(plan.direction(g_i, seed))    # one ciphertext, the same for every peer
    ...                                                 # bytes
    teacher = AlignmentTeacher(plan, public_key)        # participant j, for student i
    answer = teacher.answer(query, plan.direction(g_j, seed))   # one LWE sample
    ...                                                 # bytes
    cosine = student.open(answer)                       # participant i

Both sides scale their directions to norm 1, so the inner product is the cosine. What i encrypts j
cannot see: a dishonest i may encrypt any vector and gets that linear functional of j's direction
instead. It is one number a round either way, and the ledger counts it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.circuit.answer import CONSTANT
from securefair.circuit.inner_product import (
    PRECISION,
    InnerProductPlan,
    InnerProductSpec,
    inner_product,
    pack_query,
    plan_inner_product,
)
from securefair.ckks.backends import get_backend
from securefair.ckks.evaluator import Released
from securefair.ckks.keys import PublicKeys
from securefair.collaboration.gossip.sketch import check_size, error_bound, unit, unit_sketch
from securefair.config import defaults
from securefair.errors import EncryptionError, ModelError, PlanError
from securefair.storage import Secret

Array = NDArray[np.float64]


class AlignmentSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the participants agree on before any alignment.

    Attributes:
        dimension: numbers in a gradient.
        sketch: numbers that stand for it, a power of two; None for the gradient itself, in as
            many ciphertexts as it takes. Shorter gradients are always taken as they are.
        failure: probability with which the stated error of a sketch may be exceeded.
        flooding_bits: statistical hiding of noise that depends on the private direction.
        precision: largest error of the encrypted inner product.
    """

    dimension: int
    sketch: int | None = defaults.SKETCH
    failure: float = defaults.SKETCH_FAILURE
    flooding_bits: int = defaults.FLOODING_BITS
    precision: float = PRECISION


@dataclass(frozen=True, eq=False)
class AlignmentPlan:
    """Everything public about the alignments of one collaboration.

    Attributes:
        spec: what was asked for.
        inner: the encrypted inner product.
    """

    spec: AlignmentSpec
    inner: InnerProductPlan

    @property
    def digest(self) -> bytes:
        """32 bytes on which all participants must agree: the spec, limbs, scales and primes.

        Primes follow from the rest by one version of this code; by two they may differ.
        """
        inner = self.inner
        primes = inner.params.digest.hex()
        facts = msgspec.json.encode((self.spec, inner.spec, inner.schedule, primes))
        return hashlib.sha256(b"securefair alignment plan\0" + facts).digest()

    @property
    def sketched(self) -> bool:
        """Whether directions are projected, rather than encrypted as they are."""
        return self.inner.spec.length < self.spec.dimension

    @property
    def sketch_error(self) -> float:
        """Bound on the error of the projection, exceeded with probability `spec.failure`."""
        length = self.inner.spec.length
        return error_bound(self.spec.dimension, length, self.spec.failure)

    @property
    def error_bound(self) -> float:
        """Bound on the error of a cosine: the projection's, and the worst case of encryption."""
        # An opened value is rounded to the grid, which moves it by half a step at most.
        return self.sketch_error + self.inner.error_bound + self.inner.grid / 2

    def direction(self, gradient: Array, seed: bytes) -> Array:
        """A gradient (dimension,) -> the unit vector that is compared; zeros for no direction.

        Args:
            gradient: of the local loss.
            seed: public and the same for both sides; one a round, so that the errors of
                different rounds are independent.

        Raises:
            ModelError: another length, NaN or infinite.
        """
        if gradient.shape != (self.spec.dimension,):
            raise ModelError(
                "a gradient of another length cannot be aligned",
                found=gradient.shape,
                expected=(self.spec.dimension,),
                hint="All participants must share one architecture",
            )
        if self.sketched:
            return unit_sketch(gradient, self.inner.spec.length, seed)
        return unit(gradient)


def plan_alignment(spec: AlignmentSpec) -> AlignmentPlan:
    """Ring, scales, bytes and error of alignments; pure and equal everywhere.

    Raises:
        PlanError: no parameters grant it.
        ConfigError: the sketch has an impossible size, or `failure` is no probability.
    """
    length = spec.dimension
    if spec.sketch is not None:
        check_size(spec.sketch)
        length = min(length, spec.sketch)
    inner = InnerProductSpec(
        length=length, flooding_bits=spec.flooding_bits, precision=spec.precision
    )
    plan = AlignmentPlan(spec, plan_inner_product(inner))
    error_bound(spec.dimension, length, spec.failure)  # refuses what is no probability
    return plan


class AlignmentStudent:
    """Participant i: owns a secret key and asks.

    Args:
        plan: what was agreed.
        backend: encryption engine.
        keys: of an earlier student (`export_keys`); None makes new ones.
    """

    def __init__(
        self,
        plan: AlignmentPlan,
        *,
        backend: str = defaults.BACKEND,
        keys: tuple[PublicKeys, Secret] | None = None,
    ) -> None:
        self.plan = plan
        engine, params = get_backend(backend), plan.inner.params
        if keys is None:
            self._keys = engine.generate_keys(params)
        else:
            self._keys = engine.restore_keys(params, *keys)

    def export_keys(self) -> tuple[PublicKeys, Secret]:
        """All keys, for a keystore and nobody else.

        Raises:
            BackendUnavailableError: the engine keeps its keys to itself.
        """
        return self._keys.public, self._keys.export()

    @property
    def public_key(self) -> bytes:
        """What every peer needs, once."""
        return self._keys.public.encryption

    def query(self, direction: Array) -> bytes:
        """The encrypted direction: one ciphertext for a sketch, the same for every peer.

        Raises:
            DataError: not a direction of this plan.
        """
        inner = self.plan.inner
        return self._keys.encryptor.encrypt(pack_query(inner, direction), inner.query)

    def open(self, answer: bytes) -> float:
        """The cosine, in [-1, 1], rounded to the plan's grid.

        Raises:
            EncryptionError: the answer does not fit the plan, or opens to what is no cosine.
        """
        inner, decryptor = self.plan.inner, self._keys.decryptor
        released = Released(inner.released, CONSTANT, answer)
        value = float(decryptor.open(released)[0, 0])
        if not abs(value) <= 1 + inner.error_bound:
            raise EncryptionError("an opened value is out of range")
        if not decryptor.exact:
            value = inner.grid * round(value / inner.grid)
        return min(1.0, max(-1.0, value))


class AlignmentTeacher:
    """Participant j, for one student: holds the student's public key, answers with sanitised bytes.

    Args:
        plan: what was agreed.
        public_key: the student's.
        backend: must be the student's ("seal" and "rns" mix).

    Raises:
        EncryptionError: the key does not fit the plan.
        PlanError: answers would hide the private direction too little.
    """

    def __init__(
        self, plan: AlignmentPlan, public_key: bytes, *, backend: str = defaults.BACKEND
    ) -> None:
        if plan.spec.flooding_bits < defaults.MIN_FLOODING_BITS:
            raise PlanError(
                "an alignment would hide the gradient too little",
                where="flooding_bits",
                found=plan.spec.flooding_bits,
                expected=f"at least {defaults.MIN_FLOODING_BITS}",
            )
        self.plan = plan
        keys = PublicKeys(public_key, b"")
        self._evaluator = get_backend(backend).evaluator(plan.inner.params, keys)

    def answer(self, query: bytes, direction: Array) -> bytes:
        """One LWE sample: the inner product of what is encrypted with the own direction.

        Raises:
            EncryptionError: the query does not fit the plan.
            DataError: not a direction of this plan.
        """
        inner = self.plan.inner
        tensor = self._evaluator.load(query, inner.query)
        return inner_product(self._evaluator, inner, tensor, direction).data
