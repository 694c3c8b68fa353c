"""The library call with whole networks: pixels in, released numbers out."""

import msgspec
import numpy as np
import pytest
import torch
from torch import nn

from securefair.circuit.network import Chunk
from securefair.circuit.spec import ExchangeSpec, HeadBounds
from securefair.data import Samples
from securefair.errors import DataError, EncryptionError, ModelError, PlanError
from securefair.exchange.compile import bounds_by_shape
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.model.heads import build_head
from securefair.model.networks import NetworkHead, Quadratic, fold, he_network
from securefair.model.optimizer import OptimizerConfig
from securefair.model.training import TrainState, distil_steps

COUNT = 30


def network(seed, squares=1):
    torch.manual_seed(seed)
    between = [nn.Linear(8, 4), Quadratic(4)] if squares == 2 else []
    return he_network(
        nn.Sequential(
            nn.Conv2d(1, 2, 3, padding=1),
            Quadratic(2),
            nn.AvgPool2d(2),
            nn.Flatten(),
            *between,
            nn.Linear(4 if squares == 2 else 8, 2),
        ),
        (1, 4, 4),
    )


def model_of(samples, seed=0, squares=1):
    return NetworkHead(network(seed, squares), 2, samples.features)


@pytest.fixture
def samples():
    rng = np.random.default_rng(3)
    return Samples(rng.uniform(0, 1, (COUNT, 16)), rng.integers(0, 2, COUNT), classes=2)


def spec_of(*, squares=1, **changes):
    layer_bounds = bounds_by_shape(fold(network(0, squares)), weight_bits=12)
    return ExchangeSpec(
        **{
            "features": 16,
            "hidden": 0,
            "classes": 2,
            "samples": COUNT,
            "release": "logits",
            "q": 8,
            "bounds": HeadBounds(logit=layer_bounds[-1].bound),
            "network": layer_bounds,
            **changes,
        }
    )


# SEAL's two squares are in the tests of circuits.
@pytest.mark.parametrize(("backend", "squares"), [("rns", 1), ("rns", 2), ("seal", 1)])
def test_a_student_learns_the_logits_of_a_network(samples, backend, squares):
    student = Student(spec_of(squares=squares), backend=backend)
    model = model_of(samples, squares=squares)
    found = student.open(
        Teacher(model, student.plan.spec, backend=backend).answer(student.request(samples))
    )
    compiled_error = 2.0**-6  # 12-bit weights of a network of this size
    expected = model.logits(samples.features)
    assert np.abs(found.logits - expected).max() <= student.plan.error_bound + compiled_error


def test_a_model_with_two_hidden_layers_trains_and_answers():
    """What `hidden = (6, 4)` would mean for a head: dense maps with squares between them."""
    torch.manual_seed(0)
    layers = nn.Sequential(
        nn.Linear(8, 6), Quadratic(6), nn.Linear(6, 4), Quadratic(4), nn.Linear(4, 2)
    )
    rng = np.random.default_rng(5)
    features = rng.uniform(-1, 1, (COUNT, 8))
    samples = Samples(features, (features[:, 0] * features[:, 1] > 0).astype(np.int64), classes=2)
    model = NetworkHead(he_network(layers, (8,)), 2, features)
    before = model.logits(features)
    distil_steps(TrainState.start(model, OptimizerConfig()), samples, [], 20, temperature=5.0)
    after = model.logits(features)
    assert np.abs(after - before).max() > 0.01
    layer_bounds = bounds_by_shape(model.folded(), weight_bits=12)
    spec = ExchangeSpec(
        features=8,
        hidden=0,
        classes=2,
        samples=COUNT,
        release="logits",
        bounds=HeadBounds(logit=layer_bounds[-1].bound),
        network=layer_bounds,
    )
    student = Student(spec)
    found = student.open(Teacher(model, student.plan.spec).answer(student.request(samples)))
    assert len(student.plan.specs) == 3
    assert np.abs(found.logits - after).max() <= student.plan.error_bound + 2.0**-6


