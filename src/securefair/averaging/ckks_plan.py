"""From a spec to the smallest parameters under which encrypted weights may be multiplied.

The plan applies the rules of `ckks.rules` in the order of the computation, so it states what an
encrypted run does: a weight, times parameters packed in coefficients, sanitised, shortened to the
limbs that travel, summed over senders.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from securefair.averaging import pairwise
from securefair.averaging.spec import SumPlan, SumSpec, check_spec
from securefair.ckks import plain_rules, rules
from securefair.ckks.backends import wire
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.primes import MAX_LIMB_BITS, smallest_prime_bits
from securefair.ckks.security import MAX_LOG_QP
from securefair.ckks.specs import FactorSpec
from securefair.ckks.tensor import CipherMeta
from securefair.errors import EncryptionError, PlanError

BLOCK = 64
"""Ciphertexts worked on at once; 262,144 parameters at N = 4096."""

MAX_ANSWER_LIMBS = 2
"""Limbs that travel; two take four times the bytes of a model in the clear."""

GRID_STEPS = 4
"""Steps of the grid that opened values are rounded to, in a bound on their noise.

The noise of a decryption depends on the secret key (Li and Micciancio 2021), and what a receiver
opens flows into its later shares. As `ExchangePlan.grid`.
"""

_SPARE_BITS = range(1, 8)
"""Bits by which parameters are rounded finer than the precision asks for."""


@dataclass(frozen=True)
class Piece:
    """Consecutive ciphertexts of a share.

    Attributes:
        index: 0, 1, 2 and so on.
        start: its first parameter.
        count: ciphertexts.
        coefficients: coefficients of each that are used and sent: N, or fewer in the last one.
        offset, words: where its 32-bit words begin in the share, and how many they are.
    """

    index: int
    start: int
    count: int
    coefficients: int
    offset: int
    words: int

    @property
    def parameters(self) -> slice:
        """The parameters that it holds."""
        return slice(self.start, self.start + self.count * self.coefficients)

    @property
    def place(self) -> slice:
        """Its words of the share."""
        return slice(self.offset, self.offset + self.words)


@dataclass(frozen=True, kw_only=True)
class CkksSumPlan(SumPlan):
    """Adds the encryption.

    Attributes:
        params: concrete primes.
        weight: public facts of an encrypted weight.
        log2_factor: parameters are integers, value = integer / 2^log2_factor.
        answer: public facts of one ciphertext of a share, as it travels.
        summed: the same of the sum of all senders'.
    """

    params: CkksParameters
    weight: CipherMeta
    log2_factor: int
    answer: CipherMeta
    summed: CipherMeta

    @property
    def format(self) -> tuple[int, ...]:
        """See `SumPlan`: ring, limbs that travel and all primes, log2 scales of both factors."""
        params = self.params
        scales = int(self.weight.log2_scale), self.log2_factor
        return params.ring_degree, self.answer.limbs, *scales, *params.primes

    @property
    def grid(self) -> float:
        """Step to which an opened sum is rounded."""
        return rules.coefficient_error(self.summed) / GRID_STEPS

    def factors(self, count: int) -> FactorSpec:
        """Public facts of the parameters as polynomials."""
        return _factors(self.spec, self.log2_factor, count)

    def pieces(self) -> Iterator[Piece]:
        """All of a share, in its order."""
        yield from _pieces(self.spec.parameters, self.answer)


def plan_ckks(spec: SumSpec) -> CkksSumPlan:
    """The cheapest plan: smallest ring, then fewest limbs, then fewest that travel.

    Raises:
        PlanError: no parameters grant the spec; the hint names the nearest precision.
    """
    check_spec(spec)
    if spec.max_share is not None:
        raise PlanError(
            "senders that do not see the weights cannot limit them",
            where="max_share",
            found=spec.max_share,
            expected="None",
            hint='Use averaging "masked"',
        )
    nearest = math.inf
    for ckks in _specs():
        for candidate in _candidates(spec, ckks):
            reached = candidate.error_bound / spec.bound
            if reached <= spec.precision:
                return candidate
            nearest = min(nearest, reached)
    raise PlanError(
        "no parameters at 128-bit security grant this",
        where="precision",
        found=f"{spec.precision:.3g}",
        expected=f"at least {nearest:.3g}" if nearest < math.inf else "fewer flooding bits",
        hint="Allow a larger error, or use averaging 'masked'",
    )


def _specs() -> Iterator[CkksSpec]:
    for ring_degree, cap in sorted(MAX_LOG_QP.items()):
        special = smallest_prime_bits(ring_degree)  # nothing is key-switched
        for limbs in range(2, (cap - special) // (MAX_LIMB_BITS - 1) + 1):
            bits = min(MAX_LIMB_BITS, (cap - special) // limbs)
            yield CkksSpec(ring_degree=ring_degree, limb_bits=(bits,) * limbs, special_bits=special)


def _candidates(spec: SumSpec, ckks: CkksSpec) -> Iterator[CkksSumPlan]:
    """For each number of limbs that travel, the most precise plan."""
    params = _parameters(ckks)
    needed = math.ceil(math.log2(0.5 / (spec.precision * spec.bound)))
    for limbs in range(1, min(MAX_ANSWER_LIMBS, params.limbs) + 1):
        plans = [
            plan
            for spare in _SPARE_BITS
            if (plan := _most_precise(spec, params, needed + spare, limbs)) is not None
        ]
        if plans:
            yield min(plans, key=lambda plan: plan.error_bound)


def _most_precise(
    spec: SumSpec, params: CkksParameters, log2_factor: int, limbs: int
) -> CkksSumPlan | None:
    """Bisection: a larger scale of the weight is more precise until the product wraps around."""
    low, high = 0, rules.MAX_LOG2_ENCODED
    while low < high:
        middle = (low + high + 1) // 2
        if _evaluate(spec, params, middle, log2_factor, limbs) is None:
            high = middle - 1
        else:
            low = middle
    return _evaluate(spec, params, low, log2_factor, limbs)


def _evaluate(
    spec: SumSpec, params: CkksParameters, log2_weight: int, log2_factor: int, limbs: int
) -> CkksSumPlan | None:
    """The plan with these scales, None if a value would not fit."""
    try:
        weight = rules.fresh(params, count=1, limbs=params.limbs, log2_scale=log2_weight, bound=1.0)
        product = plain_rules.outer_plain(weight, _factors(spec, log2_factor, 1))
        flooded = rules.sanitize(product, spec.flooding_bits)
        answer = rules.rescale(flooded, limbs, slots=False)
        summed = rules.gathered_sum(answer, spec.senders, bound=spec.bound)
    except EncryptionError:
        return None
    noise = rules.coefficient_error(summed)
    return CkksSumPlan(
        averaging="ckks",
        spec=spec,
        # Noise, the rounding of an opened value to the grid, and that of the parameters.
        error_bound=noise * (1 + 0.5 / GRID_STEPS) + 0.5 * 2.0**-log2_factor,
        public_key_bytes=wire.public_key_bytes(params) + pairwise.PUBLIC_BYTES,
        request_bytes=wire.upload_bytes(weight),
        share_bytes=wire.WORD * sum(piece.words for piece in _pieces(spec.parameters, answer)),
        params=params,
        weight=weight,
        log2_factor=log2_factor,
        answer=answer,
        summed=summed,
    )


def _factors(spec: SumSpec, log2_factor: int, count: int) -> FactorSpec:
    return FactorSpec(count=count, log2_scale=log2_factor, largest=spec.bound, bound=spec.bound)


def _pieces(parameters: int, answer: CipherMeta) -> Iterator[Piece]:
    n = answer.params.ring_degree
    index, start, offset = 0, 0, 0
    while start < parameters:
        full = min(BLOCK, (parameters - start) // n)
        count, coefficients = (full, n) if full else (1, parameters - start)
        words = count * answer.limbs * (n + coefficients)
        yield Piece(index, start, count, coefficients, offset, words)
        index, start, offset = index + 1, start + count * coefficients, offset + words


@lru_cache(maxsize=256)
def _parameters(ckks: CkksSpec) -> CkksParameters:
    return CkksParameters(ckks)
