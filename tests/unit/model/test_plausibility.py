"""What is plausible: smooth functions of the features, at any size; and how answers are cut."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import chdtri

from securefair.data.dataset import Samples
from securefair.errors import ConfigError, ModelError
from securefair.model import plausibility
from securefair.model.kernel import EXACT_SAMPLES, SampleKernel
from securefair.model.plausibility import IMPLAUSIBLE, SIZES, Clip, SmoothPrior


def people(n=60, d=6, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, d))
    return Samples(x, rng.integers(0, 2, n), 2)


def functions(samples, seed):
    """A linear and a quadratic function of the features, (n, 2) each."""
    rng = np.random.default_rng(seed)
    x = samples.features
    square = x @ rng.normal(size=(x.shape[1], 4))
    for f in (x @ rng.normal(size=x.shape[1]), (square**2) @ rng.normal(size=4)):
        yield np.column_stack([-f, f])


@pytest.mark.parametrize("projected", [False, True])
def test_functions_of_the_features_are_plausible_at_any_size(projected):
    samples = people()
    rows = np.random.default_rng(1).normal(size=(40, 60)) if projected else None
    prior = SmoothPrior(samples, rows, 1e-4)
    for seed in range(10):
        for logits in functions(samples, seed):
            released = logits if rows is None else rows @ logits
            assert prior.log_ratio(released) > 0
            assert prior.log_ratio(64 * released) > 0


@pytest.mark.parametrize("projected", [False, True])
def test_unrelated_numbers_and_single_patients_are_not(projected):
    samples = people()
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(40, 60)) if projected else np.eye(60)
    prior = SmoothPrior(samples, rows if projected else None, 1e-4)
    one = np.zeros((60, 2))
    one[7] = [-1.0, 1.0]
    assert prior.log_ratio(rows @ one) < IMPLAUSIBLE
    assert prior.log_ratio(rng.normal(size=(len(rows), 2))) < IMPLAUSIBLE


@pytest.mark.parametrize(("n", "q"), [(60, 40), (30, 30), (12, 30)])
def test_the_ratio_is_that_of_normal_densities(n, q):
    """Written down anew: with the covariances themselves, nothing decomposed."""
    samples, rng, noise = people(n), np.random.default_rng(3), 0.1
    rows = rng.normal(size=(q, n))
    released = rows @ next(functions(samples, 0)) + noise * rng.normal(size=(q, 2))
    spread = np.sum(rows**2) / min(n, q)
    ways = [rows @ SampleKernel(samples).product(rows.T), rows @ rows.T, spread * np.eye(q)]

    def likeliest(covariance, numbers):
        def density(size):
            total = size**2 * covariance + (noise**2 + 1e-12 * spread) * np.eye(q)
            distance = numbers @ np.linalg.solve(total, numbers)
            return -(np.linalg.slogdet(total)[1] + distance) / 2

        return max(map(density, SIZES))

    smooth, *others = [[likeliest(way, column) for column in released.T] for way in ways]
    expected = np.mean(np.array(smooth) - np.max(others, axis=0))
    found = SmoothPrior(samples, rows, noise).log_ratio(released)
    assert found == pytest.approx(expected, rel=1e-6)


def test_logits_themselves_are_the_numbers_of_unit_rows():
    samples = people()
    logits = next(functions(samples, 0))
    found, expected = (SmoothPrior(samples, rows, 1e-4) for rows in (None, np.eye(60)))
    assert found.log_ratio(logits) == pytest.approx(expected.log_ratio(logits))


def test_nothing_at_all_is_not_refused():
    assert SmoothPrior(people(), None, 1e-4).log_ratio(np.zeros((60, 2))) > IMPLAUSIBLE


def test_thousands_of_logits_are_not_tested():
    with pytest.raises(ModelError, match="not tested"):
        SmoothPrior(people(EXACT_SAMPLES + 1, 1), None)


logits = arrays(np.float64, (5, 3), elements=st.floats(-1e4, 1e4))


@given(logits, st.floats(0.1, 50), st.floats(0.1, 50))
def test_a_cut_answer_is_within_both_bounds_and_keeps_means_and_signs(z, sample, answer):
    cut = Clip(sample=sample, answer=answer).applied(z)
    before = z - z.mean(axis=1, keepdims=True)
    after = cut - cut.mean(axis=1, keepdims=True)
    scale = 1e-9 * max(1.0, float(np.abs(z).max()))
    assert np.abs(after).max() <= sample + scale
    assert np.sqrt((after**2).mean()) <= answer + scale
    assert cut.mean(axis=1) == pytest.approx(z.mean(axis=1), abs=scale)
    assert (after * before >= -scale * np.abs(before)).all()


def test_what_is_within_the_bounds_stays_as_it_is():
    z = np.random.default_rng(0).normal(size=(20, 3))
    assert (Clip().applied(z) == z).all()


@pytest.mark.parametrize("bad", [{"sample": 0.0}, {"answer": -1.0}, {"sample": float("nan")}])
def test_bounds_that_leave_nothing_are_refused(bad):
    with pytest.raises(ConfigError):
        Clip(**bad)


def test_draws_from_the_prior_are_hardly_ever_refused():
    samples = people(30)
    rng = np.random.default_rng(2)
    for q in (2, 4, 16, 30):
        rows = rng.normal(size=(q, 30))
        prior = SmoothPrior(samples, rows, 1e-4)
        kernel = SampleKernel(samples)
        factor = np.linalg.cholesky(kernel.product(np.eye(30)))
        drawn = rows @ (factor @ rng.normal(size=(30, 500)))
        ratios = [prior.log_ratio(column[:, None]) for column in drawn.T]
        assert min(ratios) > IMPLAUSIBLE


@pytest.mark.parametrize("free", [1, 2, 3, 9, 10])
@pytest.mark.parametrize("share", [0.1, 1e-3, 1e-6])
def test_what_chance_exceeds_is_as_a_library_has_it(free, share):
    assert plausibility._exceeded_by(share, free) == pytest.approx(float(chdtri(free, share)))
