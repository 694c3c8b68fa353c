"""What a plan states about errors, where it is tried hardest: several blocks, and at the limits.

Features, weights and logits at what was agreed, on real ciphertexts: every released number is
within the stated bound of what the rounded model gives. Just beyond it is refused, wherever that
is promised.
"""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from securefair.circuit.answer import Inputs
from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec, HeadBounds
from securefair.ckks import rules
from securefair.ckks.backends import get_backend
from securefair.errors import DataError, EncryptionError, ModelError
from securefair.exchange import steps
from securefair.model.folded import dense_network
from securefair.model.heads import Head
from securefair.model.linear_maps import DenseMap
from securefair.model.projection import public_rows
from support.examples import examples

SAMPLES, FEATURES, CLASSES = 40, 3, 2
BOUNDS = HeadBounds(output_weight=4.0, output_l1=6.0, output_l2=math.sqrt(20), logit=12.0)
GRID_ROUNDING = math.hypot(1, 2 / math.sqrt(12))
"""What rounding to a grid of two deviations makes of one."""

UNIT = 2.0**-10
"""Weights of 12 bits up to 4 are multiples of it, so that rounding changes none of these."""

ROWS = ([4.0, 0.0, 0.0], [3.0, 2.0, 1.0], [4.0, 2.0, 0.0], [2.0, 2.0, 2.0])
"""The largest weight, the largest l1 norm, this and the largest l2 norm, and all alike."""


class Fixed(Head):
    """A head of given maps."""

    def __init__(self, *maps):
        super().__init__(maps[0].weights.shape[1], len(maps[-1].bias))
        self._folded = dense_network(*maps)

    def forward(self, features):
        raise NotImplementedError

    def folded(self):
        return self._folded


class Side:
    """One student's keys and one teacher's evaluator under one plan."""

    def __init__(self, backend="rns", **spec):
        facts = {"features": FEATURES, "classes": CLASSES, "samples": SAMPLES, "hidden": 0, "q": 8}
        self.plan = plan = plan_exchange(ExchangeSpec(**{"bounds": BOUNDS, **facts, **spec}))
        engine = get_backend(backend)
        self.keys = engine.generate_keys(
            plan.params,
            relinearization=plan.relinearization_limbs,
            galois=plan.galois_limbs,
            element=plan.galois_element,
        )
        self.evaluator = engine.evaluator(plan.params, self.keys.public)
        self.basis = steps.public_basis(plan, b"limits")

    def released(self, features, model):
        """What the student opens."""
        plan = self.plan
        upload = steps.encrypt(self.keys.encryptor, plan.features, steps.pack(plan, features))
        blocks = steps.receive(self.evaluator, plan.features, upload, plan.blocks)
        inputs = Inputs(blocks, [], self.basis.signs, self.basis.coefficients)
        answer = steps.infer(self.evaluator, plan, steps.compile_model(plan, model), inputs)
        return steps.open_answer(self.keys.decryptor, plan, self.basis, answer)


@cache
def sides(hidden, release):
    return tuple(Side(backend, hidden=hidden, release=release) for backend in ("rns", "clear"))


# -- several blocks ------------------------------------------------------------------------------


@pytest.mark.parametrize("blocks", [1, 4])
def test_errors_over_what_a_logit_contributes_are_as_stated(blocks):
    """Noise in coefficients, in units of what a logit's range makes there: `evaluation.errors`."""
    rng, classes = np.random.default_rng(0), 6
    facts = {"samples": 2048 * blocks, "classes": classes, "q": 64}
    encrypted, clear = (Side(backend, **facts) for backend in ("rns", "clear"))
    plan = encrypted.plan
    assert (plan.blocks, plan.params.ring_degree) == (blocks, 4096)
    features = rng.uniform(-1, 1, (plan.spec.samples, FEATURES))
    weights = rng.choice([-2.0, 2.0], (classes, FEATURES))
    model = Fixed(DenseMap(weights, np.zeros(classes)))
    exact = clear.released(features, model)
    noise = encrypted.released(features, model) - exact
    assert np.abs(noise).max() <= plan.error_bound + plan.grid / 2

    rows = public_rows(
        4096, encrypted.basis.coefficients, plan.spec.samples, encrypted.basis.signs.astype(float)
    )
    contributed = np.linalg.norm(rows[1:], axis=1).mean()  # by logits of deviation 1, to each
    off = noise.std() / contributed / (2 * BOUNDS.logit)
    stated = plan.relative_error / rules.TAIL * GRID_ROUNDING
    assert off == pytest.approx(stated, rel=0.15)  # 384 numbers tell a deviation to 4 %


# -- at the limits -------------------------------------------------------------------------------


corner = st.sampled_from([1.0, -1.0, np.nextafter(1.0, 0.0), np.nextafter(-1.0, 0.0), 0.0])
values = arrays(np.float64, (SAMPLES, FEATURES), elements=corner | st.floats(-1.0, 1.0))


