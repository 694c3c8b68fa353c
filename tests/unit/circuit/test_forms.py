"""Heads as forms of products: what is refused and what is certified."""

from dataclasses import replace

import msgspec
import pytest

from securefair.circuit.certificate import certificate
from securefair.errors import EncryptionError, ModelError
from unit.circuit.heads import features_of, head_of, in_forms, run, spec_of


def test_weights_and_biases_beyond_their_bounds_are_refused():
    spec = spec_of()
    plan, (first, last) = in_forms(spec), head_of(spec)
    far = replace(first, weights=first.weights + (1 << 11))
    with pytest.raises(ModelError, match="exceeds the plan"):
        run(plan, [far, last], features_of(spec), "clear")
    with pytest.raises(ModelError, match="norm of the polynomials"):
        run(plan, [first, replace(last, bias=last.bias + 1e6)], features_of(spec), "clear")
    with pytest.raises(EncryptionError, match="all of its maps"):
        run(plan, [first], features_of(spec), "clear")


@pytest.mark.parametrize("changes", [{}, {"features": 300, "samples": 1}, {"hidden": 0}])
def test_the_certificate_agrees_with_the_planner_on_the_error(changes):
    facts = {fact.name: fact for fact in certificate(in_forms(spec_of(**changes)))}
    assert 0 <= facts["the promised error covers it"].margin_bits < 2.0**-20
    assert "masks outlast a dishonest key" in facts


def test_a_bent_plan_is_not_certified():
    plan = in_forms(spec_of())
    flood = plan.answer.flood / 2**8
    weak = replace(plan, answer=msgspec.structs.replace(plan.answer, flood=flood))
    assert "flooding hides the noise" in [f.name for f in certificate(weak) if not f.holds]
    bold = replace(plan, error_bound=plan.error_bound * 0.999)
    assert [f.name for f in certificate(bold) if not f.holds] == ["the promised error covers it"]
