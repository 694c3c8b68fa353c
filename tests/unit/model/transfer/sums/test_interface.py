"""What every sum of fits is: laws, and that students learn by it."""

from dataclasses import replace

import numpy as np
import pytest

from securefair.data.dataset import Samples
from securefair.model.outcomes import outcome_of
from securefair.model.probabilities import log_losses as losses
from securefair.model.probabilities import probabilities_of as probabilities
from securefair.model.transfer import without_peers
from securefair.model.transfer.families import LEAVES_HANDICAP, evidence_of_leaves
from securefair.model.transfer.sums import interface, sum_of, transfer_sum
from securefair.model.transfer.sums.interface import (
    MOST_EVIDENCE,
    MOST_HANDICAP,
    MOST_SQUARES,
    known,
)
from securefair.model.transfer.sums.register import REGISTERED
from unit.model.transfer.fits import fitted

EVERY = pytest.mark.parametrize("name", REGISTERED)


def mean_loss(model, patients):
    return losses(model.logits(patients.features), patients.labels).mean()


@pytest.fixture
def unveiled(monkeypatch):
    """Curvatures as they are: what hides whole numbers in them has tests of its own."""
    monkeypatch.setattr(interface, "veiled", lambda curvature, _: curvature)


def opened(summed, fits):
    features = fits[0].samples.features.shape[1]
    return summed.opened(np.mean([summed.told(one) for one in fits], axis=0), len(fits), features)


@EVERY
@pytest.mark.parametrize("classes", [2, 3])
def test_a_hospital_adds_as_many_numbers_as_were_agreed(draw, name, classes):
    own = fitted(draw(0, 30, classes=classes))
    numbers = sum_of(name).numbers(own.samples.features.shape[1], own.design.outputs)
    told = sum_of(name).told(own)
    assert told.shape == (numbers,)
    assert np.isfinite(told).all()


@EVERY
@pytest.mark.parametrize("classes", [2, 3])
def test_a_sum_is_of_fits_curvatures_and_slopes(draw, name, classes):
    fits = [fitted(draw(seed, 30, classes=classes)) for seed in range(3)]
    summed, found = sum_of(name), opened(sum_of(name), fits)
    each = [opened(summed, [one]) for one in fits]
    np.testing.assert_allclose(found.mean.linear, np.mean([o.mean.linear for o in each], axis=0))
    np.testing.assert_allclose(found.curvature, np.sum([o.curvature for o in each], axis=0))
    np.testing.assert_allclose(found.slope, np.sum([o.slope for o in each], axis=0))
    for own, one in zip(fits, each, strict=True):
        np.testing.assert_allclose(one.mean.linear, own.model.linear)
        np.testing.assert_allclose(
            one.slope, own.model.linear @ one.curvature + own.penalty * own.model.linear
        )


def test_the_whole_curvature_is_that_of_the_loss_with_the_constant_profiled_out(draw, unveiled):
    own = fitted(draw(0, 40))
    found = opened(sum_of("curvature"), [own]).curvature
    p = probabilities(own.model.logits(own.samples.features))
    x = np.column_stack([own.samples.features, np.ones(len(p))])
    whole = (x.T * (p[:, 0] * p[:, 1])) @ x
    whole[-1, -1] += 0.05  # the constant's own penalty
    np.testing.assert_allclose(found, np.linalg.inv(np.linalg.inv(whole)[:-1, :-1]), atol=1e-10)
    np.testing.assert_allclose(np.diag(found), np.diag(known(own).curvature))
    diagonal = opened(sum_of("gradient"), [own]).curvature
    np.testing.assert_allclose(diagonal, np.diag(np.diag(found)))


