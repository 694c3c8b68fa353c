"""What every outcome of the register keeps, whatever a predictor means for it."""

from dataclasses import replace

import numpy as np
import pytest

from securefair.data.dataset import Samples, together
from securefair.errors import ConfigError
from securefair.model.outcomes import outcome_named, outcome_of
from securefair.model.outcomes.columns import Columns
from securefair.model.outcomes.register import REGISTERED
from securefair.model.transfer import own_fit, transfer, transfer_each
from securefair.model.transfer.baselines import most_common
from securefair.words import words_of

SLOPES = np.array([1.2, -0.8, 0.4])


@pytest.fixture(params=REGISTERED)
def outcome(request):
    return outcome_named(request.param)


def width_of(outcome):
    """One predictor, or three where an outcome has one for each class."""
    return outcome.outputs(3)


def truth(outcome, features):
    slopes = np.stack([SLOPES * factor for factor in (1.0, -1.0, 0.2)[: width_of(outcome)]])
    return features @ slopes.T


def draw(outcome, count=40, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, (count, 3))
    known = outcome.drawn(truth(outcome, features), rng)
    name = "" if known.values is None else outcome.name
    return Samples(features, known.labels, known.classes, outcome=name, values=known.values)


def columns_of(outcome, samples, teachers=2, seed=1):
    rng = np.random.default_rng(seed)
    own = np.column_stack([samples.features, np.ones(len(samples))])
    return Columns(own, rng.normal(size=(len(samples), width_of(outcome), teachers)))


def test_samples_say_what_is_known_of_them(outcome):
    samples = draw(outcome)
    assert outcome_of(samples) is outcome
    assert outcome.name in REGISTERED
    assert outcome_of(samples.take(np.arange(5))) is outcome
    assert outcome.metric in outcome.scores
    assert outcome.headline in outcome.scores
    assert set(outcome.lower_is_better) < set(outcome.scores)
    assert bool(outcome.effect) == (width_of(outcome) == 1)


def test_models_are_compared_by_its_own_scores_and_a_verdict_has_words_for_each(outcome):
    assert outcome.deciding(None) == outcome.metric
    assert outcome.described_by <= set(outcome.scores) - {outcome.metric}
    for score in set(outcome.scores) - outcome.described_by:
        assert outcome.deciding(score) == score
        assert f"scores.{score}" in words_of().templates
    for other in ("f1", *outcome.described_by):
        with pytest.raises(ConfigError, match=f"expected 'of .*{outcome.metric}"):
            outcome.deciding(other)


def test_no_growth_has_no_effect(outcome):
    nothing, more = outcome.effect_of(np.array([0.0, 0.1]), 2.0)
    assert nothing in (0.0, 1.0)
    assert more > nothing


def test_losses_bend_by_slopes_as_much_as_was_said_at_most(outcome):
    samples = draw(outcome)
    columns, p = columns_of(outcome, samples).own, truth(outcome, samples.features)
    found = outcome.curvatures(columns, p, samples)
    assert found.shape == (4, 4)
    np.testing.assert_allclose(found, found.T, atol=1e-9)
    assert np.linalg.eigvalsh(found).min() >= -1e-9
    if outcome.curvature is not None:  # features lie in [-1, 1]
        assert np.diagonal(found).max() <= outcome.curvature * len(samples)
    twice = replace(samples, weights=np.full(len(samples), 2.0))
    if outcome.curvature is not None and outcome.moves:
        np.testing.assert_allclose(outcome.curvatures(columns, p, twice), 2 * found)


def test_what_is_said_has_a_deviation_of_held_out_patients_or_none(outcome):
    samples = draw(outcome)
    found = outcome.squares(truth(outcome, samples.features), samples)
    assert (found is not None) == outcome.spreads
    assert found is None or found > 0


def test_derivatives_are_those_of_the_total(outcome):
    samples = draw(outcome, 30)
    columns, rng = columns_of(outcome, samples), np.random.default_rng(2)
    likelihood = outcome.likelihood(samples)
    counts = rng.integers(0, 2, (2, 30)).astype(float)
    theta, step = rng.normal(0, 0.3, (2, columns.parameters)), 1e-5
    gradient, hessian = likelihood.derivatives(columns, columns.logits(theta), counts)
    for at in range(columns.parameters):
        apart = np.zeros_like(theta)
        apart[:, at] = step
        up, down = columns.logits(theta + apart), columns.logits(theta - apart)
        slope = (likelihood.total(up, counts) - likelihood.total(down, counts)) / (2 * step)
        np.testing.assert_allclose(gradient[:, at], slope, atol=1e-6, rtol=1e-5)
        ends = [likelihood.derivatives(columns, one, counts)[0] for one in (up, down)]
        bends = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(hessian[:, :, at], bends, atol=1e-5, rtol=1e-4)


