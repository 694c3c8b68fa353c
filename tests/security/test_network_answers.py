"""Answers of whole networks tell the released numbers, and nothing of weights in their noise."""

import numpy as np
import pytest
import torch
from torch import nn

from securefair.circuit.spec import ExchangeSpec, HeadBounds
from securefair.ckks import rules
from securefair.ckks.backends.planning import PlanningEvaluator
from securefair.ckks.evaluator import Released
from securefair.ckks.noise import rounding
from securefair.data import Samples
from securefair.exchange import steps
from securefair.exchange.binding import BOUND_BYTES
from securefair.exchange.compile import bound_logits, bounds_by_shape
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.model.networks import NetworkHead, Quadratic, fold, he_network

COUNT = 50
FLOODING_BITS = 30


def network(seed):
    torch.manual_seed(seed)
    layers = nn.Sequential(
        nn.Conv2d(1, 2, 3),
        Quadratic(2),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(2, 3),
        Quadratic(3),
        nn.Linear(3, 2),
    )
    return he_network(layers, (1, 4, 4))


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    return Samples(rng.uniform(0, 1, (COUNT, 16)), rng.integers(0, 2, COUNT), classes=2)


@pytest.fixture(scope="module")
def student(samples):
    layer_bounds = bounds_by_shape(fold(network(0)), weight_bits=10)
    spec = ExchangeSpec(
        features=16,
        hidden=0,
        classes=2,
        samples=COUNT,
        release="logits",
        precision=2.0**-7,
        flooding_bits=FLOODING_BITS,
        bounds=HeadBounds(logit=layer_bounds[-1].bound),
        network=layer_bounds,
    )
    return Student(spec)


def noise_of(student, samples, model):
    """Every slot of an answer as decrypted, less what the network computes there."""
    plan = student.plan
    answer = Teacher(model, plan.spec).answer(student.request(samples))
    opened = student._keys.decryptor.open(Released(plan.released[0], None, answer[BOUND_BYTES:]))
    exact = steps.compile_model(plan, model).logits(samples.features)
    return opened - exact.T[:, np.arange(plan.params.slots) % COUNT]


def test_the_noise_of_an_answer_is_that_of_the_flooding_whatever_the_weights(student, samples):
    """Also of a network whose weights are all zero: its own evaluation has next to no noise."""
    meta = student.plan.released[0]
    # A slot's real part sums N coefficients under cosines, whose squares are 1/2 on average.
    slots = np.sqrt(student.plan.params.ring_degree / 2) * 2.0**-meta.log2_scale
    expected = meta.flood / np.sqrt(3) * slots
    nothing = network(1)
    with torch.no_grad():
        for layer in nothing.layers:
            if isinstance(layer, nn.Conv2d | nn.Linear):
                layer.weight.zero_()
    for untrained in (network(2), nothing):
        noise = noise_of(student, samples, NetworkHead(untrained, 2, samples.features))
        assert noise.std() == pytest.approx(expected, rel=0.05)
        assert np.abs(noise).max() <= student.plan.error_bound


def test_flooding_hides_the_noise_of_the_whole_circuit(student):
    """Key switches and rescalings inside the network are part of what is hidden."""
    plan = student.plan
    seen = []

    class Watching(PlanningEvaluator):
        def sanitize(self, x, flooding_bits):
            seen.append((x.meta, flooding_bits))
            return super().sanitize(x, flooding_bits)

    watching = Watching(plan.params)
    inputs = steps.Inputs(
        features=[watching.load(b"", plan.features)],
        factors=[],
        signs=np.ones(1, dtype=np.int64),
        coefficients=np.zeros(1, dtype=np.int64),
    )
    maps = (None,) * len(plan.specs)
    steps.answer(watching, plan.spec, plan.schedule, plan.specs, maps, inputs)
    ((meta, bits),) = seen
    assert bits == FLOODING_BITS
    assert 2.0 ** rules.flooding(meta, bits) >= 2.0**FLOODING_BITS * rules.TAIL * meta.noise
    # At least the rounding of one division is in it: the circuit's noise is not understated.
    assert meta.noise >= rounding(plan.params.ring_degree, 2)


def test_two_answers_to_one_question_share_no_mask(student, samples):
    request = student.request(samples)
    model = NetworkHead(network(2), 2, samples.features)
    teacher = Teacher(model, student.plan.spec, max_numbers=np.inf)
    first, second = (np.frombuffer(teacher.answer(request), "<u4") for _ in range(2))
    assert np.mean(first == second) < 1e-3


def test_a_student_may_ask_beyond_the_bounds_and_gets_the_function(student, samples):
    """A known weakness: what one place holds is no more than 2/N of a coefficient, so few places
    may hold far more than was agreed. The ledger counts these numbers like others."""
    plan, model = student.plan, NetworkHead(network(2), 2, samples.features)
    features = samples.features.copy()
    features[5] *= 100.0
    slots = features[np.arange(plan.params.slots) % COUNT]
    slots[COUNT:] = 0.0
    upload = steps.encrypt(student._keys.encryptor, plan.features, slots.T[None])
    teacher = Teacher(model, plan.spec)
    answer = teacher.evaluate(teacher.receive(plan.spec, b"", student.public_keys, upload, b""))
    compiled = steps.compile_model(plan, model)
    exact, beyond = bound_logits(
        compiled.quantized.network, plan.spec.network, features.reshape(-1, 1, 4, 4)
    )
    assert np.flatnonzero(beyond).tolist() == [5]
    assert np.abs(student.open_evaluated(answer).logits - exact).max() <= plan.error_bound
    assert np.abs(exact[5] - exact[4]).max() > 10 * plan.error_bound
