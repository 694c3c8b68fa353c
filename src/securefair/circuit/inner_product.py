"""The inner product of two participants' vectors, one of them encrypted: one number leaves.

    E(a), packed in coefficients -> sum of products with b, reversed -> sanitise -> one LWE sample

The constant coefficient of a(X) b'(X) is the inner product if b' is b reversed (`ckks.encoding`).
No key but the public one is needed, nothing is rotated and nothing relinearised. A vector longer
than a ring takes several ciphertexts, whose products are added: still one number comes back, in the
answer that `answer.release` makes of a distillation loss.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.circuit.answer import CONSTANT, release
from securefair.circuit.flooding import most_flooding
from securefair.circuit.schedule import Schedule
from securefair.ckks import rules
from securefair.ckks.backends import wire
from securefair.ckks.backends.planning import PlanningEvaluator
from securefair.ckks.encoding import reversed_integers
from securefair.ckks.evaluator import Evaluator, Released
from securefair.ckks.masking import masks_hold
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.primes import MAX_LIMB_BITS, smallest_prime_bits
from securefair.ckks.security import MAX_LOG_QP, SECURITY_BITS
from securefair.ckks.specs import PolynomialSpec
from securefair.ckks.tensor import CipherMeta, CipherTensor
from securefair.config import defaults
from securefair.errors import DataError, EncryptionError, PlanError

P = TypeVar("P")
Array = NDArray[np.float64]

MAX_LENGTH = 1 << 24
MAX_LIMBS = 4
FACTOR_SCALES = range(10, 41, 2)
"""log2 scales of the private side that are tried; its rounding errors count in full."""

PRECISION = 2.0**-12
"""Largest error of an inner product, unless somebody asks for another."""

NORM_TOLERANCE = 1e-6
"""How far beyond 1 the norm of a unit vector may be by rounding."""


class InnerProductSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What both sides agree on before an inner product.

    Attributes:
        length: numbers in each vector; both have a Euclidean norm of at most 1.
        flooding_bits: s, statistical hiding of all noise that depends on the private vector.
        precision: largest error of the inner product.
    """

    length: int
    flooding_bits: int = defaults.FLOODING_BITS
    precision: float = PRECISION


@dataclass(frozen=True, eq=False)
class InnerProductPlan:
    """Everything public about one inner product.

    Attributes:
        spec: what was asked for.
        schedule: limbs and scales; its factor scale is that of the private vector.
        params: concrete primes.
        query: public facts of the encrypted vector.
        factor: public facts of the private vector's polynomials.
        released: public facts of the answer.
        error_bound: no answer of an honest pair is further off, rounding of both vectors included.
    """

    spec: InnerProductSpec
    schedule: Schedule
    params: CkksParameters
    query: CipherMeta
    factor: PolynomialSpec
    released: CipherMeta
    error_bound: float

    @property
    def security_bits(self) -> int:
        """Classical security of the encryption."""
        return SECURITY_BITS

    @property
    def grid(self) -> float:
        """Step to which an opened value is rounded: nothing finer may influence what is sent."""
        return self.error_bound / 4

    @property
    def query_bytes(self) -> int:
        """Upload: the encrypted vector, the same for every peer."""
        return wire.upload_bytes(self.query)

    @property
    def answer_bytes(self) -> int:
        """Download: one LWE sample."""
        return wire.answer_bytes(self.released, 1)

    @property
    def public_key_bytes(self) -> int:
        """Upload once per key epoch."""
        return wire.public_key_bytes(self.params)


def plan_inner_product(spec: InnerProductSpec) -> InnerProductPlan:
    """The parameters with the least traffic that grant a spec; pure and equal everywhere.

    Raises:
        PlanError: a field is out of range, or no parameters at 128-bit security grant it.
    """
    _check(spec)
    return _planned(spec)


@lru_cache(maxsize=64)
def _planned(spec: InnerProductSpec) -> InnerProductPlan:
    plans = [plan for plan in _candidates(spec) if masks_hold(plan.released, 1)]
    granted = [plan for plan in plans if plan.error_bound <= spec.precision]
    if not granted:
        nearest = min((plan.error_bound for plan in plans), default=math.inf)
        raise PlanError(
            "no parameters at 128-bit security grant this",
            where="precision",
            found=spec.precision,
            expected=f"at least {nearest:.2g}" if nearest < math.inf else "fewer flooding bits",
        )
    best = min(granted, key=lambda plan: (plan.query_bytes + plan.answer_bytes, plan.error_bound))
    return _flooded(best)


def _flooded(plan: InnerProductPlan) -> InnerProductPlan:
    """The same with as much flooding as the precision allows."""
    spec, schedule = plan.spec, plan.schedule
    scales = round(schedule.feature_scale), round(schedule.factor_scale)

    def flooded(bits: int) -> InnerProductPlan | None:
        params, limbs = plan.params, schedule.answer_limbs
        found = _plan(spec, schedule.ckks, params, *scales, limbs, flooding_bits=bits)
        return found if found is not None and found.error_bound <= spec.precision else None

    most = most_flooding(spec.flooding_bits, lambda bits: flooded(bits) is not None)
    return flooded(most) or plan


