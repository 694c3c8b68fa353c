import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from securefair.data.dataset import Samples
from securefair.model.outcomes import outcome_of
from securefair.model.probabilities import log_losses as losses
from securefair.model.transfer import own_fit, transfer, transfer_each
from securefair.model.transfer.averaging import averaging_weights
from securefair.model.transfer.surrogate import surrogate
from support.examples import examples


def rng():
    return np.random.default_rng(5)


def mean_loss(model, patients):
    return losses(model.logits(patients.features), patients.labels).mean()


def fitted(samples, degree=1):
    return own_fit(samples, degree, rng=rng())


@given(st.lists(st.floats(0, 500), min_size=1, max_size=8))
def test_weights_are_a_softmax_of_summed_losses(scores):
    weights = averaging_weights(np.array(scores))
    assert weights.sum() == pytest.approx(1)
    expected = np.exp(-(np.array(scores) - min(scores)))
    np.testing.assert_allclose(weights, expected / expected.sum())


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("degree", [1, 2])
def test_a_few_patients_learn_from_many(draw, classes, degree):
    own = fitted(draw(0, 25, classes=classes), degree)
    teacher = fitted(draw(1, 400, classes=classes), degree)
    z = teacher.model.logits(own.samples.features)
    later = draw(2, 600, classes=classes)
    for result in (transfer(own, z, degree), transfer_each(own, {"t": z}, degree)):
        assert mean_loss(result.model, later) < mean_loss(own.averaged, later) - 0.02
        assert result.trust.in_peers > 0.8
        assert result.trust.gain > 0.03
        assert result.trust.gain_se > 0
        other = fitted(draw(0, 25, classes=classes), degree)
        again = result.again(other)
        assert mean_loss(again.model, later) < mean_loss(other.averaged, later) - 0.02


def test_deployed_is_the_average_that_the_formula_says(draw):
    own, teacher = fitted(draw(0, 30)), fitted(draw(1, 200))
    z = teacher.model.logits(own.samples.features)
    later = draw(2, 50).features
    result, offset = transfer(own, z), surrogate(own.samples.features, z, 1)
    # every setting again, one at a time
    from securefair.model.transfer.folds import training_counts
    from securefair.model.transfer.penalised import fit

    columns, labels = own.design.columns(), own.samples.labels
    known = outcome_of(own.samples).likelihood(own.samples)
    scores, predictions = [], []
    counts = training_counts(own.folds)
    pairs = [(0.0, p) for p in (0.3, 1, 3, 10, 30, 100)]
    pairs += [(s, p) for s in (0.25, 0.5, 0.75, 1.0, 1.25) for p in (1, 3, 10, 30, 100, 1e4)]
    for share, penalty in pairs:
        thetas = np.stack([
            fit(columns, known, share * z[None], own.design.penalties(penalty)[None], c[None])[0]
            for c in counts
        ])  # fmt: skip
        held = share * z + columns.logits(thetas)[own.folds, np.arange(30)]
        scores.append(losses(held, labels).sum())
        predictions.append(
            own.design.polynomial(thetas[-1]).logits(later) + share * offset.logits(later)
        )
    weights = np.exp(-np.array(scores) + min(scores))
    weights /= weights.sum()
    expected = np.einsum("s,snl->nl", weights, np.stack(predictions))
    np.testing.assert_allclose(result.model.logits(later), expected, atol=1e-7)
    assert result.trust.in_peers == pytest.approx(weights[6:].sum())


def test_without_answers_the_fits_alone_are_averaged(draw):
    own = fitted(draw(0, 30))
    for result in (transfer(own, None), transfer_each(own, {})):
        np.testing.assert_allclose(result.model.linear, own.averaged.linear)
        assert result.trust.in_peers == 0.0


def test_nonsense_is_left_out(draw):
    own, honest = fitted(draw(0, 40)), fitted(draw(1, 200))
    z = honest.model.logits(own.samples.features)
    noise = np.random.default_rng(3).permutation(z) * 5
    alone = transfer(own, noise)
    assert alone.trust.left_out == ("all",)
    np.testing.assert_allclose(alone.model.linear, own.averaged.linear)
    both = transfer_each(own, {"honest": z, "noise": noise})
    assert both.trust.left_out == ("noise",)
    without = transfer_each(own, {"honest": z})
    np.testing.assert_array_equal(both.model.linear, without.model.linear)


@pytest.mark.parametrize("classes", [2, 3])
def test_inverted_labels_get_a_weight_below_the_honest(draw, classes):
    own = fitted(draw(0, 60, classes=classes))
    answers = {
        name: fitted(draw(seed, 200, classes=classes, inverted=name == "liar")).model.logits(
            own.samples.features
        )
        for seed, name in enumerate(["ann", "ben", "liar"], start=1)
    }
    weights = transfer_each(own, answers).trust.weights
    assert weights["liar"] < min(weights["ann"], weights["ben"])
    if classes == 2:  # of three classes the middle one is not inverted
        assert weights["liar"] <= 0


def test_inverted_peers_cost_little(draw):
    own, later = fitted(draw(0, 60)), draw(9, 500)
    z = fitted(draw(1, 200, inverted=True)).model.logits(own.samples.features)
    assert mean_loss(transfer(own, z).model, later) < mean_loss(own.averaged, later) + 0.02


@settings(max_examples=examples(25))
@given(count=st.integers(1, 9), label=st.sampled_from([0, 1, 2]), seed=st.integers(0, 99))
def test_hospitals_of_one_class_and_few_patients(count, label, seed):
    x = np.random.default_rng(seed).uniform(-1, 1, (count, 4))
    own = own_fit(Samples(x, np.full(count, label), 3), rng=np.random.default_rng(seed))
    z = x @ np.random.default_rng(7).normal(size=(4, 3))
    for result in (transfer(own, z), transfer_each(own, {"t": z})):
        assert np.isfinite(result.model.logits(x)).all()
        assert 0 <= result.trust.in_peers <= 1


def test_labels_reach_offset_and_surrogate_in_no_way(draw):
    samples = draw(0, 30)
    shuffled = Samples(samples.features, np.random.default_rng(1).permutation(samples.labels), 2)
    z = fitted(draw(1, 200)).model.logits(samples.features)
    third, later = fitted(draw(2, 25)), draw(3, 20).features
    a, b = (transfer(fitted(one), z).again(third).model for one in (samples, shuffled))
    np.testing.assert_array_equal(a.logits(later), b.logits(later))
