"""From a wish to an exchange plan: the smallest parameters that grant it.

The planner runs the circuit itself on the planning backend, so a plan states exactly what an
encrypted run will do: levels, scales, keys, bytes and an error bound. Nothing depends on private
data; both sides compute the same plan from the same wish.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import msgspec
import numpy as np

from securefair.circuit.answer import Inputs, answer
from securefair.circuit.head import head_specs
from securefair.circuit.schedule import Schedule, factors_meta, features_meta
from securefair.circuit.wish import Wish, check_wish
from securefair.ckks import rules
from securefair.ckks.backends import wire
from securefair.ckks.backends.planning import PlanningEvaluator
from securefair.ckks.evaluator import Released
from securefair.ckks.masking import masks_hold
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.primes import MAX_LIMB_BITS, smallest_prime_bits
from securefair.ckks.rules import AffineSpec
from securefair.ckks.security import MAX_LOG_QP, SECURITY_BITS
from securefair.ckks.tensor import CipherMeta
from securefair.errors import EncryptionError, PlanError

MIN_FEATURE_SCALE = 16
SATURATION = 0.9
"""If one more limb does not bring the error below this share, still more will not either."""

SCALE_STEPS = 8
"""Steps a bit in which feature scales are searched."""

FACTOR_SCALES = range(58, 19, -2)
MAX_FLOODING_LIMBS = 4
MAX_ANSWER_LIMBS = 3
KEY_WORD_BITS = 37
"""SEAL compresses relinearisation keys: a word of 30 or 31 random bits takes about 36 bits."""


@dataclass(frozen=True, eq=False)
class ExchangePlan:
    """Everything public about one exchange, from keys to answer.

    Attributes:
        wish: what was asked for.
        schedule: limbs and scales that grant it.
        params: concrete primes.
        specs: public facts of each layer.
        blocks: ciphertext blocks that the samples fill.
        features: public facts of one block of features.
        factors: public facts of one block of predictions or basis rows, None if there are none.
        released: public facts of an answer, one entry a released tensor.
        error_bound: no released value of an honest run is further off, in its own unit (a logit,
            a coefficient, or a sum over samples).
        relative_error: the bound over the range that the wish declares.
    """

    wish: Wish
    schedule: Schedule
    params: CkksParameters
    specs: tuple[AffineSpec, ...]
    blocks: int
    features: CipherMeta
    factors: CipherMeta | None
    released: tuple[CipherMeta, ...]
    error_bound: float
    relative_error: float

    def __repr__(self) -> str:
        """The parameters in one line."""
        wish, params = self.wish, self.params
        return (
            f"ExchangePlan({wish.release} of {wish.samples} samples of {wish.features} features: "
            f"N = {params.ring_degree}, limbs: {params.limbs}, log2 QP = {params.log_qp:.0f}, "
            f"blocks: {self.blocks}, relative error {self.relative_error:.2g})"
        )

    @property
    def security_bits(self) -> int:
        """Classical security of the encryption."""
        return SECURITY_BITS

    @property
    def numbers(self) -> int:
        """How many numbers an answer lets out: what the disclosure ledger counts.

        For `logits` all coefficients of all blocks, whatever number of samples is claimed: a
        dishonest student may fill every slot.
        """
        return {
            "loss": 1,
            "class_sums": self.wish.classes,
            "projection": self.wish.q * self.wish.classes,
            "logits": self.blocks * self.params.ring_degree * self.wish.classes,
        }[self.wish.release]

    @property
    def coefficients(self) -> int | None:
        """Released coefficients of each ciphertext; None when whole ciphertexts leave."""
        if self.wish.release == "logits":
            return None
        public = self.wish.release == "projection" and not self.wish.student_basis
        return self.wish.q if public else 1

    @property
    def grid(self) -> float:
        """Step to which opened values are rounded, two deviations of their noise.

        The noise of a decryption depends on the secret key (Li and Micciancio 2021), so nothing
        finer than the planned precision may influence what a student sends later.
        """
        return self.error_bound / 4

    @property
    def noise_std(self) -> float:
        """Typical error of a released value, in its own unit: one deviation of its bound."""
        return self.error_bound / rules.TAIL

    @property
    def feature_bytes(self) -> int:
        """Upload once per data epoch."""
        return wire.upload_bytes(self.features) * self.blocks

    @property
    def basis_bytes(self) -> int:
        """Upload once per data epoch, with the features, for a student basis."""
        if self.wish.student_basis and self.factors:
            return wire.upload_bytes(self.factors) * self.blocks
        return 0

    @property
    def query_bytes(self) -> int:
        """Upload with every query: encrypted predictions."""
        if self.wish.sends_predictions and self.factors:
            return wire.upload_bytes(self.factors) * self.blocks
        return 0

    @property
    def answer_bytes(self) -> int:
        """Download with every answer."""
        return sum(wire.answer_bytes(meta, self.coefficients) for meta in self.released)

    @property
    def public_key_bytes(self) -> int:
        """Upload once per key epoch."""
        return wire.public_key_bytes(self.params)

    @property
    def evaluation_key_bytes(self) -> int:
        """Upload once per key epoch, at most: the relinearisation key, if the circuit needs it."""
        if not self.needs_relinearization:
            return 0
        words = self.params.ring_degree * (self.params.limbs + 1)  # the other half is a seed
        return self.params.limbs * (words * KEY_WORD_BITS // 8 + 1024)

    @property
    def key_bytes(self) -> int:
        """Upload once per key epoch, at most, all keys together."""
        return self.public_key_bytes + self.evaluation_key_bytes

    @property
    def needs_relinearization(self) -> bool:
        """The student must send a relinearisation key."""
        return self.schedule.relinearize or self.wish.multiplies

    @property
    def digest(self) -> bytes:
        """32 bytes on which both sides must agree."""
        facts = msgspec.json.encode((self.wish, self.schedule))
        return hashlib.sha256(b"securefair exchange plan\0" + facts).digest()


@lru_cache(maxsize=256)
def plan_exchange(wish: Wish) -> ExchangePlan:
    """The cheapest plan: smallest ring, then fewest limbs, then smallest answer.

    Raises:
        PlanError: the wish is impossible; the hint names the nearest precision or flooding.
    """
    check_wish(wish)
    nearest, unmasked = math.inf, False
    for ring in _rings(wish):
        reached = math.inf
        for spec in ring:
            plans = [p for s in _schedules(wish, spec) if (p := _evaluate(wish, s)) is not None]
            masked = [p for p in plans if _masked(p)]
            granting = [p for p in masked if p.relative_error <= wish.precision]
            if granting:
                return min(granting, key=_cost)
            unmasked |= any(p.relative_error <= wish.precision for p in plans)
            error = min((p.relative_error for p in plans), default=math.inf)
            nearest = min(nearest, *(p.relative_error for p in masked), math.inf)
            if math.inf > error >= reached * SATURATION:
                break  # scales have met another limit than the modulus
            reached = error
    if unmasked:
        raise PlanError(
            "so many numbers per class could unmask the model to a dishonest student",
            where="q",
            found=wish.q,
            expected="fewer",
            hint="Release fewer numbers, or 'logits' knowingly",
        )
    raise PlanError(
        "no parameters at 128-bit security grant this",
        where="precision",
        found=wish.precision,
        expected=f"at least {nearest:.2g}" if nearest < math.inf else "a shallower circuit",
        hint="Allow a larger error, fewer flooding bits, or tighter bounds on the model",
    )


def _masked(plan: ExchangePlan) -> bool:
    """Answers stay masked under any public key; `logits` tell the model's function knowingly."""
    released = plan.coefficients
    if released is None:
        return True
    if released > plan.params.slots:  # for real values the other coefficients repeat these
        return False
    return all(masks_hold(meta, released) for meta in plan.released)


