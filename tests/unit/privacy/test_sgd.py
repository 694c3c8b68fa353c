"""DP-SGD by patient: sums, clipping, sampling, noise, and the end of the budget."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from scipy import stats
from torch.nn.functional import cross_entropy

from securefair.data.dataset import Samples
from securefair.errors import ConfigError, DataError, ModelError
from securefair.model.building import build_model
from securefair.model.heads import Head, build_head
from securefair.privacy.accounting import SampledGaussian, spent
from securefair.privacy.guarantees import PrivacyTarget
from securefair.privacy.patients import Patients
from securefair.privacy.randomness import SeededNoise
from securefair.privacy.sgd import PrivateTraining, SgdSettings

TARGET = PrivacyTarget(epsilon=2.0, delta=1e-2)
WHOLE = SgdSettings(steps=5, rate=1.0, learning_rate=0.3, momentum=0.0)


class NoNoise(SeededNoise):
    def gaussian_around(
        self, values: np.ndarray, scale: float, *, coarse: bool = False
    ) -> np.ndarray:
        return super().gaussian_around(values, 0.0 * scale, coarse=coarse)


def drawn_samples(n: int = 12, d: int = 3, classes: int = 2, seed: int = 0) -> Samples:
    rng = np.random.default_rng(seed)
    return Samples(rng.uniform(-1, 1, (n, d)), rng.integers(0, classes, n), classes)


def flat(model: Head) -> np.ndarray:
    return np.concatenate([p.detach().numpy().ravel() for p in model.parameters()])


def training(
    model: Head,
    samples: Samples,
    *,
    noise: SeededNoise | None = None,
    settings: SgdSettings = WHOLE,
    patients: Patients | None = None,
    target: PrivacyTarget = TARGET,
) -> PrivateTraining:
    return PrivateTraining(
        model,
        samples,
        patients or Patients.one_row_each(len(samples)),
        target,
        noise or SeededNoise(0),
        settings,
    )


@pytest.mark.parametrize("kind", ["linear", "quadratic", "network"])
def test_without_noise_a_step_is_the_mean_of_clipped_gradients_by_patient(kind: str) -> None:
    samples = drawn_samples(d=64, classes=3)
    model = build_model(kind, samples, hidden=4, network="digits-8", seed=1, range_penalty=0.0)
    names = [str(i // 2) for i in range(12)]  # six patients with two rows each
    expected = flat(model)
    total = np.zeros_like(expected)
    for patient in range(6):
        other = copy.deepcopy(model)
        rows = samples.take(np.array([2 * patient, 2 * patient + 1]))
        loss = cross_entropy(other(torch.tensor(rows.features)), torch.tensor(rows.labels))
        loss.backward()
        gradient = np.concatenate([p.grad.numpy().ravel() for p in other.parameters()])
        total += gradient * min(1.0, 0.2 / (np.linalg.norm(gradient) + 1e-6))
    expected -= 0.3 * total / 6
    settings = SgdSettings(steps=1, rate=1.0, clip_norm=0.2, learning_rate=0.3, momentum=0.0)
    trained = training(
        model,
        samples,
        noise=NoNoise(0),
        settings=settings,
        patients=Patients.named(names),
        target=PrivacyTarget(epsilon=2.0, delta=1e-2, rows_per_patient=2),
    )
    assert trained.advance(1) == 1
    np.testing.assert_allclose(flat(model), expected, atol=1e-12)


@pytest.mark.slow
def test_the_noise_of_a_step_is_as_accounted_and_not_30_percent_off() -> None:
    samples = drawn_samples()
    moves = []
    for seed in range(30):
        model = build_head("quadratic", 3, 4, 2, 0)
        quiet = copy.deepcopy(model)
        noisy = training(model, samples, noise=SeededNoise(seed))
        noisy.advance(1)
        training(quiet, samples, noise=NoNoise(0)).advance(1)
        moves.append(flat(model) - flat(quiet))
    scale = 0.3 * noisy.noise_multiplier * WHOLE.clip_norm / 12
    drawn = np.concatenate(moves) / scale
    low, high = stats.chi2.ppf([1e-6, 1 - 1e-6], len(drawn))
    assert low < (drawn**2).sum() < high
    assert not low < 1.3**2 * (drawn**2).sum() < high
    assert not low < 0.7**2 * (drawn**2).sum() < high


class Released(SeededNoise):
    """Gives out chosen numbers, whatever they stand for, and keeps what it was given."""

    def __init__(self) -> None:
        super().__init__(0)
        self.given: list[tuple[np.ndarray, float, bool]] = []

    def gaussian_around(
        self, values: np.ndarray, scale: float, *, coarse: bool = False
    ) -> np.ndarray:
        self.given.append((values, scale, coarse))
        return np.full(values.shape, 0.375)


def test_a_step_uses_nothing_but_what_the_noise_source_released() -> None:
    """Noise that is added as floats to an exact sum leaves the sum's low bits to be read."""
    source = Released()
    model = build_head("quadratic", 3, 4, 2, 0)
    before = flat(model)
    settings = SgdSettings(steps=1, rate=1.0, clip_norm=0.5, learning_rate=0.25, momentum=0.0)
    private = training(model, drawn_samples(n=16), noise=source, settings=settings)
    private.advance(1)
    np.testing.assert_array_equal(flat(model), before - 0.25 * (0.5 * 0.375 / 16))
    given = np.concatenate([values.ravel() for values, _, _ in source.given])
    assert 0 < np.linalg.norm(given) <= 16  # in units of the clipping norm
    assert {(scale, coarse) for _, scale, coarse in source.given} == {
        (private.noise_multiplier, True)
    }