def test_slopes_are_the_summed_gradient_to_second_order(draw):
    """H beta - h is the gradient of everybody's loss near the fits: none was asked for there."""
    fits = [fitted(draw(seed, 400)) for seed in range(3)]
    found = opened(sum_of("curvature"), fits)
    near = found.mean.linear[0]
    expected = np.zeros_like(near)
    for own in fits:
        x, y = own.samples.features, own.samples.labels
        constant = own.model.constant[0]
        for _ in range(50):  # each constant at its best
            p = 1 / (1 + np.exp(-(constant + x @ near)))
            constant -= ((p - y).sum() + 0.05 * constant) / ((p * (1 - p)).sum() + 0.05)
        expected += x.T @ (1 / (1 + np.exp(-(constant + x @ near))) - y)
    gradient = found.curvature @ near - found.slope[0]
    assert np.linalg.norm(gradient - expected) < 0.1 * np.linalg.norm(found.slope)


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize("classes", [2, 3])
def test_a_few_patients_learn_from_a_sum(draw, name, classes):
    own, later = fitted(draw(0, 25, classes=classes)), draw(2, 600, classes=classes)
    peers = [fitted(draw(seed, 130, classes=classes)) for seed in (11, 12, 13)]
    result = transfer_sum(own, opened(sum_of(name), peers))
    assert mean_loss(result.model, later) < mean_loss(own.averaged, later) - 0.02
    assert result.trust.in_peers > 0.9
    other = fitted(draw(1, 25, classes=classes))
    again = result.again(other)
    assert mean_loss(again.model, later) < mean_loss(without_peers(other).model, later) - 0.02


@EVERY
def test_a_student_takes_little_of_peers_with_inverted_labels(draw, name):
    own, later = fitted(draw(0, 60)), draw(9, 500)
    peers = [fitted(draw(seed, 130, inverted=True)) for seed in (11, 12, 13)]
    result = transfer_sum(own, opened(sum_of(name), peers))
    assert mean_loss(result.model, later) < mean_loss(own.averaged, later) + 0.03


