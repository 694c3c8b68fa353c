"""Private softmax regression: its noise, its units, and what it learns."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from securefair.data.dataset import Samples
from securefair.errors import ConfigError, ModelError
from securefair.privacy.convex import CERTIFICATE, INTERCEPT, planned_noise, private_fit
from securefair.privacy.guarantees import PrivacyTarget
from securefair.privacy.patients import Patients
from securefair.privacy.randomness import NoiseSource, SeededNoise, SystemNoise

TARGET = PrivacyTarget(epsilon=2.0, delta=1e-3)


class NoNoise(SeededNoise):
    """Everything but the noise."""

    def gaussian_around(
        self, values: np.ndarray, scale: float, *, coarse: bool = False
    ) -> np.ndarray:
        return super().gaussian_around(values, 0.0 * scale, coarse=coarse)


def drawn_samples(n: int = 300, d: int = 3, classes: int = 2, seed: int = 0) -> Samples:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, d))
    scores = x @ rng.normal(size=(d, classes)) * 3 + rng.gumbel(size=(n, classes))
    return Samples(x, scores.argmax(axis=1), classes)


def coefficients(
    samples: Samples,
    target: PrivacyTarget = TARGET,
    noise: NoiseSource | None = None,
    patients: Patients | None = None,
) -> np.ndarray:
    fit = private_fit(
        samples,
        patients or Patients.one_row_each(len(samples)),
        target,
        noise or SeededNoise(0),
    )
    return np.append(fit.linear.ravel(), fit.constant)


WIDE = PrivacyTarget(epsilon=2.0, delta=1e-3, row_norm=10.0)  # no row is shortened


@pytest.mark.parametrize("classes", [3, 4])
def test_without_noise_it_is_the_penalised_softmax_fit(classes: int) -> None:
    from sklearn.linear_model import LogisticRegression

    samples = drawn_samples(classes=classes)
    fit = private_fit(samples, Patients.one_row_each(300), WIDE, NoNoise(0))
    reference = LogisticRegression(
        C=1 / planned_noise(WIDE, 3, classes).penalty,
        fit_intercept=False,
        tol=1e-12,
        max_iter=10_000,
    ).fit(np.column_stack([samples.features, np.full(300, INTERCEPT)]), samples.labels)
    np.testing.assert_allclose(fit.linear, reference.coef_[:, :-1], atol=1e-5)
    np.testing.assert_allclose(fit.constant, INTERCEPT * reference.coef_[:, -1], atol=1e-5)


def slopes(margins: np.ndarray) -> np.ndarray:
    """Of the two classes' loss: the logistic one's, and 1/2 on the wrong side."""
    return -np.minimum(1 / (1 + np.exp(margins)), 0.5)


def loss(margins: np.ndarray) -> np.ndarray:
    return np.where(margins > 0, np.logaddexp(0, -margins), math.log(2) - margins / 2)


def test_without_noise_two_classes_have_the_loss_that_is_straight_on_the_wrong_side() -> None:
    from scipy.optimize import minimize

    samples = drawn_samples()
    fit = private_fit(samples, Patients.one_row_each(300), WIDE, NoNoise(0))
    # One logit, whose square norm is twice that of two centred ones.
    penalty = planned_noise(WIDE, 3, 2).penalty / 2
    design = np.column_stack([samples.features, np.full(300, INTERCEPT)])
    signed = design * (2 * samples.labels - 1)[:, None]
    reference = minimize(
        lambda w: loss(signed @ w).sum() + penalty / 2 * (w @ w),
        np.zeros(4),
        jac=lambda w: signed.T @ slopes(signed @ w) + penalty * w,
        tol=1e-12,
    ).x
    np.testing.assert_allclose(fit.linear[0], reference[:-1], atol=1e-4)
    np.testing.assert_allclose(fit.constant, INTERCEPT * reference[-1:], atol=1e-4)


@pytest.mark.slow
def test_more_budget_comes_nearer_to_the_fit_without_noise() -> None:
    samples = drawn_samples(n=3000)
    distances = []
    for epsilon in (0.5, 2.0, 32.0):
        target = PrivacyTarget(epsilon=epsilon, delta=1e-4)
        exact = coefficients(samples, target, NoNoise(0))
        noisy = [coefficients(samples, target, SeededNoise(s)) for s in range(10)]
        distances.append(np.mean([np.linalg.norm(w - exact) for w in noisy]))
    assert distances[0] > 1.5 * distances[1] > 3 * distances[2]


def test_the_noise_in_the_objective_is_as_planned_and_not_30_percent_off() -> None:
    """B is minus the gradient of the rest: read it back from what was released."""
    samples = drawn_samples(n=20)
    plan = planned_noise(WIDE, 3, 2)
    signs = 2 * samples.labels - 1
    design = np.column_stack([samples.features, np.full(20, INTERCEPT)])
    read = []
    for seed in range(200):
        w = coefficients(samples, WIDE, SeededNoise(seed))
        w[-1] /= INTERCEPT
        # One logit w = W1 - W0 of two centred ones: gradient in W1 is half the penalty's, and B1.
        gradient = design.T @ (signs * slopes(signs * (design @ w)))
        read.append(-(gradient + plan.penalty * w / 2))
    drawn = np.concatenate(read) / (plan.scale / math.sqrt(2))
    low, high = stats.chi2.ppf([1e-6, 1 - 1e-6], len(drawn))
    assert low < (drawn**2).sum() < high
    assert not low < (1.3 * drawn**2).sum() * 1.3 < high
    assert not low < (0.7 * drawn**2).sum() * 0.7 < high


def test_system_noise_differs_and_seeds_repeat() -> None:
    samples = drawn_samples(n=30)
    assert not np.array_equal(
        coefficients(samples, noise=SystemNoise()), coefficients(samples, noise=SystemNoise())
    )
    np.testing.assert_array_equal(coefficients(samples), coefficients(samples))


def test_rows_of_one_patient_count_as_one() -> None:
    """Ten copies of a row in one patient weigh as much as the row alone."""
    samples = drawn_samples(n=40)
    several = PrivacyTarget(epsilon=2.0, delta=1e-3, rows_per_patient=10)
    rows = np.concatenate([np.zeros(9, dtype=np.int64), np.arange(40)])
    copied = samples.take(rows)
    names = ["first"] * 10 + [str(i) for i in range(1, 40)]
    np.testing.assert_allclose(
        coefficients(copied, several, NoNoise(0), Patients.named(names)),
        coefficients(samples, several, NoNoise(0)),
        atol=1e-4,
    )


def test_more_rows_a_patient_need_more_noise() -> None:
    one, four = (
        planned_noise(PrivacyTarget(epsilon=2.0, delta=1e-3, rows_per_patient=m), 5, 2)
        for m in (1, 4)
    )
    assert four.scale > one.scale


def test_the_noise_does_not_depend_on_the_patients() -> None:
    few, many = (
        private_fit(drawn_samples(n), Patients.one_row_each(n), TARGET, SeededNoise(0)).noise
        for n in (5, 200)
    )
    assert few == many


def test_one_patient_moves_the_exact_fit_no_further_than_the_theory_allows() -> None:
    """The sensitivity R / sqrt(2) lambda of the minimum, with the longest rows there are."""
    samples = drawn_samples(n=30)
    plan = planned_noise(TARGET, 3, 2)
    clip = TARGET.row_norm * math.sqrt(3)
    bound = math.sqrt(0.5) * math.hypot(clip, INTERCEPT) / plan.penalty
    exact = coefficients(samples, noise=NoNoise(0))
    for x in np.vstack([np.eye(3), -np.eye(3)]) * 1e6:
        for label in (0, 1):
            more = Samples(np.vstack([samples.features, x]), np.append(samples.labels, label), 2)
            moved = coefficients(more, noise=NoNoise(0)) - exact
            moved[-1] /= INTERCEPT
            assert np.linalg.norm(moved) / math.sqrt(2) <= bound + 2 * CERTIFICATE


@pytest.mark.parametrize("n", [1, 2])
def test_few_patients_and_one_class(n: int) -> None:
    samples = Samples(np.ones((n, 4)), np.zeros(n, dtype=np.int64), 3)
    fit = private_fit(samples, Patients.one_row_each(n), TARGET, SeededNoise(1))
    assert fit.linear.shape == (3, 4)
    assert np.isfinite(fit.linear).all()
    assert fit.guarantee.epsilon == 2.0
    assert fit.guarantee.mechanism == "objective perturbation"


def test_delta_above_one_over_the_patients_is_refused() -> None:
    with pytest.raises(ConfigError, match="1 / patients"):
        coefficients(drawn_samples(n=20), PrivacyTarget(epsilon=1.0, delta=0.06))


def test_patients_of_another_table_are_refused() -> None:
    with pytest.raises(ModelError, match="a patient for each"):
        coefficients(drawn_samples(n=20), patients=Patients.one_row_each(19))


def test_features_out_of_proportion_are_shortened() -> None:
    samples = drawn_samples(n=50)
    huge = Samples(samples.features * 1e9, samples.labels, 2)
    assert np.isfinite(coefficients(huge)).all()


class Released(NoNoise):
    """Adds nothing to the objective, and releases numbers of its own."""

    def gaussian_around(
        self, values: np.ndarray, scale: float, *, coarse: bool = False
    ) -> np.ndarray:
        if not values.any():  # the linear term
            return super().gaussian_around(values, scale, coarse=coarse)
        return np.arange(values.size, dtype=np.float64).reshape(values.shape)


def test_a_fit_is_what_the_noise_source_released_and_nothing_of_the_minimum() -> None:
    for seed in (0, 1):
        found = coefficients(drawn_samples(seed=seed), noise=Released(0))
        np.testing.assert_array_equal(found, [4.0, 4.0, 4.0, 4.0 * INTERCEPT])
