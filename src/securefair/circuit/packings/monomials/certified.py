"""Exact facts of inner products with rounded forms, apart from the rules that planned them."""

from __future__ import annotations

from fractions import Fraction

from securefair.circuit.certificate import ERROR_VARIANCE, Check, State
from securefair.circuit.exact import power_above, root_above


def certified(check: Check) -> State:
    """Inner products of monomials with rounded forms, of weights and biases up to their bounds.

    A coefficient's noise is one of fresh errors weighted by the integers. There is room for four
    times the largest logit where logits leave, for the largest one where sums do. Rounding moves a
    logit by what half a unit in every coefficient does, at most (Cauchy, Schwarz).
    """
    plan, spec = check.plan, check.plan.spec
    form_scale = power_above(plan.schedule.factor_scale)
    *inner, outer = plan.specs
    norm = Fraction(outer.l1) * Fraction(inner[0].l2) ** 2 if inner else Fraction(outer.l2)
    places = Fraction(plan.features.count * check.n)
    logit = Fraction(spec.bounds.logit)
    fresh = ERROR_VARIANCE + Fraction(1, 12)
    norm = (norm + logit) * form_scale + root_above(places) / 2
    width, square = spec.features + 1, _feature_square(check)
    values = width * (width + 1) // 2 if spec.hidden else width
    length = square + 1 if spec.hidden else root_above(square + 1)
    check.rounded = root_above(Fraction(values)) / 2 * length / form_scale
    scale = power_above(plan.schedule.feature_scale) * form_scale
    bound = 4 * logit if spec.leaves.whole else logit
    return check.fits(State(plan.params.limbs, 2, scale, bound, fresh * norm * norm))


def _feature_square(check: Check) -> Fraction:
    bounds, features = check.plan.spec.bounds, check.plan.spec.features
    if bounds.feature_norm is None:
        return Fraction(bounds.feature) ** 2 * features
    return Fraction(bounds.feature_norm) ** 2
