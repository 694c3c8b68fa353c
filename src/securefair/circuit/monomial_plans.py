"""Plans whose samples travel as products of their features: one linear map, and a short modulus."""

from __future__ import annotations

import math

from securefair.circuit.candidates import Candidate
from securefair.circuit.evaluation import evaluate
from securefair.circuit.monomials import BEYOND, monomials_bound
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
    if not travels_as_monomials(spec):
        return None
    for ring_degree, cap in sorted(MAX_LOG_QP.items()):
        special = smallest_prime_bits(ring_degree)  # no key is switched
        sizes = ((limbs * bits, limbs, bits) for limbs in FORM_LIMBS for bits in FORM_BITS)
        for total, limbs, bits in sorted(sizes):
            if total + special > cap:
                break
            limb_bits = (bits,) * limbs
            ckks = CkksSpec(ring_degree=ring_degree, limb_bits=limb_bits, special_bits=special)
            plan = _best(spec, ckks, limbs)
            if plan is None or not plan.grants:
                continue
            shorter = (_best(spec, ckks, answer_limbs) for answer_limbs in range(1, limbs))
            plan = next((p for p in shorter if p is not None and p.grants), plan)
            return plan, forms_seconds(plan.features, spec)
    return None


def _best(spec: ExchangeSpec, ckks: CkksSpec, answer_limbs: int) -> ExchangePlan | None:
    """The most precise plan of these primes."""
    largest = math.log2(BEYOND * spec.bounds.logit)
    room = parameters(ckks).log_q(len(ckks.limb_bits)) - TOP_BITS - largest
    widest = rules.MAX_LOG2_COEFFICIENT - math.log2(monomials_bound(spec))
    best: ExchangePlan | None = None
    for form_scale in FORM_SCALES:
        # The largest scale at which logits do not wrap around.
        scale = math.floor(min(room - form_scale, widest))
        plan = None
        if scale > 0:
            plan = evaluate(spec, _schedule(spec, ckks, scale, form_scale, answer_limbs))
        if plan is None:
            continue
        if best is not None and plan.relative_error > best.relative_error:
            break  # from here on noise grows
        best = plan
    return best


def _schedule(
    spec: ExchangeSpec, ckks: CkksSpec, scale: int, form_scale: int, answer_limbs: int
) -> Schedule:
    limbs = len(ckks.limb_bits)
    return Schedule(
        ckks=ckks,
        feature_scale=float(scale),
        factor_scale=float(form_scale),
        product_limbs=limbs,
        relinearize=False,
        flooding_bits=spec.flooding_bits,
        flooding_limbs=limbs,
        answer_limbs=answer_limbs,
        monomials=True,
    )
