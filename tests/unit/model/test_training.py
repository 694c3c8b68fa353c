import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from securefair.data.dataset import Samples
from securefair.errors import ConfigError, DataError, ModelError
from securefair.model.heads import build_head
from securefair.model.training import (
    OptimizerConfig,
    TeacherAnswer,
    TrainState,
    distil_steps,
    evaluate,
    train_epochs,
)
from support.divergence import exact_kl


def blobs(seed=0, samples=60):
    """Two classes that a line separates."""
    rng = np.random.default_rng(seed)
    labels = np.arange(samples) % 2
    features = rng.normal(size=(samples, 3)) + 2.0 * (2 * labels[:, None] - 1)
    return Samples(features, labels, 2)


def train_state(seed=0, **settings):
    return TrainState.start(build_head("quadratic", 3, 6, 2, seed), OptimizerConfig(**settings))


def as_torch_has_it(train_state):
    """torch's own optimiser of the same model."""
    of = train_state.optimizer
    return torch.optim.SGD(
        train_state.model.parameters(),
        lr=of.learning_rate,
        momentum=of.momentum,
        weight_decay=of.weight_decay,
    )


def parameters(train_state):
    return torch.cat([p.detach().reshape(-1) for p in train_state.model.parameters()]).numpy()


def test_training_learns_a_separable_problem():
    subject, samples = train_state(), blobs()
    before = evaluate(subject.model, samples)
    train_epochs(subject, samples, 40)
    after = evaluate(subject.model, samples)
    assert after.accuracy >= 0.9
    assert after.cross_entropy < before.cross_entropy / 3


@pytest.mark.parametrize("batch_size", [None, 16])
def test_equal_seeds_give_equal_parameters(batch_size):
    first, again = train_state(), train_state()
    for subject in (first, again):
        train_epochs(subject, blobs(), 3, batch_size=batch_size, seed=5)
    assert (parameters(first) == parameters(again)).all()


def test_mini_batches_depend_on_the_seed_and_see_every_sample():
    first, other = train_state(), train_state()
    train_epochs(first, blobs(), 1, batch_size=16, seed=1)
    train_epochs(other, blobs(), 1, batch_size=16, seed=2)
    assert (parameters(first) != parameters(other)).any()
    # One batch that holds everything is a full batch in another order.
    full, shuffled = train_state(), train_state()
    train_epochs(full, blobs(), 2)
    train_epochs(shuffled, blobs(), 2, batch_size=1000, seed=3)
    np.testing.assert_allclose(parameters(shuffled), parameters(full), atol=1e-12)


def test_one_step_is_the_documented_update():
    settings = {"learning_rate": 0.1, "momentum": 0.5, "weight_decay": 0.01, "clip_norm": 0.2}
    subject, samples = train_state(**settings), blobs()
    expected, velocity = parameters(subject), 0.0
    for _ in range(2):
        twin = train_state()
        with torch.no_grad():
            torch.nn.utils.vector_to_parameters(torch.from_numpy(expected), twin.model.parameters())
        loss = cross_entropy(
            twin.model(torch.tensor(samples.features)), torch.tensor(samples.labels)
        )
        gradient = torch.cat(
            [g.reshape(-1) for g in torch.autograd.grad(loss, list(twin.model.parameters()))]
        ).numpy()
        assert np.linalg.norm(gradient) > 0.2
        gradient *= 0.2 / np.linalg.norm(gradient)
        velocity = 0.5 * velocity + gradient + 0.01 * expected
        expected = expected - 0.1 * velocity
    train_epochs(subject, samples, 2)
    np.testing.assert_allclose(parameters(subject), expected, atol=1e-7)


