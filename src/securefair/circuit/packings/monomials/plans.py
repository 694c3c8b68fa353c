"""Plans whose samples travel as coefficients, products of their features: a short modulus."""

from __future__ import annotations

import math

from securefair.circuit.candidates import Candidate
from securefair.circuit.evaluation import computed
from securefair.circuit.on_paper import parameters
from securefair.circuit.packings.monomials.forms import monomials_bound, open_bound, rounding_error
from securefair.circuit.plan import ExchangePlan
from securefair.circuit.schedule import Schedule
from securefair.circuit.spec import ExchangeSpec
from securefair.circuit.weighing import WORTH, exchange_cost
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

ROUNDED_SUMS = 2.0**-7
"""Share of the precision that rounding forms may take of sums: it moves all samples of a class the
same way, so it does not average out as noise does. A bit of it is a bit of the modulus."""

SUMS_LIMBS = 2
"""Fewest limbs that sums travel at, where masks hold. At one limb rounding errors times the key are
much of the error, and decide which value is opened; sums decide what a student sends next.
Flooding comes before, so a number carries no more bits."""

TOP_BITS = 2.01
"""Room above the largest value for its sign and its noise, and a bit for values that are refused
instead of wrapping around."""


MAX_FORMS = 4096
"""Each class is a ciphertext of the answer: more are cheaper with samples in slots."""


def search(spec: ExchangeSpec, best: Candidate | None) -> Candidate | None:
    """The plan with the shortest modulus in the smallest ring, if it is worth it.

    Fewer numbers leave of these, and they take no key where features beside each other take two.
    """
    found = shortest(spec)
    if found is None or best is None:
        return found
    worth = WORTH**2 if best[0].galois_element and best[0].features.interleaved else WORTH
    return found if exchange_cost(best) >= worth * exchange_cost(found) else None


def travels_so(spec: ExchangeSpec) -> bool:
    """Whether samples may travel as monomials: logits of a head, or sums of them that need no
    product."""
    return not spec.multiplies and not spec.network and spec.classes <= MAX_FORMS


def parts_for(spec: ExchangeSpec, ring_degree: int) -> int:
    """Monomials of a sample in a ciphertext, where sums leave: as many as samples leave room for; 0
    where there is no room for two."""
    if spec.leaves.whole:
        return 1
    room = ring_degree // (2 * spec.samples)
    return 1 << (room.bit_length() - 1) if room > 1 else 0


def shortest(spec: ExchangeSpec) -> Candidate | None:
    """The plan with the shortest modulus in the smallest ring, or None if there is none."""
    plan = _shortest(spec) if travels_so(spec) else None
    return None if plan is None else (plan, forms_seconds(plan.features, spec))


def _shortest(spec: ExchangeSpec) -> ExchangePlan | None:
    for ring_degree, cap in sorted(MAX_LOG_QP.items()):
        special = smallest_prime_bits(ring_degree)  # no key is switched
        parts = parts_for(spec, ring_degree)
        if not parts:
            continue
        sizes = sorted((n * bits, n, bits) for n in FORM_LIMBS for bits in FORM_BITS)
        for total, most, bits in sizes:
            if total + special > cap:
                break
            ckks = CkksSpec(ring_degree=ring_degree, limb_bits=(bits,) * most, special_bits=special)
            longest = _best(spec, ckks, most, parts)
            if longest is None or (spec.leaves.whole and not longest.grants):
                continue  # of sums the masks of a shorter answer may hold
            # It is flooded as it is: an inner product has no bits to spare.
            answers = (_best(spec, ckks, limbs, parts) for limbs in _lengths(spec, most))
            plan = next((p for p in answers if p is not None and p.grants), None)
            if plan is not None:
                return plan
    return None


def _lengths(spec: ExchangeSpec, most: int) -> list[int]:
    """Limbs that an answer may have, what is taken first in front: more limbs take more bytes, and
    more of the ring to mask them."""
    least = 1 if spec.leaves.whole else min(SUMS_LIMBS, most)
    return [*range(least, most + 1), *range(1, least)]


def _best(spec: ExchangeSpec, ckks: CkksSpec, answer_limbs: int, parts: int) -> ExchangePlan | None:
    """The most precise plan of these primes, if it is precise enough."""
    largest = math.log2(open_bound(spec))
    room = parameters(ckks).log_q(len(ckks.limb_bits)) - TOP_BITS - largest
    widest = rules.MAX_LOG2_COEFFICIENT - math.log2(monomials_bound(spec))
    rounded = spec.precision * 2 * spec.bounds.logit
    if not spec.leaves.whole:
        rounded *= ROUNDED_SUMS
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
            packing="monomials",
            parts=parts,
        )
        if rounding_error(spec, schedule) > rounded:
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