def test_a_step_without_patients_is_noise() -> None:
    model = build_head("linear", 3, 0, 2, 0)
    before = flat(model)
    settings = SgdSettings(steps=3, rate=1e-9, learning_rate=0.3)
    quiet = copy.deepcopy(model)
    training(quiet, drawn_samples(), noise=NoNoise(0), settings=settings).advance(2)
    np.testing.assert_array_equal(flat(quiet), before)
    training(model, drawn_samples(), settings=settings).advance(2)
    assert not np.array_equal(flat(model), before)


@pytest.mark.slow
def test_the_budget_is_spent_step_by_step_and_then_training_stops() -> None:
    model = build_head("linear", 3, 0, 2, 0)
    settings = SgdSettings(steps=8, rate=0.5)
    private = training(model, drawn_samples(), settings=settings)
    assert private.spent == 0.0
    costs = []
    for _ in range(4):
        assert private.advance(2) == 2
        costs.append(private.spent)
    assert costs == sorted(costs)
    assert 1.9 < costs[-1] <= TARGET.epsilon
    mechanism = SampledGaussian(noise_multiplier=private.noise_multiplier, rate=0.5, steps=8)
    assert costs[-1] == spent((mechanism,), TARGET.delta)
    last = flat(model)
    assert private.advance(5) == 0
    np.testing.assert_array_equal(flat(model), last)
    assert private.guarantee.epsilon == costs[-1]
    assert private.guarantee.mechanism == "DP-SGD"


@pytest.mark.slow
def test_it_learns() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (800, 2))
    samples = Samples(x, (x[:, 0] > 0).astype(np.int64), 2)
    model = build_head("linear", 2, 0, 2, 0)
    target = PrivacyTarget(epsilon=2.0, delta=1e-4)
    training(model, samples, settings=SgdSettings(steps=60), target=target).advance(60)
    assert (model.logits(x).argmax(axis=1) == samples.labels).mean() > 0.9


def test_nothing_of_opacus_stays_in_the_model() -> None:
    model = build_head("linear", 3, 0, 2, 0)
    training(model, drawn_samples()).advance(1)
    assert not any(hasattr(parameter, "grad_sample") for parameter in model.parameters())
    assert not model._forward_hooks
    assert not model._backward_hooks
    copy.deepcopy(model)


def test_delta_is_compared_with_patients_not_rows() -> None:
    model = build_head("linear", 3, 0, 2, 0)
    target = PrivacyTarget(epsilon=1.0, delta=0.1)
    training(model, drawn_samples(), target=PrivacyTarget(epsilon=1.0, delta=0.05))
    with pytest.raises(ConfigError, match="1 / patients"):
        training(model, drawn_samples(), target=target)
    # Twelve rows of six patients: 0.1 is below 1/6.
    training(model, drawn_samples(), patients=Patients.named(list("aabbccddeeff")), target=target)


@pytest.mark.parametrize(
    "wrong",
    [{"steps": 0}, {"rate": 0.0}, {"rate": 1.5}, {"clip_norm": 0.0}, {"momentum": 1.0}],
)
def test_settings_out_of_range(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        SgdSettings(**wrong)  # type: ignore[arg-type]


def test_features_and_gradients_that_no_clipping_bounds_are_refused() -> None:
    samples = drawn_samples()
    samples.features[3, 2] = np.nan
    with pytest.raises(DataError, match="row 3, feature 2"):
        training(build_head("linear", 3, 0, 2, 0), samples)
    huge = drawn_samples()
    huge.features[3, 2] = 1e300
    private = training(build_head("quadratic", 3, 4, 2, 0), huge)
    with pytest.raises(ModelError, match="gradient"):
        private.advance(1)