def steps(seed, count):
    """Patients whose outcome follows steps that no line follows."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (count, 4))
    often = np.where(np.abs(x[:, 0]) < 0.5, 0.95, 0.05)
    return Samples(x, (rng.uniform(size=count) < often).astype(np.int64), 2)


@EVERY
def test_hospitals_say_together_what_leaves_are_worth_to_each(name):
    fits = [fitted(steps(seed, 80)) for seed in range(3)]
    each = [evidence_of_leaves(one.families) for one in fits]
    assert min(each) > 1
    found = opened(sum_of(name), fits)
    assert found.evidence == pytest.approx(np.clip(each, -MOST_EVIDENCE, MOST_EVIDENCE).sum())
    assert opened(sum_of(name, evidence=False), fits).evidence is None


def test_evidence_is_a_quotient_of_mean_likelihoods_of_held_out_patients(draw):
    own = fitted(draw(0, 40))
    by_leaves = {True: [], False: []}
    for family in own.families:
        by_leaves[family.design.trees is not None] += np.exp(-family.validated.scores).tolist()
    expected = np.log(np.mean(by_leaves[True]) / np.mean(by_leaves[False]))
    assert evidence_of_leaves(own.families) == pytest.approx(expected)
    assert evidence_of_leaves(own.families[:1]) == 0


@EVERY
def test_a_student_believes_leaves_more_where_others_found_them_better(name):
    own, later = fitted(steps(9, 40)), steps(10, 2000)
    peers = [fitted(steps(seed, 80)) for seed in range(4)]
    told = opened(sum_of(name), peers)
    alone = opened(sum_of(name, evidence=False), peers)
    first, second = transfer_sum(own, told), transfer_sum(own, alone)
    assert second.trust.families != first.trust.families
    assert first.trust.families["linear"] < second.trust.families["linear"]
    assert mean_loss(first.model, later) < mean_loss(second.model, later)


def test_leaves_have_a_handicap_that_what_others_say_takes_off(draw):
    found = opened(sum_of("gradient"), [fitted(draw(0, 30))])
    handicaps = [
        replace(found, evidence=said).leaves_handicap
        for said in (None, -99.0, -8.0, -4.0, 0.0, 4.0, 8.0, 99.0)
    ]
    assert handicaps == [LEAVES_HANDICAP, 8.0, 8.0, 6.0, 4.0, 2.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("lie", "said", "handicap"), [(1e6, 32.0, 0.0), (-1e6, -32.0, MOST_HANDICAP)]
)
def test_a_lie_about_leaves_moves_the_handicap_to_an_end_and_no_further(draw, lie, said, handicap):
    """Three honest hospitals found leaves better by 2 nats; their sum hides who said what."""
    summed, fits = sum_of("gradient"), [fitted(draw(seed, 30)) for seed in range(4)]
    parts = np.array([summed.told(one) for one in fits])
    parts[:, -1] = [2.0, 2.0, 2.0, lie]
    lied = summed.opened(parts.mean(axis=0), 4, fits[0].samples.features.shape[1])
    assert lied.evidence == said
    assert lied.leaves_handicap == handicap


@EVERY
def test_own_patients_can_speak_for_leaves_against_whatever_is_said(name):
    """They cannot speak against a handicap without an end."""
    peers = opened(sum_of(name), [fitted(steps(seed, 80)) for seed in range(4)])
    lied = replace(peers, evidence=-4 * MOST_EVIDENCE)
    own = fitted(steps(9, 200))
    assert evidence_of_leaves(own.families) > 2 * MOST_HANDICAP
    assert transfer_sum(own, lied).trust.families["linear"] < 0.01


def test_one_that_found_leaves_much_better_takes_the_handicap_off(draw):
    """Honest or not: where others found nothing, it decides for everybody."""
    found = opened(sum_of("gradient"), [fitted(draw(0, 30))])
    assert replace(found, evidence=MOST_EVIDENCE).leaves_handicap == 0


def numbers(seed, count, spread=0.3):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (count, 4))
    y = x @ np.array([0.5, -0.3, 0.2, 0.1]) + rng.normal(0, spread, count)
    return Samples(x, (y > 0).astype(np.int64), 2, outcome="number", values=y[:, None])


def test_of_numbers_a_sum_is_that_of_least_squares_whatever_the_penalties(unveiled):
    fits = [fitted(numbers(seed, 25)) for seed in range(3)]
    found = opened(sum_of("curvature"), fits)
    squares, products = np.zeros((4, 4)), np.zeros(4)
    for own in fits:
        x, y = own.samples.features, own.samples.values[:, 0]
        n = len(x)
        centred = np.eye(n) - np.ones((n, n)) / (n + 0.05)  # the constant has a penalty of its own
        squares += x.T @ centred @ x
        products += x.T @ centred @ y
    np.testing.assert_allclose(found.curvature, squares, atol=1e-8)
    np.testing.assert_allclose(found.slope[0], products, atol=1e-8)


@EVERY
def test_numbers_are_learnt_from_a_sum(name):
    own, later = fitted(numbers(0, 15)), numbers(9, 500)
    peers = [fitted(numbers(seed, 100)) for seed in (11, 12, 13)]
    result = transfer_sum(own, opened(sum_of(name), peers))

    def missed(model):
        return float(np.mean((model.logits(later.features)[:, 0] - later.values[:, 0]) ** 2))

    assert missed(result.model) < 0.95 * missed(own.averaged)
    assert result.trust.in_peers > 0.8


@EVERY
def test_a_deviation_is_of_the_held_out_patients_of_all_hospitals_alike(name):
    """The student's own hardly vary; those of the others do."""
    own = fitted(numbers(0, 60, spread=0.05))
    peers = [fitted(numbers(seed, 100, spread=0.4)) for seed in (11, 12, 13)]
    found = opened(sum_of(name, squares=True), peers)
    said = [known(one).squares[0] for one in peers]
    np.testing.assert_allclose(found.squares, [np.mean(said)] * 3)
    without = transfer_sum(own, opened(sum_of(name), peers)).model
    result = transfer_sum(own, found)
    squares = (without.spread**2 + sum(said)) / 4
    assert result.model.spread == pytest.approx(np.sqrt(squares))
    assert result.model.spread > 4 * without.spread
    np.testing.assert_array_equal(result.model.linear, without.linear)
    other = fitted(numbers(1, 60, spread=0.05))
    assert result.again(other).model.spread > 0.3


