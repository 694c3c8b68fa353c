import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize

from securefair.data.dataset import Samples
from securefair.model.outcomes import outcome_of
from securefair.model.outcomes.columns import Columns
from securefair.model.probabilities import log_losses as losses
from securefair.model.probabilities import probabilities_of as probabilities
from securefair.model.transfer import penalised


def fit(columns, labels, offsets, *others):
    width = offsets.shape[-1]
    samples = Samples(np.empty((len(labels), 0)), labels, 2 if width == 1 else width)
    return penalised.fit(columns, outcome_of(samples).likelihood(samples), offsets, *others)


def problem(seed, samples, width, own, shared):
    """Columns, labels and an offset; and the dense design (n, L, P) that the columns stand for."""
    rng = np.random.default_rng(seed)
    classes = 2 if width == 1 else width
    columns = Columns(rng.normal(size=(samples, own)), rng.normal(size=(samples, width, shared)))
    blocks = np.einsum("np,lk->nlkp", columns.own, np.eye(width)).reshape(samples, width, -1)
    return (
        columns,
        np.concatenate([blocks, columns.shared], axis=-1),
        rng.integers(0, classes, samples),
        rng.normal(0, 2, (samples, width)),
    )


def test_one_intercept_by_hand():
    # three of four patients ill, no offset: 4 (p - 3/4) + 0.05 b = 0
    columns = Columns(np.ones((4, 1)), np.empty((4, 1, 0)))
    labels = np.array([1, 1, 1, 0])
    theta = fit(columns, labels, np.zeros((1, 4, 1)), np.full((1, 1), 0.05), np.ones((1, 4)))
    expected = brentq(lambda b: 4 / (1 + np.exp(-b)) - 3 + 0.05 * b, 0, 3)
    assert theta[0, 0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32),
    samples=st.integers(1, 12),
    width=st.sampled_from([1, 3, 4]),
    own=st.integers(0, 3),
    shared=st.integers(0, 3),
    penalty=st.floats(0.05, 100),
)
def test_finds_the_minimum_that_scipy_finds(seed, samples, width, own, shared, penalty):
    columns, design, labels, offset = problem(seed, samples, width, own, shared)
    parameters = design.shape[-1]
    assume(parameters > 0)
    counts = np.random.default_rng(seed).integers(0, 3, samples).astype(float)

    def objective(theta):
        logits = offset + design @ theta
        return (counts * losses(logits, labels)).sum() + penalty * (theta**2).sum() / 2

    found = fit(columns, labels, offset[None], np.full((1, parameters), penalty), counts[None])[0]
    reference = minimize(objective, np.zeros(parameters), method="BFGS", options={"gtol": 1e-9})
    assert objective(found) <= reference.fun + 1e-9 * (1 + reference.fun)
    np.testing.assert_allclose(found, reference.x, atol=2e-3)


@pytest.mark.parametrize(("width", "own", "shared"), [(1, 40, 2), (3, 12, 3)])
def test_many_coefficients_are_found_as_few_are(width, own, shared, monkeypatch):
    columns, _, labels, offset = problem(4, 50, width, own, shared)
    others = np.full((2, columns.parameters), 0.3), np.ones((2, 50))
    offsets = np.stack([offset, 0 * offset])
    assert columns.parameters >= penalised._FEW
    found = fit(columns, labels, offsets, *others)
    monkeypatch.setattr(penalised, "_FEW", 1000)
    np.testing.assert_allclose(found, fit(columns, labels, offsets, *others), atol=1e-9)


def test_a_step_is_found_where_rounding_made_a_curvature_negative():
    hessian = np.diag([1.0] * 29 + [-1e-17])
    gradient = np.ones(30)
    (step,) = penalised._solved(hessian[None], gradient[None])
    np.testing.assert_array_equal(step, np.linalg.solve(hessian, gradient))


@pytest.mark.parametrize("width", [1, 3])
def test_many_problems_are_each_solved_as_alone(width):
    columns, _, labels, offset = problem(3, 15, width, 1, 4 - width)
    offsets = np.stack([offset, 0.5 * offset, 0 * offset])
    penalties = np.array([[0.3] * 4, [3.0] * 4, [0.05, 1, 10, 1e4]])
    counts = np.stack([np.ones(15), np.arange(15) % 2, np.zeros(15)]).astype(float)
    together = fit(columns, labels, offsets, penalties, counts)
    for s in range(3):
        one = slice(s, s + 1)
        alone = fit(columns, labels, offsets[one], penalties[one], counts[one])
        np.testing.assert_allclose(together[s], alone[0], atol=1e-7)
    assert not together[2].any()  # without patients the penalty alone decides


def test_separable_patients_and_huge_offsets_stay_finite():
    columns = Columns(np.array([[-1.0], [1.0]]), np.empty((2, 1, 0)))
    labels = np.array([0, 1])
    offsets = np.array([[[0.0], [0.0]], [[800.0], [-800.0]]])
    theta = fit(columns, labels, offsets, np.full((2, 1), 1e-3), np.ones((2, 2)))
    assert np.isfinite(theta).all()
    assert theta[1, 0] > theta[0, 0] > 0


@given(st.lists(st.floats(-900, 900), min_size=3, max_size=3), st.integers(0, 2))
def test_losses_are_minus_the_log_of_the_probability(logits, label):
    row = np.array([logits])
    assert losses(row, np.array([label])) >= 0
    p = probabilities(row)
    assert p.sum() == pytest.approx(1)
    if p[0, label] > 1e-300:
        assert losses(row, np.array([label]))[0] == pytest.approx(-np.log(p[0, label]), abs=1e-9)


def test_one_logit_is_the_difference_of_two():
    difference = np.array([[0.7], [-3.0]])
    both = np.concatenate([np.zeros((2, 1)), difference], axis=1)
    labels = np.array([1, 0])
    np.testing.assert_allclose(losses(difference, labels), losses(both, labels))
    np.testing.assert_allclose(probabilities(difference), probabilities(both))
