"""Plans whose samples travel as coefficients, products of their features: a short modulus."""

from __future__ import annotations

import math

from securefair.circuit.candidates import Candidate
from securefair.circuit.evaluation import computed
from securefair.circuit.monomials import BEYOND, monomials_bound, rounding_error
from securefair.circuit.on_paper import parameters
from securefair.circuit.plan import ExchangePlan
from securefair.circuit.schedule import Schedule, travels_as_monomials
from securefair.circuit.spec import ExchangeSpec
from securefair.circuit.work import forms_seconds
from securefair.ckks import rules
from securefair.ckks.parameters import CkksSpec
from securefair.ckks.primes import MAX_LIMB_BITS, smallest_prime_bits
from securefair.ckks.security import MAX_LOG_QP

FORM_LIMBS = range(1, 5)
FORM_BITS = range(23, MAX_LIMB_BITS + 1)
FORM_SCALES = range(8, 41)
"""log2 scales of forms: their rounding counts in full, which wants them large; noise is multiplied
with them, which wants them small."""

TOP_BITS = 2.01
"""Room above the largest value for its sign and its noise, and a bit for values that are refused
instead of wrapping around."""


def in_monomials(spec: ExchangeSpec) -> Candidate | None:
    """The plan with the shortest modulus in the smallest ring, or None if there is none."""
    plan = _shortest(spec)
    return None if plan is None else (plan, forms_seconds(plan.features, spec))


def _shortest(spec: ExchangeSpec) -> ExchangePlan | None:
    if not travels_as_monomials(spec):
        return None
    for ring_degree, cap in sorted(MAX_LOG_QP.items()):
        special = smallest_prime_bits(ring_degree)  # no key is switched
        for total, most, bits in sorted(
            (n * bits, n, bits) for n in FORM_LIMBS for bits in FORM_BITS
        ):
            if total + special > cap:
                break
            ckks = CkksSpec(ring_degree=ring_degree, limb_bits=(bits,) * most, special_bits=special)
            plan = _best(spec, ckks, most)
            if plan is None or not plan.grants:
                continue
            # It is flooded as it is: an inner product has no bits to spare.
            fewer = (_best(spec, ckks, left) for left in range(1, most))
            return next((p for p in fewer if p is not None and p.grants), plan)
    return None


def _best(spec: ExchangeSpec, ckks: CkksSpec, answer_limbs: int) -> ExchangePlan | None:
    """The most precise plan of these primes, if it is precise enough."""
    largest = math.log2(BEYOND * spec.bounds.logit)
    room = parameters(ckks).log_q(len(ckks.limb_bits)) - TOP_BITS - largest
    widest = rules.MAX_LOG2_COEFFICIENT - math.log2(monomials_bound(spec))
    best: ExchangePlan | None = None
    least = math.inf
    for form_scale in FORM_SCALES:
        # The largest scale at which logits do not wrap around.
        scale = math.floor(min(room - form_scale, widest))
        if scale <= 0:
            continue
        schedule = Schedule(
            ckks=ckks,
            feature_scale=float(scale),
            factor_scale=float(form_scale),
            product_limbs=len(ckks.limb_bits),
            relinearize=False,
            flooding_bits=spec.flooding_bits,
            flooding_limbs=len(ckks.limb_bits),
            answer_limbs=answer_limbs,
            monomials=True,
        )
        if rounding_error(spec, schedule) > spec.precision * 2 * spec.bounds.logit:
            continue
        run = computed(spec, schedule)
        if run is None:
            continue
        if run.least_error > spec.precision:
            if not run.least_error < least:
                break  # from here on noise grows
            least = run.least_error
            continue
        plan = run.released(schedule)
        if plan is None:
            continue
        if best is not None and plan.relative_error > best.relative_error:
            break
        best = plan
    return best