@pytest.mark.slow
def test_several_blocks_travel_one_after_the_other():
    """Their bounds are those of one block; here of a dense network on four pixels."""
    torch.manual_seed(0)
    layers = he_network(
        nn.Sequential(nn.Flatten(), nn.Linear(4, 2), Quadratic(2), nn.Linear(2, 2)), (1, 2, 2)
    )
    x = np.random.default_rng(3).uniform(0, 1, (5000, 4))
    many = Samples(x, np.arange(5000) % 2, classes=2)
    bounds = bounds_by_shape(fold(layers), weight_bits=12)
    spec = spec_of(
        release="projection",
        features=4,
        samples=5000,
        bounds=HeadBounds(logit=bounds[-1].bound),
        network=bounds,
    )
    model, opened = NetworkHead(layers, 2, x), []
    for backend in ("rns", "clear"):
        student = Student(spec, backend=backend)
        assert student.plan.blocks == 2
        answer = Teacher(model, spec, backend=backend).answer(student.request(many))
        opened.append(student.open(answer).released)
    assert np.abs(opened[0] - opened[1]).max() <= student.plan.error_bound


def test_features_stay_as_they_were_sent_until_they_are_read(samples):
    student = Student(spec_of())
    features, basis = student.encrypt_features(samples)
    upload = Teacher(model_of(samples), student.plan.spec).receive(
        student.plan.spec, b"", student.public_keys, features, basis
    )
    assert all(isinstance(chunk, Chunk) for block in upload.features for chunk in block)


def test_an_upload_that_cannot_be_used_is_refused_when_it_arrives(samples):
    """Not in every answer to it, after most of the work."""
    student = Student(spec_of())
    teacher = Teacher(model_of(samples), student.plan.spec)
    features, basis = student.encrypt_features(samples)
    damaged = bytearray(features)
    last = len(features) // 16 * 15  # the record of the last pixel
    damaged[last : last + 4] = b"\xff" * 4  # no residue of any prime
    for bad, kind, problem in (
        (bytes(damaged), EncryptionError, "below its prime"),
        (features[:-1], DataError, "divide"),
        (features[: len(features) // 2], EncryptionError, "wrong length"),
        (b"", EncryptionError, "wrong length"),
    ):
        with pytest.raises(kind, match=problem):
            teacher.receive(student.plan.spec, b"", student.public_keys, bad, basis)


def test_a_network_that_outgrew_its_bounds_does_not_answer(samples):
    student = Student(spec_of())
    model = model_of(samples)
    with torch.no_grad():
        model.network.layers[-1].weight.fill_(1e4)
    with pytest.raises(ModelError):
        Teacher(model, student.plan.spec).answer(student.request(samples))


@pytest.mark.parametrize(("bias", "answers"), [(100.0, True), (200.0, False)])
def test_a_network_whose_logits_outgrew_their_bound_does_not_answer(samples, bias, answers):
    """No weight shows it, and the modulus has no room for much more than the bound of 128."""
    student, model = Student(spec_of(), backend="clear"), model_of(samples)
    with torch.no_grad():
        model.network.layers[-1].bias[0] = bias
    teacher = Teacher(model, student.plan.spec, backend="clear")
    request = student.request(samples)
    if answers:
        found = student.open(teacher.answer(request)).logits
        assert found[:, 0] == pytest.approx(bias, abs=10)
        return
    with pytest.raises(ModelError) as refused:
        teacher.answer(request)
    assert f"{COUNT} of {COUNT} samples" in str(refused.value.__cause__)  # to its owner
    assert str(COUNT) not in str(refused.value)  # which may travel


def test_heads_and_networks_do_not_stand_for_each_other(samples):
    student = Student(spec_of())
    request = student.request(samples)
    with pytest.raises(ModelError) as refused:
        Teacher(build_head("linear", 16, 0, 2, 0), student.plan.spec).answer(request)
    assert "a network was planned" in str(refused.value.__cause__)
    plain = Student(msgspec.structs.replace(spec_of(), network=(), bounds=HeadBounds()))
    with pytest.raises(ModelError) as refused:
        Teacher(model_of(samples), plain.plan.spec).answer(plain.request(samples))
    assert "a head was planned" in str(refused.value.__cause__)


def test_a_network_answers_nothing_that_was_not_agreed(samples):
    """Bounds of a stranger's choice would tell how many of its owner's samples exceed them."""
    with pytest.raises(PlanError, match="only what was agreed"):
        Teacher(model_of(samples))


def test_bounds_depend_on_the_architecture_alone():
    first, other = (bounds_by_shape(fold(network(seed)), weight_bits=12) for seed in (0, 1))
    assert first == other
    assert [bounds.log2_scale for bounds in first] == [10, 7]
    for bounds in first:  # the largest weight that is admitted fits the bits
        assert bounds.max_integer == 1 << 12
