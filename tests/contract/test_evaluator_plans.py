"""Planning and computing agree: on every fact of random circuits, and on what they refuse."""

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract.operands import assert_opens_to, layer_for, padded, values
from securefair.ckks import rules
from securefair.ckks.backends.planning import PlanningEvaluator
from securefair.ckks.layers import AffineLayer
from securefair.ckks.specs import AffineSpec
from securefair.ckks.tensor import CipherTensor
from securefair.errors import EncryptionError, ModelError
from support.examples import examples


@dataclass
class Run:
    """A tensor, and what its slots would be without any error."""

    tensor: CipherTensor[Any]
    exact: np.ndarray


def linear_step(ring, run, seed):
    spec, layer, real, bias = layer_for(run.tensor, 1 + seed % 3, seed)
    out = ring.evaluator.linear(run.tensor, spec, layer)
    return Run(out, real @ run.exact + bias[:, None])


def square_step(ring, run, seed):
    return Run(ring.evaluator.square(run.tensor), run.exact**2)


def product_step(ring, run, seed):
    meta = run.tensor.meta
    slots = values(meta.count, seed)
    other = ring.upload(slots, log2_scale=20.0 + seed % 10, limbs=meta.limbs)
    return Run(ring.evaluator.multiply(run.tensor, other), run.exact * padded(slots, ring.params))


def inner_step(ring, run, seed):
    meta = run.tensor.meta
    slots = values(meta.count, seed)
    other = ring.upload(slots, log2_scale=20.0 + seed % 10, limbs=meta.limbs)
    out = ring.evaluator.inner(run.tensor, other, bound=meta.count * meta.bound)
    exact = (run.exact * padded(slots, ring.params)).sum(axis=0, keepdims=True)
    return Run(out, exact)


def rescale_step(ring, run, seed):
    # Below 20 bits nothing of the value would be left to test.
    limbs = run.tensor.meta.limbs - 1 - seed % 2
    if rules.rescale(run.tensor.meta, limbs).log2_scale < 20:
        raise EncryptionError("too little scale for a meaningful test")
    return Run(ring.evaluator.rescale(run.tensor, limbs), run.exact)


def relinearize_step(ring, run, seed):
    return Run(ring.evaluator.relinearize(run.tensor), run.exact)


def twice_step(ring, run, seed):
    return Run(ring.evaluator.add(run.tensor, run.tensor), 2 * run.exact)


def sanitize_step(ring, run, seed):
    return Run(ring.evaluator.sanitize(run.tensor, seed % 12), run.exact)


STEPS = {
    step.__name__: step
    for step in (
        linear_step,
        square_step,
        product_step,
        inner_step,
        rescale_step,
        relinearize_step,
        twice_step,
        sanitize_step,
    )
}
programs = st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 50)), max_size=7)


@pytest.mark.parametrize("name", ["narrow", "switching", "wide"])
@settings(max_examples=examples(12))
@given(program=programs, scale=st.integers(22, 34), seed=st.integers(0, 100))
def test_no_circuit_is_further_off_than_planned(ring, name, program, scale, seed):
    here = ring(name)
    slots = values(2, seed)
    run = Run(here.upload(slots, log2_scale=float(scale)), padded(slots, here.params))
    for step, number in program:
        if step == "relinearize_step" and name == "narrow":
            continue  # there is no key for it
        try:
            run = STEPS[step](here, run, number)
        except EncryptionError:
            continue  # this step is not possible here, and was refused
        assert np.abs(run.exact).max() <= run.tensor.meta.bound * (1 + 1e-9)
    assert_opens_to(here, run.tensor, run.exact)


@pytest.mark.parametrize("name", ["narrow", "wide"])
@settings(max_examples=examples(25))
@given(program=programs, scale=st.integers(22, 60))
def test_planning_foresees_every_fact_and_every_refusal(ring, name, program, scale):
    """The facts of a plan are those of the run, and both refuse at the same step."""
    here = ring(name)
    planner = PlanningEvaluator(here.params)
    meta = rules.fresh(here.params, count=2, limbs=here.params.limbs, log2_scale=scale, bound=1.0)
    planned = CipherTensor(meta, None)
    run = CipherTensor(meta, uploaded(here, scale).payload)
    for step, number in program:
        if step == "relinearize_step" and name == "narrow":
            continue  # there is no key for it
        outcomes = []
        for evaluator, tensor in ((planner, planned), (here.evaluator, run)):
            try:
                outcomes.append(plain_step(evaluator, tensor, step, number))
            except EncryptionError as error:
                outcomes.append(error.problem)
        if isinstance(outcomes[0], str):
            assert outcomes[0] == outcomes[1]
            continue
        planned, run = outcomes
        assert planned.meta == run.meta


@cache
def uploaded(ring, scale):
    """No operation changes its inputs, as a test of its own asserts: so examples share them."""
    return ring.upload(values(2), log2_scale=float(scale))


