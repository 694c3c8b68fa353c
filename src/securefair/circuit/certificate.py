"""A certificate of a plan's noise, checked in exact integers and independent of the planner.

The planner works in floating point, with rules of its own (`ckks.rules`). This module shares
nothing with them but the plan: it walks through the schedule with variances as fractions, rounds
every root upwards, and states six facts that must hold for a plan to be used.

    1. every value, with eight deviations of its noise, fits the modulus that it has at that step
    2. flooding is at least 2^s times eight deviations of all noise that depends on the teacher
    3. the error that the plan promises covers eight deviations of all noise in an answer
    4. coordinates that a dishonest key can show leave enough of them unknown
    5. the product of all primes is below the published table for 128 bits
    6. the keys that a student sends are as long as their longest switch

Noise is average-case, as in decision 8: it certifies the arithmetic of a plan, not that assumption.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log2, prod

from securefair.circuit.exact import log2_above, power_above, root_above
from securefair.circuit.packings.register import part_of
from securefair.circuit.plan import ExchangePlan
from securefair.circuit.schedule import RescaleStep
from securefair.ckks.security import MAX_LOG_QP
from securefair.errors import EncryptionError

TAIL = 8
ERROR_VARIANCE = Fraction(21, 2)
"""Of SEAL's centred binomial errors."""

PI = Fraction(3141592653589793, 10**15)
"""Below pi, so that what it divides is rounded up. Fewer digits would refuse plans whose error is
nearly all of switched keys."""

ROOT_OF_2 = Fraction(14142135623730951, 10**16)
"""Above it: the modulus of a pair of values."""

TAIL_OF_S = Fraction(22, 10) ** 2
TAIL_OF_S2 = Fraction(7) ** 2
"""Squares of what rounding errors times s, and s^2, need in a slot over a Gaussian."""


@dataclass(frozen=True)
class Fact:
    """One inequality, in exact numbers.

    Attributes:
        name: what it is about.
        left, right: it holds if left <= right.
    """

    name: str
    left: Fraction
    right: Fraction

    @property
    def holds(self) -> bool:
        """left <= right."""
        return self.left <= self.right

    @property
    def margin_bits(self) -> float:
        """log2 of right over left; negative if it does not hold."""
        if self.left <= 0:
            return float("inf")
        ratio = self.right / self.left
        return log2(ratio.numerator) - log2(ratio.denominator) if ratio > 0 else -float("inf")


@dataclass(frozen=True)
class State:
    """A ciphertext's facts: scale and bound as fractions, noise as a variance."""

    limbs: int
    polys: int
    scale: Fraction
    bound: Fraction
    variance: Fraction
    flood: Fraction = Fraction(0)


def certificate(plan: ExchangePlan) -> tuple[Fact, ...]:
    """All facts of a plan; it is sound if each of them holds."""
    return tuple(Check(plan).facts())