def pack_query(plan: InnerProductPlan, vector: Array) -> Array:
    """A vector (length,) -> coefficients (count, N), zero beyond it.

    Raises:
        DataError: another length, not finite, or a norm beyond 1.
    """
    norm = float(np.linalg.norm(vector)) if vector.shape == (plan.spec.length,) else math.nan
    if not norm <= 1 + NORM_TOLERANCE:
        raise DataError(
            "an inner product takes a vector of norm 1 at most",
            found=f"{vector.shape} of norm {norm:.6g}",
            expected=f"({plan.spec.length},)",
        )
    padded = np.zeros(plan.query.count * plan.params.ring_degree)
    padded[: len(vector)] = vector
    return padded.reshape(plan.query.count, -1)


def inner_product(
    evaluator: Evaluator[P], plan: InnerProductPlan, query: CipherTensor[P], vector: Array | None
) -> Released:
    """The whole answer to an encrypted vector; `vector` is None only when planning.

    Raises:
        DataError: the private vector does not fit the plan.
    """
    polynomials = None
    if vector is not None:
        n = plan.params.ring_degree
        polynomials = reversed_integers(pack_query(plan, vector), plan.factor.log2_scale, n)
    return _answer(evaluator, plan.schedule, plan.factor, query, polynomials)


def _answer(
    evaluator: Evaluator[P],
    schedule: Schedule,
    factor: PolynomialSpec,
    query: CipherTensor[P],
    polynomials: NDArray[np.int64] | None,
) -> Released:
    value = evaluator.inner_plain(query, factor, polynomials)
    return release(evaluator, schedule, value, CONSTANT)


def _candidates(spec: InnerProductSpec) -> Iterator[InnerProductPlan]:
    """Every choice of ring, limbs and scales that works at all."""
    for ring_degree, cap in sorted(MAX_LOG_QP.items()):
        special = smallest_prime_bits(ring_degree)
        for limbs in range(1, min(MAX_LIMBS, (cap - special) // (MAX_LIMB_BITS - 1)) + 1):
            bits = min(MAX_LIMB_BITS, (cap - special) // limbs)
            ckks = CkksSpec(
                ring_degree=ring_degree, limb_bits=(bits,) * limbs, special_bits=special
            )
            params = CkksParameters(ckks)
            for factor in FACTOR_SCALES:
                # The largest scale at which values up to 1 do not wrap around.
                scale = min(
                    rules.MAX_LOG2_COEFFICIENT, math.floor(params.log_q(limbs)) - 2 - factor
                )
                for answer_limbs in range(1, limbs + 1):
                    plan = _plan(spec, ckks, params, scale, factor, answer_limbs)
                    if plan is not None:
                        yield plan


def _plan(
    spec: InnerProductSpec,
    ckks: CkksSpec,
    params: CkksParameters,
    scale: int,
    factor_scale: int,
    answer_limbs: int,
    flooding_bits: int | None = None,
) -> InnerProductPlan | None:
    schedule = Schedule(
        ckks=ckks,
        feature_scale=scale,
        factor_scale=factor_scale,
        product_limbs=params.limbs,
        relinearize=False,
        flooding_bits=spec.flooding_bits if flooding_bits is None else flooding_bits,
        flooding_limbs=params.limbs,
        answer_limbs=answer_limbs,
    )
    count = -(-spec.length // params.ring_degree)
    factor = PolynomialSpec(count=count, log2_scale=factor_scale, l2=1.0, bound=1.0)
    try:
        query = rules.fresh(
            params,
            count=count,
            limbs=params.limbs,
            log2_scale=scale,
            bound=1.0,
            packing="coefficients",
        )
        evaluator = PlanningEvaluator(params)
        tensor = evaluator.load(b"", query)
        released = _answer(evaluator, schedule, factor, tensor, None).meta
    except EncryptionError:
        return None
    # Rounding moves every coefficient of the private vector by half a unit at most; by Cauchy and
    # Schwarz that moves the product with a unit vector by at most the norm of all the halves.
    rounding = math.sqrt(spec.length) / 2 * 2.0**-factor_scale
    error = rules.coefficient_error(released) + rounding
    return InnerProductPlan(spec, schedule, params, query, factor, released, error)


def _check(spec: InnerProductSpec) -> None:
    for where, value, least, most in (
        ("length", spec.length, 1, MAX_LENGTH),
        ("flooding_bits", spec.flooding_bits, 0, 60),
        ("precision", spec.precision, 2.0**-40, 0.5),
    ):
        if not least <= value <= most:  # NaN is not within
            raise PlanError("out of range", where=where, found=value, expected=f"{least} to {most}")