@EVERY
@pytest.mark.parametrize(
    ("lie", "said"), [(1e6, MOST_SQUARES), (-1e6, 0.0), (MOST_SQUARES, None), (0.0, None)]
)
def test_a_lie_about_held_out_patients_moves_a_deviation_to_an_end_and_no_further(name, lie, said):
    summed, fits = sum_of(name, squares=True), [fitted(numbers(seed, 60)) for seed in range(4)]
    parts = np.array([summed.told(one) for one in fits])
    parts[-1, -2] = lie
    lied = summed.opened(parts.mean(axis=0), 4, 4)
    honest = [known(one).squares[0] for one in fits[:3]]
    expected = np.mean([*honest, lie]) if said is None else said
    np.testing.assert_allclose(lied.squares, [expected] * 4)
    own = fitted(numbers(9, 60))
    alone, found = without_peers(own).model.spread, transfer_sum(own, lied).model.spread
    assert 0.4 * alone < found <= np.sqrt(MOST_SQUARES)


def times(seed, count, scale=10.0):
    """Hospitals differ in their baseline."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (count, 4))
    until = rng.exponential(scale * np.exp(-x @ np.array([1.5, -1.0, 0.5, 0.0])))
    left = rng.exponential(2 * scale, count)
    events = (until <= left).astype(np.int64)
    values = np.column_stack([np.ceil(np.minimum(until, left)), events])
    return Samples(x, events, 2, outcome="time", values=values)


def test_of_times_a_sum_is_the_curvature_and_slope_of_partial_likelihoods(unveiled):
    own = fitted(times(0, 60))
    found = opened(sum_of("curvature"), [own])
    likelihood, x = outcome_of(own.samples).likelihood(own.samples), own.samples.features
    ones, step = np.ones((1, 60)), 1e-5

    def slope(beta):
        def loss(at):
            return likelihood.total((x @ at)[None, :, None], ones)[0]

        ways = step * np.eye(4)
        return np.array([(loss(beta + one) - loss(beta - one)) / (2 * step) for one in ways])

    beta = own.model.linear[0]
    bends = [(slope(beta + one) - slope(beta - one)) / (2 * step) for one in step * np.eye(4)]
    np.testing.assert_allclose(found.curvature, bends, rtol=1e-2, atol=1e-2)
    np.testing.assert_allclose(found.curvature @ beta - found.slope[0], slope(beta), atol=1e-5)


@EVERY
def test_times_are_learnt_from_a_sum(name):
    own, later = fitted(times(0, 25)), times(9, 500, scale=50.0)
    peers = [fitted(times(seed, 100, 5.0 * seed)) for seed in (1, 2, 3)]
    result = transfer_sum(own, opened(sum_of(name), peers))

    def missed(model):
        return outcome_of(later).losses(model.logits(later.features), later).sum() / 300

    assert missed(result.model) < missed(own.averaged) - 0.05
    assert result.trust.in_peers > 0.8


@EVERY
@pytest.mark.parametrize("events", [1, 2])
def test_hospitals_with_an_event_or_two_add_what_is_finite_and_small(name, events):
    """One event adds what its patient's features are off from those at risk, and no more."""
    samples = times(3, 30)
    values = samples.values.copy()
    values[:, 1] = np.arange(30) < events
    few = replace(samples, labels=values[:, 1].astype(np.int64), values=values)
    told = sum_of(name).told(fitted(few))
    assert np.isfinite(told).all()
    assert np.abs(told[5:]).max() <= 2 * events  # slopes and curvatures of features in [-1, 1]