def test_a_likelihood_is_convex_and_never_negative(outcome):
    samples = draw(outcome, 30)
    columns, rng = columns_of(outcome, samples), np.random.default_rng(3)
    likelihood, counts = outcome.likelihood(samples), np.ones((4, 30))
    predictors = columns.logits(rng.normal(0, 1, (4, columns.parameters)))
    assert (likelihood.total(predictors, counts) >= 0).all()
    _, hessian = likelihood.derivatives(columns, predictors, counts)
    np.testing.assert_allclose(hessian, np.swapaxes(hessian, 1, 2), atol=1e-9)
    assert np.linalg.eigvalsh(hessian).min() >= -1e-8


def test_who_counts_nothing_is_as_good_as_not_there(outcome):
    samples, rng = draw(outcome, 30), np.random.default_rng(4)
    kept = np.flatnonzero(np.arange(30) % 3)
    predictors = rng.normal(size=(1, 30, width_of(outcome)))
    counts = np.isin(np.arange(30), kept)[None].astype(float)
    whole = outcome.likelihood(samples).total(predictors, counts)
    part = outcome.likelihood(samples.take(kept))
    ones = np.ones((1, len(kept)))
    np.testing.assert_allclose(whole, part.total(predictors[:, kept], ones), rtol=1e-9)


def test_held_out_scores_prefer_the_truth(outcome):
    samples = draw(outcome, 400)
    folds = np.arange(400) % 5
    true, rng = truth(outcome, samples.features), np.random.default_rng(5)
    others = [true, 0 * true, true[rng.permutation(400)]]
    predictors = np.repeat(np.stack(others)[:, None], 5, axis=1)
    unseen = outcome.unseen(predictors, folds)
    scores = outcome.held_out(unseen, samples, folds).sum(axis=1)
    assert scores[0] + 10 < scores[1] < scores[2]
    halves = outcome.unseen(predictors.mean(axis=0, keepdims=True), folds)[0]
    np.testing.assert_allclose(halves, unseen.mean(axis=0), atol=1e-12)


def test_a_weight_of_two_is_twice_the_sample(outcome):
    samples = draw(outcome, 50)
    predictors = truth(outcome, samples.features)
    own = outcome.own_part(predictors, samples)
    assert bool(own) == outcome.adds_own
    said = outcome.said(predictors, own)
    outcome.check_said(said, samples)
    times = np.random.default_rng(6).integers(0, 3, 50)
    rows = np.repeat(np.arange(50), times)
    drawn = outcome.weighted_scores(said, samples, times[None].astype(float))
    again = outcome.point_scores(said[rows], samples.take(rows))
    assert drawn.keys() == again.keys() == outcome.scores.keys()
    for name, value in again.items():
        assert drawn[name][0] == pytest.approx(value, abs=1e-9), name


def test_good_predictions_score_better(outcome):
    samples = draw(outcome, 500)
    true = truth(outcome, samples.features)
    scores = []
    for predictors in (true, 0 * true):
        said = outcome.said(predictors, outcome.own_part(predictors, samples))
        scores.append(outcome.point_scores(said, samples))
    for name in {outcome.metric, outcome.headline}:
        sign = -1 if name in outcome.lower_is_better else 1
        assert sign * scores[0][name] > sign * scores[1][name], name
    predicted, seen = outcome.reliability(said, samples)
    assert predicted.shape == seen.shape == (500,)


def test_a_transfer_takes_what_peers_know(outcome):
    """A student of few patients with a teacher of many ends closer to the truth."""
    few, later = draw(outcome, 30, seed=1), draw(outcome, 600, seed=2)
    own = own_fit(few, rng=np.random.default_rng(0))
    answer = truth(outcome, few.features)
    results = [own.averaged, transfer(own, answer).model]
    results.append(transfer_each(own, {"peer": answer}).model)

    def loss(model):
        part = outcome.own_part(model.logits(few.features), few)
        said = outcome.said(model.logits(later.features), part)
        score = outcome.point_scores(said, later)[outcome.metric]
        return score if outcome.metric in outcome.lower_is_better else -score

    alone, *others = map(loss, results)
    assert max(others) < alone
    common = most_common(few)
    assert np.ptp(common.logits(later.features), axis=0).max() == 0
    assert np.isfinite(loss(common))


def test_samples_of_two_hospitals_come_together(outcome):
    both = together([draw(outcome, 20, seed=1), draw(outcome, 30, seed=2)])
    assert len(both) == 50
    assert outcome_of(both) is outcome
    assert "50 of 3" in repr(both)
    assert repr(replace(both, weights=np.ones(50))) == repr(both)


def test_leaves_compete_only_where_no_residuals_of_training_say_how_sure_it_is(outcome):
    samples = draw(outcome, 40)
    own = own_fit(samples, rng=np.random.default_rng(0))
    assert (len(own.families) > 1) == outcome.takes_leaves
    part = outcome.own_part(own.averaged.logits(samples.features), samples)
    if "scale" in part:  # the noise of `drawn` is half of half the range
        assert part["scale"][0] > 0.3