def test_distillation_equals_descent_on_the_sum_of_exact_losses():
    samples, rng = blobs(), np.random.default_rng(1)
    answers = [TeacherAnswer(rng.normal(0, 4, (60, 2)), weight) for weight in (0.3, 7.0, 0.0)]
    subject, reference = train_state(), train_state()
    torchs = as_torch_has_it(reference)
    distil_steps(subject, samples, answers, 5, temperature=5.0)
    x, y = torch.tensor(samples.features), torch.tensor(samples.labels)
    for _ in range(5):
        logits = reference.model(x)
        loss = cross_entropy(logits, y)
        for answer in answers:
            loss = (
                loss + answer.weight * exact_kl(logits, torch.from_numpy(answer.logits), 5.0).mean()
            )
        torchs.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(reference.model.parameters(), 5.0)
        torchs.step()
    np.testing.assert_allclose(parameters(subject), parameters(reference), atol=1e-10)


def test_without_answers_distillation_is_plain_training():
    alone, unheard = train_state(), train_state()
    train_epochs(alone, blobs(), 5)
    distil_steps(unheard, blobs(), [], 5, temperature=5.0)
    assert (parameters(alone) == parameters(unheard)).all()


def test_a_heavy_teacher_is_imitated():
    samples = blobs()
    teacher = np.where(samples.labels[:, None] == [0, 1], -6.0, 6.0)  # always wrong
    subject = train_state()
    distil_steps(subject, samples, [TeacherAnswer(teacher, 50.0)], 60, temperature=5.0)
    assert evaluate(subject.model, samples).accuracy < 0.1


def test_a_copy_goes_its_own_way_with_the_same_momentum():
    subject, samples = train_state(), blobs()
    train_epochs(subject, samples, 3)
    copied, before = subject.copy(), parameters(subject)
    train_epochs(copied, samples, 3)
    assert (parameters(subject) == before).all()
    train_epochs(subject, samples, 3)
    assert (parameters(subject) == parameters(copied)).all()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"momentum": 0.0},
        {"weight_decay": 0.0},
        {"clip_norm": None},
        {"clip_norm": 0.01, "weight_decay": 0.1},
    ],
)
def test_steps_are_those_of_torch_and_heads_pay_no_penalty_to_the_last_bit(settings):
    samples, subject, bare = blobs(), train_state(**settings), train_state(**settings)
    torchs, clip_norm = as_torch_has_it(bare), bare.optimizer.clip_norm
    x, y = torch.tensor(samples.features), torch.tensor(samples.labels)
    for _ in range(20):
        torchs.zero_grad()
        cross_entropy(bare.model(x), y).backward()
        if clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(bare.model.parameters(), clip_norm)
        torchs.step()
    train_epochs(subject, samples, 20)
    assert parameters(subject).tobytes() == parameters(bare).tobytes()


def test_divergence_is_an_error_with_a_hint():
    with pytest.raises(ModelError, match=r"diverged.*Lower the learning rate"):
        train_epochs(train_state(learning_rate=1e6, clip_norm=None), blobs(), 50)


def test_evaluation_by_hand_and_without_samples():
    head = build_head("linear", 1, 1, 2, 0)
    with torch.no_grad():
        head.output_weights.copy_(torch.tensor([[0.0], [1.0]]))
        head.output_bias.zero_()
    samples = Samples(np.array([[1.0], [-1.0], [2.0]]), np.array([1, 1, 1]), 2)
    result = evaluate(head, samples)
    assert result.accuracy == pytest.approx(2 / 3)
    assert result.cross_entropy == pytest.approx(np.mean(np.log1p(np.exp([-1.0, 1.0, -2.0]))))
    with pytest.raises(DataError, match="nothing to evaluate"):
        evaluate(head, samples.take(np.array([], dtype=np.int64)))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learning_rate", 0.0),
        ("learning_rate", float("nan")),
        ("momentum", 1.0),
        ("weight_decay", -1e-3),
        ("clip_norm", 0.0),
    ],
)
def test_optimisers_that_cannot_work_are_refused_by_name(name, value):
    with pytest.raises(ConfigError) as error:
        OptimizerConfig(**{name: value})
    assert error.value.where == name
