"""Intervals of coefficients against what a known world allows."""

from dataclasses import replace

import numpy as np
import pytest

import securefair.model.transfer.estimates as estimates
from securefair.data.dataset import Samples
from securefair.model.transfer import (
    intervals,
    linear_estimates,
    transfer,
    transfer_each,
    without_peers,
)
from securefair.model.transfer.penalised import fit
from unit.model.transfer.fits import fitted


def estimated(samples, found, seed=0, draws=60):
    return linear_estimates(samples, found.families, np.random.default_rng(seed), draws)


def numbers(count, seed, noise=0.5):
    """Least squares, whose standard errors are known."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (count, 3))
    values = x @ np.array([0.8, -0.4, 0.0]) + rng.normal(0, noise, count)
    labels = (values > 0).astype(np.int64)
    return Samples(x, labels, 2, outcome="number", values=values[:, None])


def test_the_spread_of_draws_is_the_standard_error():
    samples = numbers(400, 1)
    found = estimated(samples, without_peers(fitted(samples)), draws=400)
    x = np.column_stack([samples.features, np.ones(400)])
    errors = 0.5 * np.sqrt(np.diag(np.linalg.inv(x.T @ x)))[:3]
    np.testing.assert_allclose(found.alone[1:, 0].std(axis=0), errors, rtol=0.25)
    np.testing.assert_array_equal(found.alone, found.together)
    assert np.abs(found.alone[0, 0] - [0.8, -0.4, 0.0]).max() < 4 * errors.max()


def test_the_estimate_is_that_of_the_deployed_model_where_it_is_linear(draw):
    samples, teacher = draw(0, 30), fitted(draw(1, 300))
    own = fitted(samples)
    own = replace(own, families=own.families[:1])  # without leaves
    for found in (
        transfer(own, teacher.model.logits(samples.features)),
        transfer_each(own, {"t": teacher.model.logits(samples.features)}),
    ):
        together = estimated(samples, found)
        np.testing.assert_allclose(together.together[0], found.model.linear, atol=1e-9)
        assert together.weight == pytest.approx(1)
        alone = without_peers(own).model.linear
        np.testing.assert_allclose(together.alone[0], alone, atol=1e-9)


def test_what_peers_said_makes_few_patients_surer(draw):
    samples, teacher = draw(0, 25), fitted(draw(1, 500))
    found = estimated(samples, transfer(fitted(samples), teacher.model.logits(samples.features)))
    spread = [one[1:].std(axis=0).mean() for one in (found.together, found.alone)]
    assert spread[0] < spread[1]
    assert 0 < found.weight < 1  # leaves of trees have a part


def test_draws_are_the_minimisers_however_near_a_fit_begins(draw, monkeypatch):
    """Each setting begins where the one before it ended."""
    samples, teacher = draw(0, 40), fitted(draw(1, 300))
    found = transfer(fitted(samples), teacher.model.logits(samples.features))
    near = estimated(samples, found)

    def exactly(*problem, tolerance):
        *problem, _ = problem  # begins at zeros
        return fit(*problem)

    monkeypatch.setattr(estimates, "fit", exactly)
    exact = estimated(samples, found)
    for some, all_steps in ((near.alone, exact.alone), (near.together, exact.together)):
        spread = all_steps[1:].std(axis=0)
        assert np.abs(some - all_steps).max() < 0.01 * spread.mean()


def test_rows_of_one_patient_are_drawn_together():
    rows = np.repeat(np.arange(30), 4)
    samples = numbers(30, 2).take(rows)
    named = replace(samples, patients=rows)
    alike, apart = (
        estimated(one, without_peers(fitted(one)), draws=100).alone[1:].std(axis=0).mean()
        for one in (named, samples)
    )
    assert alike > 1.5 * apart


def test_intervals_hold_what_their_level_says():
    drawn = np.concatenate([[0.0], np.linspace(-1, 1, 1001)])
    np.testing.assert_allclose(intervals(drawn), [[-0.9, 0.9], [-0.95, 0.95]], atol=1e-9)


def test_quadratic_fits_have_none(draw):
    samples = draw(0, 30)
    assert estimated(samples, without_peers(fitted(samples, 2))) is None


def test_coefficients_never_print(draw):
    samples = draw(0, 30)
    assert "redacted" in repr(estimated(samples, without_peers(fitted(samples)), draws=2))
