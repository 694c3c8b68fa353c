"""Circuits on openfhe: the planned error bounds hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import securefair as sf
from securefair.circuit.answer import Inputs, answer
from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks import rules
from securefair.ckks.backends.clear import ClearBackend
from securefair.ckks.backends.openfhe import OpenfheBackend
from securefair.ckks.layers import AffineLayer
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.security import MAX_LOG_QP
from support.examples import examples
from unit.ckks.backends.openfhe.ring import PARAMS, VALUES, uploaded

RELEASES = {
    "loss": {"release": "loss"},
    "class_sums": {"release": "class_sums"},
    "public projection": {"release": "projection"},
    "student projection": {"release": "projection", "basis": "student"},
    "logits": {"release": "logits"},
}


class Exchange:
    """A plan, and random inputs and weights that it allows."""

    def __init__(self, seed, **spec):
        rng = np.random.default_rng(seed)
        self.plan = plan = plan_exchange(ExchangeSpec(**spec))
        slots = (plan.blocks, plan.params.slots)
        self.features = rng.uniform(-1, 1, (slots[0], spec["features"], slots[1]))
        self.layers = [self._layer(rng, spec) for spec in plan.specs]
        count = plan.factors.count if plan.factors else 0
        self.factors = rng.dirichlet(np.ones(count + 1), slots).swapaxes(1, 2)[:, :count]
        self.signs = np.where(rng.random(plan.blocks) < 0.5, -1, 1)
        self.coefficients = rng.choice(slots[1], plan.spec.q, replace=False)

    @staticmethod
    def _layer(rng, spec):
        """Rows of norm up to 1, which bounds every output by the planner's own."""
        weights = rng.normal(size=(spec.outputs, spec.inputs))
        weights /= 1.1 * np.linalg.norm(weights, axis=1, keepdims=True)
        integers = np.round(weights * 2.0**spec.log2_scale).astype(np.int64)
        return AffineLayer(integers, rng.uniform(-0.3, 0.3, spec.outputs))

    def run(self, backend, *, flood=True):
        """Everything that the student opens, one array."""
        plan = self.plan
        keys = backend.generate_keys(
            plan.params,
            relinearization=plan.relinearization_limbs,
            galois=plan.galois_limbs,
        )
        evaluator = backend.evaluator(plan.params, keys.public)
        if not flood:
            evaluator._sanitize = lambda x, _: x.payload

        def upload(blocks, meta):
            encrypt = keys.encryptor.encrypt
            return [evaluator.load(encrypt(block, meta), meta) for block in blocks]

        inputs = Inputs(
            upload(self.features, plan.features),
            upload(self.factors, plan.factors) if plan.factors else [],
            self.signs,
            self.coefficients,
        )
        released = answer(evaluator, plan.spec, plan.schedule, plan.specs, self.layers, inputs)
        for part, meta in zip(released, plan.released, strict=True):
            assert part.meta == meta
        opened = np.concatenate([keys.decryptor.open(part) for part in released], axis=1)
        return opened * (plan.params.slots if plan.spec.multiplies else 1)


@given(
    release=st.sampled_from(sorted(RELEASES)),
    hidden=st.integers(0, 3),
    features=st.integers(1, 4),
    classes=st.integers(2, 3),
    seed=st.integers(0, 1000),
    flood=st.booleans(),
)
@settings(max_examples=examples(6))
def test_random_circuits_agree_with_clear_within_the_planned_bound(
    backend, release, hidden, features, classes, seed, flood
):
    facts = {"features": features, "classes": classes, "samples": 300, "hidden": hidden, "q": 4}
    exchange = Exchange(seed, **facts, **RELEASES[release])
    exact = exchange.run(ClearBackend())
    error = np.abs(exchange.run(backend, flood=flood) - exact)
    assert error.max() <= exchange.plan.error_bound
    if not flood:  # the circuit itself is the same, far below any bound
        assert error.max() <= 2.0**-35 * np.abs(exact).max()
    elif error.size >= 8:  # noise of the planned size was added: one number may be near zero
        assert error.max() >= exchange.plan.noise_std / 20


@pytest.mark.parametrize("release", ["public projection", "logits"])
def test_several_blocks_are_combined_or_kept_apart(backend, release):
    facts = {"features": 2, "classes": 2, "samples": 5000, "hidden": 0, "q": 4}
    exchange = Exchange(3, **facts, **RELEASES[release])
    assert exchange.plan.blocks > 1
    error = np.abs(exchange.run(backend) - exchange.run(ClearBackend()))
    assert error.max() <= exchange.plan.error_bound


def test_without_flooding_the_circuit_itself_is_exact_to_far_below_any_bound(keys, evaluator):
    product = evaluator.relinearize(evaluator.square(uploaded(keys, evaluator)))
    opened = keys.decryptor.open(evaluator.extract(product, None))
    assert np.abs(opened - VALUES**2).max() < 2.0**-40


def test_the_library_calls_take_it_by_name():
    rng = np.random.default_rng(4)
    samples = sf.Samples(rng.uniform(-1, 1, (40, 3)), rng.integers(0, 2, 40), 2)
    head = sf.build_head("quadratic", 3, 2, 2, seed=1)
    spec = sf.ExchangeSpec(features=3, classes=2, samples=40, hidden=2, release="logits")
    student = sf.Student(spec, backend="openfhe")
    teacher = sf.Teacher(head, spec, backend="openfhe")
    answered = teacher.answer(student.request(samples))
    expected = head.logits(samples.features)
    # Rounding the weights to 12 bits adds to the planned error.
    atol = student.plan.error_bound + 0.02
    np.testing.assert_allclose(student.open(answered).logits, expected, atol=atol)


@pytest.mark.parametrize(("products", "ring"), [(1, 8192), (3, 16384), (5, 16384)])
def test_its_own_parameters_are_within_the_caps_that_we_use(products, ring):
    backend = OpenfheBackend(products=products)
    keys = backend.generate_keys(PARAMS, relinearization=PARAMS.limbs)
    held = backend.evaluator(PARAMS, keys.public).keys
    assert held.ring_degree == ring
    # No special primes: the modulus of the ciphertexts is that of the keys.
    assert 60 * (products + 2) - 10 < held.log_q <= MAX_LOG_QP[ring]


def test_more_slots_than_its_ring_would_have_make_it_grow(backend):
    params = CkksParameters(CkksSpec(ring_degree=32768, limb_bits=(31,), special_bits=31))
    keys = backend.generate_keys(params)
    assert backend.evaluator(params, keys.public).keys.ring_degree == 32768
    meta = rules.fresh(params, count=1, limbs=1, log2_scale=20.0, bound=1.0)
    values = np.random.default_rng(1).uniform(-1, 1, (1, params.slots))
    upload = keys.encryptor.encrypt(values, meta)
    evaluator = backend.evaluator(params, keys.public)
    opened = keys.decryptor.open(evaluator.extract(evaluator.load(upload, meta), None))
    np.testing.assert_allclose(opened, values, atol=1e-9)