def plain_step(evaluator, x, step, number):
    if step == "linear_step":
        spec, layer, _, _ = layer_for(x, 1 + number % 3, number)
        return evaluator.linear(x, spec, layer)
    if step == "rescale_step":
        return evaluator.rescale(x, x.meta.limbs - number % 3)
    return {
        "square_step": lambda: evaluator.square(x),
        "product_step": lambda: evaluator.multiply(x, x),
        "inner_step": lambda: evaluator.inner(x, x, bound=x.meta.count * x.meta.bound),
        "relinearize_step": lambda: evaluator.relinearize(x),
        "twice_step": lambda: evaluator.add(x, x),
        "sanitize_step": lambda: evaluator.sanitize(x, number),
    }[step]()


TWO_TO_TWO = AffineSpec(
    inputs=2, outputs=2, log2_scale=8, max_integer=256, l1=2.0, l2=1.5, bound=4.0
)
THREE_TO_TWO = replace(TWO_TO_TWO, inputs=3)


def layer(weights, bias=(0.0, 0.0)):
    return AffineLayer(np.array(weights), np.array(bias))


REFUSED = {
    "sum at different scales": lambda e, t: e.add(t["x"], t["finer"]),
    "difference at different levels": lambda e, t: e.subtract(t["x"], t["lower"]),
    "sum of different counts": lambda e, t: e.add(t["x"], t["longer"]),
    "sum of different polynomials": lambda e, t: e.add(e.square(t["half"]), t["x"]),
    "product across levels": lambda e, t: e.multiply(t["x"], t["lower"]),
    "product of different counts": lambda e, t: e.multiply(t["x"], t["longer"]),
    "inner product of different counts": lambda e, t: e.inner(t["x"], t["longer"], bound=1.0),
    "inner product with one": lambda e, t: e.inner(t["x"], t["single"], bound=1.0),
    "layer of another width": lambda e, t: e.linear(
        t["x"], THREE_TO_TWO, layer([[1, 2, 3], [4, 5, 6]])
    ),
    "rescaling to nothing": lambda e, t: e.rescale(t["x"], 0),
    "rescaling upwards": lambda e, t: e.rescale(t["lower"], 5),
    "relinearising two polynomials": lambda e, t: e.relinearize(t["x"]),
    "product of a product": lambda e, t: e.multiply(e.square(t["half"]), t["half"]),
    "square of a product": lambda e, t: e.square(e.square(t["half"])),
    "squares beyond the modulus": lambda e, t: e.square(e.square(e.square(t["x"]))),
    "flooding beyond the modulus": lambda e, t: e.sanitize(t["x"], 150),
    "sums beyond the modulus": lambda e, t: e.add(t["full"], t["full"]),
}


@pytest.fixture(scope="module")
def tensors(ring):
    """Shapes to combine wrongly, as (planned, real) tensors of one name."""
    wide = ring("wide")
    facts = {
        "x": (2, 40.0, 5),
        "half": (2, 20.0, 5),
        "finer": (2, 41.0, 5),
        "lower": (2, 40.0, 3),
        "longer": (3, 40.0, 5),
        "single": (1, 40.0, 5),
        "full": (1, math.floor(wide.params.log_q(1)) - 1.0, 1),
    }
    real = {
        name: wide.upload(values(count), log2_scale=scale, limbs=limbs)
        for name, (count, scale, limbs) in facts.items()
    }
    return {name: CipherTensor(t.meta, None) for name, t in real.items()}, real


@pytest.mark.parametrize("name", REFUSED)
def test_planning_and_computing_refuse_the_same(wide, tensors, name):
    planned, real = tensors
    messages = []
    for evaluator, tensor in ((PlanningEvaluator(wide.params), planned), (wide.evaluator, real)):
        with pytest.raises(EncryptionError) as error:
            REFUSED[name](evaluator, tensor)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([[257, 0], [0, 0]], "a quantised weight exceeds the plan"),
        ([[0, 0], [-257, 0]], "a quantised weight exceeds the plan"),
        ([[256, 256], [0, 0]], None),
        ([[256, -256], [256, 256]], None),
        ([[256, 256, 0], [0, 0, 0]], "shape differs"),
        ([[256, 256]], "shape differs"),
    ],
)
def test_weights_beyond_the_public_bound_are_refused(wide, tensors, weights, words):
    x = tensors[1]["x"]
    model = layer(weights, np.zeros(len(weights)))
    if words is None:
        wide.evaluator.linear(x, TWO_TO_TWO, model)
        return
    with pytest.raises(ModelError, match=words):
        wide.evaluator.linear(x, TWO_TO_TWO, model)


@pytest.mark.parametrize(("norm", "bounds"), [("l1", {"l1": 1.9}), ("l2", {"l2": 1.4})])
def test_rows_longer_than_promised_are_refused_by_norm(wide, tensors, norm, bounds):
    spec = replace(TWO_TO_TWO, **bounds)
    with pytest.raises(ModelError, match=f"the {norm} norm") as error:
        wide.evaluator.linear(tensors[1]["x"], spec, layer([[256, 256], [0, 0]]))
    assert error.value.hint


def test_only_planning_works_without_weights(wide, tensors):
    planned, real = tensors
    out = PlanningEvaluator(wide.params).linear(planned["x"], TWO_TO_TWO, None)
    assert out.meta.count == 2
    with pytest.raises(EncryptionError, match="only planning"):
        wide.evaluator.linear(real["x"], TWO_TO_TWO, None)
