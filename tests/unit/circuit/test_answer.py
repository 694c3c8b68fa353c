"""The four releases on cleartext slots, and what no answer may skip."""

from functools import cache

import numpy as np
import pytest

from securefair.circuit.answer import Inputs, answer, signed_sum
from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends.clear import ClearEvaluator
from securefair.ckks.backends.planning import PlanningEvaluator
from securefair.ckks.encoding import to_coefficients
from securefair.ckks.layers import AffineLayer
from securefair.ckks.tensor import CipherTensor

KINDS = {
    "loss": {"release": "loss"},
    "class_sums": {"release": "class_sums"},
    "public projection": {"release": "projection", "q": 6},
    "student projection": {"release": "projection", "basis": "student", "q": 6},
    "logits": {"release": "logits"},
}
every_kind = pytest.mark.parametrize("kind", KINDS)
both_heads = pytest.mark.parametrize("hidden", [0, 3])


@cache
def planned(kind, hidden):
    """A plan of one release, whose samples fill several blocks."""
    spec = ExchangeSpec(features=4, classes=2, samples=8200, hidden=hidden, **KINDS[kind])
    plan = plan_exchange(spec)
    assert plan.blocks >= 2
    return plan


class Case:
    """Random slots and weights for a plan, and the logits they stand for."""

    def __init__(self, plan, evaluator=None):
        rng = np.random.default_rng(5)
        n = plan.params.slots
        self.plan = plan
        self.features = rng.uniform(-0.5, 0.5, (plan.blocks, 4, n))
        self.layers = [
            AffineLayer(
                rng.integers(-40, 40, (spec.outputs, spec.inputs)),
                rng.uniform(-0.1, 0.1, spec.outputs),
            )
            for spec in plan.specs
        ]
        value = self.features
        for index, (spec, layer) in enumerate(zip(plan.specs, self.layers, strict=True)):
            value = value**2 if index else value
            value = layer.weights / 2.0**spec.log2_scale @ value + layer.bias[:, None]
        self.logits = value  # (blocks, M, slots)
        self.signs = np.where(rng.integers(0, 2, plan.blocks) > 0, 1, -1)
        self.signs[0] = 1
        self.coefficients = np.array([0, 3, 17, 100, 999, 2047])
        self.factors = np.zeros((plan.blocks, 0, n))
        if plan.factors is not None:
            self.factors = rng.uniform(0, 0.5, (plan.blocks, plan.factors.count, n))
        self.evaluator = evaluator or ClearEvaluator(plan.params)

    def answer(self, layers=None):
        plan = self.plan
        inputs = Inputs(
            [CipherTensor(plan.features, block) for block in self.features],
            [CipherTensor(plan.factors, block) for block in self.factors]
            if plan.factors is not None
            else [],
            self.signs,
            self.coefficients,
        )
        return answer(
            self.evaluator, plan.spec, plan.schedule, plan.specs, layers or self.layers, inputs
        )

    def released(self):
        return [np.frombuffer(part.data).reshape(part.meta.count, -1) for part in self.answer()]


@both_heads
def test_logits_are_released_block_by_block(hidden):
    case = Case(planned("logits", hidden))
    parts = case.released()
    assert len(parts) == case.plan.blocks
    for part, logits in zip(parts, case.logits, strict=True):
        np.testing.assert_allclose(part, logits, atol=1e-12)


@both_heads
def test_the_loss_is_one_mean_over_slots_of_products_with_predictions(hidden):
    case = Case(planned("loss", hidden))
    (part,) = case.released()
    expected = (case.factors * case.logits).sum(axis=(0, 1)).mean()
    np.testing.assert_allclose(part, [[expected]], atol=1e-12)


@both_heads
def test_class_sums_keep_the_classes_apart(hidden):
    case = Case(planned("class_sums", hidden))
    (part,) = case.released()
    expected = (case.factors * case.logits).sum(axis=0).mean(axis=1)
    np.testing.assert_allclose(part, expected[:, None], atol=1e-12)


@both_heads
def test_a_student_projection_is_the_basis_times_the_logits(hidden):
    case = Case(planned("student projection", hidden))
    (part,) = case.released()
    n = case.plan.params.slots
    expected = sum(f @ z.T for f, z in zip(case.factors, case.logits, strict=True)) / n
    np.testing.assert_allclose(part.reshape(expected.shape), expected, atol=1e-12)


@both_heads
def test_a_public_projection_adds_blocks_under_their_signs(hidden):
    case = Case(planned("public projection", hidden))
    (part,) = case.released()
    total = (case.signs[:, None, None] * case.logits).sum(axis=0)
    expected = to_coefficients(total, case.plan.params.ring_degree)[:, case.coefficients]
    np.testing.assert_allclose(part, expected, atol=1e-12)


def test_signs_are_relative_to_the_first_block():
    plan = planned("public projection", 0)
    evaluator = ClearEvaluator(plan.params)
    meta = plan.features
    blocks = [CipherTensor(meta, np.full((2, 4), float(k))) for k in (1, 10, 100)]
    total = signed_sum(evaluator, blocks, np.array([1, -1, 1]))
    assert (total.payload == 91).all()
    assert total.meta.noise == 3 * meta.noise  # a difference is as noisy as a sum


class Watchful(PlanningEvaluator):
    """Notes in which order an answer is sanitised, rescaled and extracted."""

    def __init__(self, params):
        super().__init__(params)
        self.log = []

    def sanitize(self, x, flooding_bits):
        self.log.append(("sanitize", x.meta.count, flooding_bits))
        return super().sanitize(x, flooding_bits)

    def extract(self, x, coefficients):
        self.log.append(("extract", x.meta.count, coefficients))
        return super().extract(x, coefficients)

    def __getattribute__(self, name):
        if name in (
            "linear",
            "add",
            "subtract",
            "square",
            "multiply",
            "inner",
            "outer",
            "relinearize",
        ):
            super().__getattribute__("log").append((name,))
        return super().__getattribute__(name)


@every_kind
@both_heads
def test_nothing_leaves_unsanitised_and_nothing_private_touches_it_afterwards(kind, hidden):
    """Between sanitising and extraction only primes are dropped; every extraction is preceded."""
    plan = planned(kind, hidden)
    watchful = Watchful(plan.params)
    Case(plan, watchful).answer(layers=(None,) * len(plan.specs))
    names = [entry[0] for entry in watchful.log]
    assert names.count("sanitize") == names.count("extract") == len(plan.released)
    for place, entry in enumerate(watchful.log):
        if entry[0] == "extract":
            before = watchful.log[place - 1]
            assert before == ("sanitize", entry[1], plan.schedule.flooding_bits)
    assert names[-2:] == ["sanitize", "extract"]


@every_kind
@both_heads
def test_only_the_planned_coefficients_are_extracted(kind, hidden):
    plan = planned(kind, hidden)
    watchful = Watchful(plan.params)
    case = Case(plan, watchful)
    case.answer(layers=(None,) * len(plan.specs))
    for name, _, coefficients in (e for e in watchful.log if e[0] == "extract"):
        if kind == "logits":
            assert coefficients is None
        elif kind == "public projection":
            assert (coefficients == case.coefficients).all()
        else:
            assert coefficients.tolist() == [0], name


@every_kind
@both_heads
def test_the_facts_of_the_answer_are_those_of_the_plan(kind, hidden):
    case = Case(planned(kind, hidden))
    assert tuple(part.meta for part in case.answer()) == case.plan.released