def _cost(plan: ExchangePlan) -> tuple[float, ...]:
    """What to save among plans of one parameter set."""
    traffic = plan.answer_bytes + plan.query_bytes
    return traffic, plan.schedule.flooding_limbs, plan.relative_error


def _rings(wish: Wish) -> Iterator[list[CkksSpec]]:
    """Parameter sets of one ring degree after the other, each from few limbs to many."""
    switches = _switches_keys(wish)
    for ring_degree, cap in sorted(MAX_LOG_QP.items()):
        special = MAX_LIMB_BITS if switches else smallest_prime_bits(ring_degree)
        specs = []
        for limbs in range(1, (cap - special) // (MAX_LIMB_BITS - 1) + 1):
            bits = min(MAX_LIMB_BITS, (cap - special) // limbs)
            specs.append(
                CkksSpec(ring_degree=ring_degree, limb_bits=(bits,) * limbs, special_bits=special)
            )
        yield specs


def _schedules(wish: Wish, spec: CkksSpec) -> Iterator[Schedule]:
    """For each choice of limbs, the schedule with the largest feature scale that fits."""
    limbs = len(spec.limb_bits)
    factor_scales = FACTOR_SCALES if wish.multiplies else (0,)
    for product in range(1, limbs + 1) if wish.multiplies else (limbs,):
        for factor in factor_scales:
            scale = _largest_feature_scale(wish, spec, product, factor)
            if scale is None:
                continue
            for answer_limbs in range(1, min(MAX_ANSWER_LIMBS, product) + 1):
                for flooding in range(answer_limbs, min(MAX_FLOODING_LIMBS, product) + 1):
                    yield _schedule(wish, spec, scale, factor, product, flooding, answer_limbs)


def _largest_feature_scale(wish: Wish, spec: CkksSpec, product: int, factor: int) -> float | None:
    """Bisection: a larger scale is more precise until the value wraps around the modulus."""
    low, high = MIN_FEATURE_SCALE * SCALE_STEPS - 1, rules.MAX_LOG2_ENCODED * SCALE_STEPS
    while low < high:
        middle = (low + high + 1) // 2
        # Flooded at the product level: nothing after it restricts the scale from above.
        scale = middle / SCALE_STEPS
        schedule = _schedule(wish, spec, scale, factor, product, product, product)
        if _evaluate(wish, schedule, flood=False) is None:
            high = middle - 1
        else:
            low = middle
    return low / SCALE_STEPS if low >= MIN_FEATURE_SCALE * SCALE_STEPS else None


def _schedule(
    wish: Wish,
    spec: CkksSpec,
    scale: float,
    factor: int,
    product: int,
    flooding: int,
    answer_limbs: int,
) -> Schedule:
    return Schedule(
        ckks=spec,
        feature_scale=scale,
        factor_scale=factor,
        product_limbs=product,
        relinearize=_switches_keys(wish),
        flooding_limbs=flooding,
        answer_limbs=answer_limbs,
    )


def _switches_keys(wish: Wish) -> bool:
    """A public projection answers with three polynomials instead: no evaluation key at all."""
    if wish.multiplies:
        return True
    return bool(wish.hidden) and wish.release == "logits"


def _evaluate(wish: Wish, schedule: Schedule, *, flood: bool = True) -> ExchangePlan | None:
    """Run the circuit on the planning backend; None if it does not fit."""
    params = _parameters(schedule.ckks)
    specs = head_specs(wish)
    blocks = -(-wish.samples // params.slots)
    measured = wish if flood else msgspec.structs.replace(wish, flooding_bits=0)
    try:
        features = features_meta(params, schedule, wish.features, wish.bounds.feature)
        factors = None
        if wish.multiplies:
            count = wish.q if wish.student_basis else wish.classes
            factors = factors_meta(params, schedule, count)
        released = _dry_run(measured, schedule, params, specs, blocks, features, factors)
    except EncryptionError:
        return None
    metas = tuple(r.meta for r in released)
    error, relative = _errors(wish, metas[0], blocks)
    return ExchangePlan(
        wish, schedule, params, specs, blocks, features, factors, metas, error, relative
    )


def _dry_run(
    wish: Wish,
    schedule: Schedule,
    params: CkksParameters,
    specs: tuple[AffineSpec, ...],
    blocks: int,
    features: CipherMeta,
    factors: CipherMeta | None,
) -> list[Released]:
    evaluator = PlanningEvaluator(params)
    inputs = Inputs(
        features=[evaluator.load(b"", features)] * blocks,
        factors=[evaluator.load(b"", factors)] * blocks if factors else [],
        signs=np.ones(blocks, dtype=np.int64),
        coefficients=np.zeros(wish.q, dtype=np.int64),
    )
    return answer(evaluator, wish, schedule, specs, (None,) * len(specs), inputs)


def _errors(wish: Wish, meta: CipherMeta, blocks: int) -> tuple[float, float]:
    """Bound on a released value, and relative to the range of what it is made of.

    Coefficients of a projection are an isometric image of the slots, so their noise is compared
    with the logits' range slot for slot. A mean over slots sees only the used ones.
    """
    span = 2 * wish.bounds.logit
    if wish.release == "logits":
        return rules.slot_error(meta), rules.slot_error(meta) / span
    error = rules.coefficient_error(meta)
    if wish.multiplies:  # coefficient 0 is the mean over the slots of a block
        total = error * meta.params.slots
        return total, total / (span * wish.samples)
    isometric = math.sqrt(meta.params.ring_degree)
    return error, error * isometric / (span * blocks)


@lru_cache(maxsize=256)
def _parameters(spec: CkksSpec) -> CkksParameters:
    return CkksParameters(spec)
