"""The steps of an answer on paper."""

import pytest

from securefair.circuit.planner import plan_exchange
from securefair.ckks.specs import AffineSpec
from securefair.profiling.trace import stage_name, trace

EXCHANGES = [
    {"release": "logits"},
    {"release": "logits", "hidden": 0},
    {"release": "projection"},
    {"release": "projection", "basis": "student", "q": 4},
    {"release": "loss"},
    {"release": "class_sums"},
    {"release": "logits", "features": 64},
]


def layer(outputs):
    return AffineSpec(
        inputs=2, outputs=outputs, log2_scale=4, max_integer=16, l1=2.0, l2=2.0, bound=1.0
    )


def test_layers_are_numbered_and_products_counted_alike():
    specs = (layer(3), layer(4))
    assert stage_name("linear", (None, specs[1], None), specs) == "linear2"
    assert stage_name("inner", (None, None), specs) == "products"
    assert stage_name("square", (None,), specs) == "square"


@pytest.mark.parametrize("changes", EXCHANGES, ids=str)
def test_the_last_step_is_what_the_plan_releases(spec, changes):
    plan = plan_exchange(spec(**changes))
    steps = trace(plan)
    assert steps[0].output == plan.features
    assert steps[-1].stage == "extract"
    assert steps[-1].output == plan.released[0]
    assert steps[-1].coefficients == plan.coefficients


def test_blocks_are_counted_together(spec):
    one = plan_exchange(spec(), coefficients=False)
    many = plan_exchange(spec(samples=3 * one.params.slots), coefficients=False)
    steps = {step.stage: step for step in trace(many)}
    assert steps["receive"].times == steps["square"].times == 3
    assert steps["add_blocks"].times == 2
    assert steps["add_blocks"].output.bound == 3 * many.spec.bounds.logit
    assert steps["sanitise"].times == 1
    assert "add_blocks" not in {step.stage for step in trace(one)}


def test_a_public_projection_switches_no_key(spec):
    stages = {step.stage for step in trace(plan_exchange(spec(release="projection")))}
    assert "relinearise" not in stages
    logits = plan_exchange(spec(release="logits"), coefficients=False)
    assert "relinearise" in {step.stage for step in trace(logits)}


def test_a_rescaling_that_changes_nothing_is_no_step(spec):
    for changes in EXCHANGES:
        for step in trace(plan_exchange(spec(**changes))):
            assert step.operation != "rescale" or step.inputs[0].limbs > step.output.limbs
