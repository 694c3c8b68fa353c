import numpy as np
import pytest
from sklearn import metrics as reference

from securefair.data.dataset import Samples
from securefair.model.outcomes.interface import Frame
from securefair.model.outcomes.number import LEAST_SCALE, OUTCOME
from securefair.model.outcomes.pictures import Shown
from securefair.model.stored import from_bytes, own_part_of, to_bytes
from securefair.model.transfer import own_fit, weighted_sum, without_peers


def of(values):
    y = np.asarray(values, dtype=float)
    return Samples(
        np.zeros((len(y), 0)), (y > 0).astype(np.int64), 2, outcome="number", values=y[:, None]
    )


def test_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, f = rng.normal(size=50), rng.normal(size=50)
    scores = OUTCOME.point_scores(np.column_stack([f, np.full(50, 0.5)]), of(y))
    assert scores["r2"] == pytest.approx(reference.r2_score(y, f))
    assert scores["mean_absolute_error"] == pytest.approx(reference.mean_absolute_error(y, f))
    assert scores["coverage"] == np.mean(np.abs(y - f) <= 1.959964 * 0.5)


def test_what_cannot_be_negative_has_no_negative_range():
    said = np.array([[-0.95, 0.2], [0.0, 0.2]])
    stay = OUTCOME.told(said, Frame((), {}, (0.0, 20.0)))
    assert (stay["low_95"][0], stay["expected"][0]) == (0.0, pytest.approx(0.5))
    assert stay["low_95"][1] == pytest.approx(10 - 1.959964 * 2)
    assert OUTCOME.told(said, Frame((), {}, (-20.0, 20.0)))["low_95"][0] < -20


def test_the_share_within_its_range_is_of_so_many_patients():
    """So it has an interval where everybody is inside, and draws of patients have none."""
    assert OUTCOME.shares(of(np.arange(10))) == {"coverage": 10}


def test_values_that_do_not_vary_have_no_r2_and_no_certainty():
    same = of([0.2, 0.2, 0.2])
    said = OUTCOME.said(np.full((3, 1), 0.2), OUTCOME.own_part(np.full((3, 1), 0.2), same))
    assert said[0].tolist() == [0.2, LEAST_SCALE]
    assert OUTCOME.point_scores(said, same)["r2"] is None
    assert np.isfinite(OUTCOME.losses(np.full((3, 1), 0.2), same)).all()


def test_how_sure_a_fit_is_follows_from_patients_that_it_did_not_see():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (25, 12))
    y = 0.3 * x[:, 0] + rng.normal(0, 0.2, 25)
    samples = Samples(x, (y > 0).astype(np.int64), 2, outcome="number", values=y[:, None])
    own = own_fit(samples, rng=np.random.default_rng(1))
    seen = np.sqrt(OUTCOME.squares(own.model.logits(x), samples))
    for model in (own.model, own.averaged, without_peers(own).model):
        assert model.spread > 1.1 * seen
        assert own_part_of(model, samples) == {"scale": [model.spread]}
        kept = from_bytes(to_bytes(model), where="here")
        assert kept.spread == model.spread
        assert model.widened(2).spread == model.spread
    held_out = own.validated.held_out[own.best]
    assert own.model.spread == np.sqrt(OUTCOME.squares(held_out, samples))
    plain = weighted_sum([0.5, 0.5], [own.model, own.averaged])
    assert plain.spread is None
    assert own_part_of(plain, samples) == OUTCOME.own_part(plain.logits(x), samples)


def test_pictures_are_in_the_unit_of_the_number():
    rng = np.random.default_rng(0)
    f = rng.uniform(-0.8, 0.8, 400)
    numbers = 100 + 50 * (f + rng.normal(0, 0.2, 400))
    known = OUTCOME.known(numbers[:, None], (50.0, 150.0))
    samples = Samples(
        np.zeros((400, 0)), known.labels, known.classes, outcome="number", values=known.values
    )
    own = {"scale": [0.2]}
    mean, errors = OUTCOME.pictures([Shown(OUTCOME.said(f[:, None], own), own, samples)])
    (dots,) = mean.series
    assert mean.alike
    assert len(dots.x) == 10
    assert sum(dots.patients) == 400
    np.testing.assert_allclose(np.array(dots.x), np.array(dots.y), atol=8)
    assert 60 < min(dots.x) < 75
    assert mean.x_ticks[0] <= min(dots.low)
    assert max(dots.high) <= mean.x_ticks[-1]
    seen, normal = errors.series
    assert sum(seen.y) == pytest.approx(1, abs=1e-3)
    np.testing.assert_allclose(seen.y, normal.y, atol=0.06)
    assert errors.behind
    few = Shown(OUTCOME.said(f[:4, None], own), own, samples.take(np.arange(4)))
    assert OUTCOME.pictures([few]) == []


def test_what_a_difference_is_a_share_of_does_not_depend_on_the_unit():
    """A density has another logarithm in another unit: that of a difference of two has not."""
    assert OUTCOME.level("log_likelihood", -3.6) == OUTCOME.level("log_likelihood", -0.6) == 1
    assert OUTCOME.level("mean_absolute_error", 4.0) == 4
