import numpy as np
import pytest
from sklearn import metrics as reference

from securefair.data.dataset import Samples
from securefair.model.outcomes.count import OUTCOME
from securefair.model.outcomes.pictures import Shown


def of(counts, exposures):
    values = np.column_stack([counts, exposures]).astype(float)
    strata = (values[:, 0] > 0).astype(np.int64)
    return Samples(np.zeros((len(values), 0)), strata, 2, outcome="count", values=values)


def test_the_deviance_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, rates = rng.poisson(1.5, 60), rng.uniform(0.2, 3, 60)
    scores = OUTCOME.point_scores(rates[:, None], of(y, np.ones(60)))
    assert scores["deviance"] == pytest.approx(reference.mean_poisson_deviance(y, rates))
    assert scores["explained_deviance"] == pytest.approx(
        reference.d2_tweedie_score(y, rates, power=1)
    )


def test_twice_the_exposure_is_half_the_rate():
    y = np.array([0, 2, 5])
    once = OUTCOME.losses(np.log([[0.5], [2.0], [4.0]]), of(y, [1, 1, 1]))
    twice = OUTCOME.losses(np.log([[0.25], [1.0], [2.0]]), of(y, [2, 2, 2]))
    np.testing.assert_allclose(once, twice)


def test_where_nothing_happened_nothing_is_explained():
    nothing = of([0, 0], [1, 2])
    scores = OUTCOME.point_scores(np.array([[0.5], [0.5]]), nothing)
    assert scores["explained_deviance"] is None
    assert scores["deviance"] == pytest.approx(2 * 0.75)


def test_pictures_count_patients_beside_what_was_expected():
    rng = np.random.default_rng(0)
    rates, exposures = rng.uniform(0.2, 3, 500), rng.uniform(0.5, 2, 500)
    counts = rng.poisson(rates * exposures)
    mean, bars = OUTCOME.pictures([Shown(rates[:, None], {}, of(counts, exposures))])
    (dots,) = mean.series
    assert mean.x_ticks[0] == 0
    np.testing.assert_allclose(dots.x, dots.y, atol=0.8)
    seen, expected = bars.series
    assert seen.x == expected.x == bars.x_ticks
    assert sum(seen.y) == pytest.approx(1, abs=1e-3)
    assert sum(expected.y) == pytest.approx(1, abs=1e-3)
    assert seen.y[0] == pytest.approx((counts == 0).mean(), abs=1e-4)
    np.testing.assert_allclose(seen.y, expected.y, atol=0.05)
