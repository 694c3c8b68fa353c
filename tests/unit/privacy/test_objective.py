"""The noise of objective perturbation against other ways to compute it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from securefair.privacy.objective import (
    LEAST_PENALTY,
    delta_of,
    objective_noise,
    penalty_of,
    steepest_slope,
)
from support.examples import examples


def gaussian_delta(ratio: float, epsilon: float) -> float:
    """Hockey-stick divergence of N(0, 1) from N(ratio, 1) at e^epsilon."""
    up, down = ratio / 2 - epsilon / ratio, -ratio / 2 - epsilon / ratio
    return float(norm.cdf(up) - math.exp(epsilon) * norm.cdf(down))


@pytest.mark.parametrize(("epsilon", "ratio", "curvature"), [(2.0, 0.6, 0.1), (0.5, 0.2, 0.0)])
def test_two_classes_cost_twice_a_gaussian(epsilon: float, ratio: float, curvature: float) -> None:
    # Redberg, Koskela, Wang 2023, Theorem 3.1, where epsilon - c >= mu^2 / 2
    expected = 2 * gaussian_delta(ratio, epsilon - curvature)
    found = delta_of(epsilon, ratio=ratio, degrees=1, curvature=curvature)
    assert found == pytest.approx(expected, rel=1e-6)


@settings(max_examples=examples(25))
@given(
    epsilon=st.floats(0.1, 8),
    ratio=st.floats(0.05, 3),
    degrees=st.integers(1, 12),
    curvature=st.floats(0, 2),
)
def test_delta_against_samples(
    epsilon: float, ratio: float, degrees: int, curvature: float
) -> None:
    rng = np.random.default_rng(0)
    chi = np.sqrt(rng.chisquare(degrees, 200_000))
    loss = curvature + ratio**2 / 2 + ratio * chi
    sampled = np.maximum(0, -np.expm1(epsilon - loss))
    found = delta_of(epsilon, ratio=ratio, degrees=degrees, curvature=curvature)
    assert abs(found - sampled.mean()) <= 6 * sampled.std() / math.sqrt(len(chi)) + 2e-4


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 8.0, 64.0])
@pytest.mark.parametrize(("classes", "rows"), [(2, 1), (3, 1), (2, 4), (10, 2)])
def test_noise_meets_the_target_and_hardly_more(epsilon: float, classes: int, rows: int) -> None:
    delta, row_norm = 1e-3, 1.5
    plan = objective_noise(epsilon, delta, row_norm=row_norm, classes=classes, rows=rows)
    degrees = rows * (classes - 1)
    curvature = degrees * math.log1p(row_norm**2 / (classes * rows * plan.penalty))

    def delta_with(scale: float) -> float:
        ratio = math.sqrt(2) * steepest_slope(classes) * row_norm / scale
        return delta_of(epsilon, ratio=ratio, degrees=degrees, curvature=curvature)

    assert delta_with(plan.scale) <= delta
    assert delta_with(0.98 * plan.scale) > delta


@pytest.mark.parametrize("degrees", [1, 2, 10, 200, 1000, 1600, 2000, 9000, 99_000])
def test_delta_grows_with_the_ratio_to_1_for_any_number_of_rows(degrees: int) -> None:
    ratios = [1e-3, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0]
    found = [delta_of(2.0, ratio=ratio, degrees=degrees, curvature=0.2) for ratio in ratios]
    assert found == sorted(found)
    assert found[-1] == pytest.approx(1.0, abs=1e-9)
    assert delta_of(64.0, ratio=30.0, degrees=degrees, curvature=0.0) > 0.99


@pytest.mark.parametrize("rows", [700, 800, 1000])
def test_many_rows_need_noise_that_hides_them(rows: int) -> None:
    """chi of 2 * 1000 degrees lies near 45, where the noise was once not looked for."""
    plan = objective_noise(2.0, 1e-4, row_norm=1.0, classes=3, rows=rows)
    few = objective_noise(2.0, 1e-4, row_norm=1.0, classes=3, rows=100)
    assert plan.scale > few.scale
    curvature = 2 * rows * math.log1p(1 / (3 * rows * plan.penalty))
    ratio = math.sqrt(2) / plan.scale
    loss = curvature + ratio**2 / 2
    chi = np.sqrt(np.random.default_rng(0).chisquare(2 * rows, 400_000))
    assert np.maximum(0, -np.expm1(2.0 - loss - ratio * chi)).mean() < 2e-4


def test_the_jacobian_bound_holds() -> None:
    """log det(H + patient) - log det(H) for random patients is at most c."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        classes, rows, d = rng.integers(2, 5), rng.integers(1, 4), 6
        penalty, row_norm = rng.uniform(0.3, 3), 1.3
        hessian = penalty * np.eye(classes * d)
        patient = np.zeros_like(hessian)
        for _ in range(rows):
            x = rng.normal(size=d)
            x *= row_norm / np.linalg.norm(x)
            p = rng.dirichlet(np.ones(classes))
            patient += np.kron(np.diag(p) - np.outer(p, p), np.outer(x, x)) / rows
        found = np.linalg.slogdet(hessian + patient)[1] - np.linalg.slogdet(hessian)[1]
        bound = rows * (classes - 1) * math.log1p(row_norm**2 / (classes * rows * penalty))
        assert found <= bound + 1e-12


def test_the_penalty_is_a_function_of_public_numbers_and_falls_with_epsilon() -> None:
    penalties = [penalty_of(e, row_norm=1.5, classes=2, rows=1) for e in (0.5, 1.0, 4.0, 64.0)]
    assert penalties == sorted(penalties, reverse=True)
    assert penalties[-1] == penalty_of(8.0, row_norm=1.5, classes=2, rows=1)  # falls no further
    assert penalty_of(64.0, row_norm=0.5, classes=2, rows=1) == LEAST_PENALTY