class Check:
    """The walk through one plan."""

    def __init__(self, plan: ExchangePlan) -> None:
        self.plan = plan
        self.primes = plan.params.primes
        self.n = plan.params.ring_degree
        self.fitting = Fact("fits the modulus", Fraction(0), Fraction(1))
        self.relinearized, self.turned = 0, 0
        self.rounded = Fraction(0)

    def facts(self) -> list[Fact]:
        """All of them."""
        plan, schedule, spec = self.plan, self.plan.schedule, self.plan.spec
        value = part_of(schedule.packing, "certified")(self)
        value = self._combined(value)
        slots = plan.coefficients is None or plan.features.interleaved
        if schedule.relinearize and value.polys > 2:
            value = self._relinearized(value, schedule.flooding_limbs, slots=slots)
        value = self._rescaled(value, schedule.flooding_limbs, slots=slots)
        hidden = root_above(value.variance + self._zeros(value))
        answer = plan.answer
        dropped = prod(self.primes[answer.limbs : schedule.flooding_limbs])
        flood = Fraction(answer.flood) * dropped
        asked = Fact(
            "flooding hides the noise",
            (1 << spec.flooding_bits) * TAIL * hidden,
            flood * (1 + Fraction(1, 1 << 40)),
        )
        variance = value.variance + self._zeros(value) + flood * flood / 3
        value = State(value.limbs, value.polys, value.scale, value.bound, variance, flood)
        value = self.fits(self._rescaled(value, schedule.answer_limbs, slots=slots))
        return [
            self.fitting,
            asked,
            self._error(value),
            self._masks(value),
            self._security(),
            self._keys(),
        ]

    def layers(self) -> State:
        """The logits of a model that is evaluated layer by layer."""
        plan = self.plan
        spec, scale = plan.spec, power_above(plan.schedule.feature_scale)
        rounding, bound = Fraction(1, 12), Fraction(spec.bounds.feature)
        paired = plan.features.paired
        if paired:
            rounding, bound = 2 * rounding, bound * ROOT_OF_2
        value = State(plan.params.limbs, 2, scale, bound, ERROR_VARIANCE + rounding)
        fresh = True
        maps = zip(plan.specs, spec.layers, plan.schedule.stages, strict=True)
        for affine, bounds, stage in maps:
            value = self._prepared(value, stage.linear)
            grid = Fraction(2) ** affine.log2_scale  # below 1 where few bits meet large weights
            norm = Fraction(affine.l2 if fresh else affine.l1) * grid
            zeros = self._zeros(value)  # a row of zeros is masked with them
            parts = plan.schedule.parts if fresh else 1
            # Of features beside each other the bias joins at the end, and then grows with them.
            rounded = Fraction(1, 2) / parts
            grown = root_above(max(value.variance * norm * norm, zeros)) + rounded
            value = self.fits(
                State(
                    value.limbs,
                    value.polys,
                    value.scale * grid,
                    Fraction(affine.bound),
                    grown * grown,
                )
            )
            if fresh and paired:
                value = self._with_conjugate(value)
            if parts > 1:
                value = self._separated(value, parts)
            fresh = False
            if stage.square is not None:
                value = self._prepared(value, stage.square)
                value = self._product(value, value)
                value = self._summed(value, bounds.summed)
        return value

    def _with_conjugate(self, x: State) -> State:
        """Pairs and their conjugates, whose masks were switched, added or subtracted: what that
        negates is gone, the rest is doubled. Before, values need not fit: sums modulo Q come to the
        same."""
        self.turned = max(self.turned, x.limbs)
        noise = 2 * root_above(x.variance) + root_above(self._switched(x.limbs))
        return self.fits(State(x.limbs, 2, 2 * x.scale, x.bound, noise * noise))

    def _separated(self, x: State, parts: int) -> State:
        """Hidden units of features beside each other, times `parts`. Of each of parts - 1 switches
        a sum of `parts` powers is left, and the i-th power of what was summed brings i more."""
        self.turned = max(self.turned, x.limbs)
        summed = root_above(x.variance) + (parts - 1) * root_above(self._switched(x.limbs))
        powers = sum(range(parts)) * root_above(self._switched(x.limbs))
        noise = parts * summed + powers
        return self.fits(State(x.limbs, 2, parts * x.scale, x.bound, noise * noise))

    def _combined(self, value: State) -> State:
        """Blocks added under signs, or products with what the student encrypted."""
        plan, spec = self.plan, self.plan.spec
        if spec.leaves.whole:
            return value
        if not spec.multiplies:
            return self._summed(value, plan.blocks)
        schedule = plan.schedule
        if value.polys > 2:
            value = self._relinearized(value, schedule.product_limbs)
        value = self._rescaled(value, schedule.product_limbs)
        factor = State(
            schedule.product_limbs,
            2,
            power_above(schedule.factor_scale),
            Fraction(1),
            ERROR_VARIANCE + Fraction(1, 12),
        )
        value = self._product(value, factor)
        m = spec.leaves.added(spec)
        if m > 1:
            value = State(
                value.limbs,
                3,
                value.scale,
                Fraction(spec.bounds.logit),
                value.variance * m * m,
            )
        return self._summed(value, plan.blocks)

    def _product(self, x: State, y: State) -> State:
        a, b = root_above(x.variance), root_above(y.variance)
        noise = (
            x.bound * x.scale * b
            + y.bound * y.scale * a
            + TAIL * root_above(Fraction(self.n)) * a * b
        )
        return self.fits(State(x.limbs, 3, x.scale * y.scale, x.bound * y.bound, noise * noise))

    def _summed(self, x: State, terms: int) -> State:
        return self.fits(
            State(x.limbs, x.polys, x.scale, x.bound * terms, x.variance * terms * terms)
        )

    def _prepared(self, x: State, step: RescaleStep) -> State:
        if step.relinearize:
            x = self._relinearized(x, step.limbs)
        return self._rescaled(x, step.limbs)

    def _relinearized(self, x: State, limbs: int, *, slots: bool = True) -> State:
        """Two polynomials at so many limbs. Keys are switched at the fewest limbs, from there up,
        that let the noise grow by a 64th at most over switching them at once."""

        def switched(at: int) -> Fraction:
            noise = root_above(self._divided(x.variance, 3, x.limbs, at))
            noise += root_above(self._switched(at))
            return noise * noise

        most = self._divided(switched(x.limbs), 2, x.limbs, limbs) * (1 + Fraction(1, 64)) ** 2
        at = limbs
        while self._divided(switched(at), 2, at, limbs) > most:
            at += 1
        self.relinearized = max(self.relinearized, at)
        scale = self._rescaled(x, at).scale
        value = self.fits(State(at, 2, scale, x.bound, switched(at)))
        return self._rescaled(value, limbs, slots=slots)

    def _switched(self, limbs: int) -> Fraction:
        """Variance of what switching one polynomial to another key adds."""
        squares = sum(p * p for p in self.primes[:limbs])
        special = self.plan.params.special_prime
        digits = ERROR_VARIANCE * squares * (Fraction(self.n) / PI / special) ** 2
        return digits + self._rounding(2, slots=True)

    def _rescaled(self, x: State, limbs: int, *, slots: bool = True) -> State:
        product = prod(self.primes[limbs : x.limbs])
        variance = self._divided(x.variance, x.polys, x.limbs, limbs, slots=slots)
        scale, flood = x.scale / product, x.flood / product
        return self.fits(State(limbs, x.polys, scale, x.bound, variance, flood))

    def _divided(
        self, variance: Fraction, polys: int, before: int, limbs: int, *, slots: bool = True
    ) -> Fraction:
        """A variance after divisions by the last of the first `before` primes."""
        for prime in reversed(self.primes[limbs:before]):
            variance = variance / prime**2 + self._rounding(polys, slots=slots)
        return variance

    def _rounding(self, polys: int, *, slots: bool) -> Fraction:
        n = self.n
        variance = 1 + Fraction(2 * n, 3) * (TAIL_OF_S if slots else 1)
        if polys > 2:
            variance += Fraction(8 * n * n, 9) * (TAIL_OF_S2 if slots else 1)
        return variance / 12

    def _zeros(self, x: State) -> Fraction:
        """Variance of the fresh encryptions of zero, made one prime higher."""
        above = (*self.primes, self.plan.params.special_prime)[x.limbs]
        spread = Fraction(4 * self.n, 3)
        drawn = ERROR_VARIANCE * (1 + spread) / above**2
        once = drawn + self._rounding(2, slots=True)
        if x.polys == 2:
            return once
        return once + drawn * spread + self._rounding(x.polys, slots=True)

    def fits(self, x: State) -> State:
        """The same value, after its share of the modulus was noted."""
        largest = x.bound * x.scale + TAIL * root_above(x.variance)
        share = 2 * largest / prod(self.primes[: x.limbs])
        if share > self.fitting.left:
            self.fitting = Fact(self.fitting.name, share, Fraction(1))
        return x

    def _error(self, x: State) -> Fact:
        plan, spec = self.plan, self.plan.spec
        noise = TAIL * root_above(x.variance) / x.scale
        if spec.leaves.whole and plan.packing.opens_slots(None):
            noise *= root_above(Fraction(self.n // plan.schedule.parts))
        noise += self.rounded
        noise += x.bound / (1 << 40)  # cleartext arithmetic
        if spec.multiplies:
            noise *= plan.params.slots
        tolerance = 1 + Fraction(1, 1 << 30)
        return Fact("the promised error covers it", noise, Fraction(plan.error_bound) * tolerance)

    def _masks(self, x: State) -> Fact:
        """Coordinates shown, log2(3) > 158/100 bits each, and those that masks need."""
        released = self.plan.coefficients
        if self.plan.numbers == self.plan.tensors * self.n * self.plan.spec.classes:
            released = None  # charged as if all left
        if released is None:
            return Fact("masks: nothing is claimed of logits", Fraction(0), Fraction(1))
        modulus = prod(self.primes[: x.limbs])
        width = max(Fraction(1), 2 * x.flood)
        bits = log2_above(modulus / width)
        shown = released * max(Fraction(0), bits) * Fraction(100, 158)
        # Masks carry rounding errors: as hard as a modulus larger by 3.24 sqrt(12), below 2^3.5.
        log_q = log2_above(Fraction(modulus)) + Fraction(7, 2)
        masking = self.n * log_q / MAX_LOG_QP[self.n]
        return Fact("masks outlast a dishonest key", shown + masking, Fraction(self.n))

    def _security(self) -> Fact:
        product = prod((*self.primes, self.plan.params.special_prime))
        return Fact("modulus below the table", Fraction(product), Fraction(1 << MAX_LOG_QP[self.n]))

    def _keys(self) -> Fact:
        """Limbs by which the plan's keys differ from the longest switches found here."""
        try:
            planned = self.plan.relinearization_limbs, self.plan.galois_limbs
        except EncryptionError:  # the circuit does not run
            planned = -1, -1
        found = self.relinearized, self.turned
        apart = sum(abs(a - b) for a, b in zip(planned, found, strict=True))
        return Fact("keys are as long as their switches", Fraction(apart), Fraction(0))


def layered(check: Check) -> State:
    """What packings certify whose models are evaluated layer by layer."""
    return check.layers()