@st.composite
def rows(draw):
    """Weights at a limit or one unit inside it, with the bias that brings logits to theirs."""
    row = np.array(draw(st.sampled_from(ROWS)))[draw(st.permutations(range(FEATURES)))]
    row = np.maximum(row - draw(st.sampled_from([0.0, UNIT])), 0.0)
    bias = (BOUNDS.logit - row.sum()) * draw(st.sampled_from([1.0, -1.0, 1 - 2.0**-40, 0.0]))
    signs = draw(arrays(np.float64, FEATURES, elements=st.sampled_from([1.0, -1.0])))
    return row * signs, bias


@pytest.mark.parametrize("release", ["logits", "projection"])
@settings(max_examples=examples(25))
@given(drawn=st.lists(rows(), min_size=CLASSES, max_size=CLASSES), features=values)
def test_a_linear_head_at_its_limits_stays_within_the_stated_error(release, drawn, features):
    weights, bias = (np.array(part) for part in zip(*drawn, strict=True))
    features[:CLASSES] = np.where(weights < 0, -1.0, 1.0)  # a corner where |logit| is largest
    features[CLASSES : 2 * CLASSES] = -features[:CLASSES]
    assert_as_stated(sides(0, release), features, Fixed(DenseMap(weights, bias)))


@pytest.mark.parametrize("release", ["logits", "projection"])
@settings(max_examples=examples(6))
@given(
    signs=arrays(np.float64, (2, FEATURES), elements=st.sampled_from([1.0, -1.0])),
    output=st.sampled_from([3.0, -3.0, 3.0 - UNIT]),
    features=values,
)
def test_a_quadratic_head_at_its_limits_stays_within_the_stated_error(
    release, signs, output, features
):
    """At their corners hidden values are 2, as large as rows of norm 1 make them; logits are 12."""
    features[:2], features[2:4] = signs, -signs
    hidden = DenseMap(signs / 2, np.array([0.5, 0.5]))
    last = DenseMap(np.array([[output, 0.0], [0.0, -output]]), np.zeros(CLASSES))
    assert_as_stated(sides(2, release), features, Fixed(hidden, last))


def assert_as_stated(pair, features, model):
    encrypted, clear = pair
    plan = encrypted.plan
    assert np.abs(steps.compile_model(plan, model).logits(features)).max() <= BOUNDS.logit
    error = np.abs(encrypted.released(features, model) - clear.released(features, model)).max()
    assert error <= plan.error_bound + plan.grid / 2  # opened values are rounded to the grid


# -- beyond them ---------------------------------------------------------------------------------


INSIDE = np.zeros((SAMPLES, FEATURES))


@pytest.mark.parametrize(
    ("bounds", "sample", "name"),
    [
        (BOUNDS, [1 + 1e-6, 0, 0], "feature"),
        (BOUNDS, [0, -1 - 1e-6, 0], "feature"),
        (HeadBounds(feature_norm=1.0), [0.6, 0.8 + 1e-6, 0], "feature_norm"),
    ],
    ids=str,
)
def test_features_beyond_their_bounds_are_refused_by_their_owner(bounds, sample, name):
    plan = plan_exchange(
        ExchangeSpec(features=FEATURES, classes=2, samples=SAMPLES, q=8, bounds=bounds)
    )
    features = INSIDE.copy()
    features[7] = sample
    with pytest.raises(DataError, match="exceed the agreed bound") as error:
        steps.pack(plan, features)
    assert error.value.where == name
    features[7] = np.array(sample) - np.sign(sample) * 1e-6
    steps.pack(plan, features)


@pytest.mark.parametrize(
    ("row", "bounds", "words"),
    [
        ([4.0 + UNIT, 0.0, 0.0], BOUNDS, "quantised weight"),
        ([4.0, 2.0, UNIT], BOUNDS, "l1 norm"),
        ([4.0, 1.5, 0.0], HeadBounds(output_weight=4.0, output_l1=6.0, output_l2=4.25), "l2 norm"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_weights_beyond_their_bounds_are_refused_by_their_owner(row, bounds, words):
    side = Side("clear", bounds=bounds)
    weights = np.array([[0.0] * FEATURES, row])
    with pytest.raises(ModelError, match=words):
        side.released(INSIDE, Fixed(DenseMap(weights, np.zeros(CLASSES))))
    weights[1] = np.maximum(np.abs(weights[1]) - 2 * UNIT, 0)
    if words == "l2 norm":
        weights[1, 1] = 1.25
    side.released(INSIDE, Fixed(DenseMap(weights, np.zeros(CLASSES))))


def test_logits_beyond_their_bound_are_refused_when_they_are_opened():
    """Their mean is released; a bias is the one part of a model that no norm bounds."""
    encrypted, _ = sides(0, "projection")
    (meta,) = encrypted.plan.released
    room = rules.coefficient_error(meta)
    for beyond, refused in ((0.0, False), (2.1 * room, True), (-2.1 * room, False)):
        model = Fixed(DenseMap(np.zeros((2, 3)), np.array([0.0, BOUNDS.logit + beyond])))
        if refused:
            with pytest.raises(EncryptionError, match="out of range"):
                encrypted.released(INSIDE, model)
        else:
            opened = encrypted.released(INSIDE, model)
            assert abs(opened[0, 1] - BOUNDS.logit - beyond) <= room * 9 / 8
