import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from securefair.data.dataset import Samples
from securefair.model.outcomes import outcome_of
from securefair.model.probabilities import log_losses as losses
from securefair.model.transfer import own_fit, transfer, transfer_each
from securefair.model.transfer.averaging import averaging_weights
from securefair.model.transfer.design import own_design, tree_design
from securefair.model.transfer.surrogate import surrogate
from support.examples import examples
from unit.model.transfer.fits import fitted


def rng():
    return np.random.default_rng(5)


def mean_loss(model, patients):
    return losses(model.logits(patients.features), patients.labels).mean()


def same(one, other):
    x = np.random.default_rng(8).uniform(-1, 1, (20, 5))
    np.testing.assert_allclose(one.logits(x), other.logits(x))


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

    labels, counts = own.samples.labels, training_counts(own.folds)
    known = outcome_of(own.samples).likelihood(own.samples)
    few, many = (0.3, 3, 30), (0.3, 1, 3, 10, 30, 100)
    own_pairs = {"linear": [(0.0, p) for p in many], "trees": [(0.0, p) for p in few]}
    with_peers = {
        "linear": [(s, p) for s in (0.25, 0.5, 0.75, 1.0, 1.25) for p in (1, 3, 10, 30, 100, 1e4)],
        "trees": [(s, p) for s in (0.5, 1.0, 1.25) for p in (1, 10, 100)],
    }
    scores, predictions = [], []
    designs = [own_design(own.samples, 1)]
    designs += [tree_design(own.samples, beside=beside) for beside in (False, True)]
    for pairs in (own_pairs, with_peers):
        for design in designs:
            columns = design.columns()
            for share, penalty in pairs["linear" if design.trees is None else "trees"]:
                thetas = np.stack([
                    fit(columns, known, share * z[None], design.penalties(penalty)[None],
                        c[None])[0]
                    for c in counts
                ])  # fmt: skip
                held = share * z + columns.logits(thetas)[own.folds, np.arange(30)]
                handicap = 0.0 if design.trees is None else 1.0
                scores.append(losses(held, labels).sum() + handicap)
                predictions.append(
                    design.function(thetas[-1]).logits(later) + share * offset.logits(later)
                )
    weights = np.exp(-np.array(scores) + min(scores))
    weights /= weights.sum()
    expected = np.einsum("s,snl->nl", weights, np.stack(predictions))
    np.testing.assert_allclose(result.model.logits(later), expected, atol=1e-7)
    assert result.trust.in_peers == pytest.approx(weights[12:].sum())
    assert list(result.trust.families) == ["linear", "trees", "both"]
    assert sum(result.trust.families.values()) == pytest.approx(1)
    alone = weights[[*range(6), *range(12, 42)]].sum()
    assert result.trust.families["linear"] == pytest.approx(alone)


def test_leaves_learn_what_no_line_does():
    x = np.random.default_rng(0).uniform(-1, 1, (150, 3))
    own = own_fit(Samples(x[:100], (x[:100, 0] * x[:100, 1] > 0).astype(np.int64), 2), rng=rng())
    later = Samples(x[100:], (x[100:, 0] * x[100:, 1] > 0).astype(np.int64), 2)
    assert mean_loss(own.averaged, later) < mean_loss(own.model, later) - 0.1
    assert transfer(own, None).trust.families["linear"] < 0.01


def test_many_patients_are_fitted_without_leaves_and_so_are_quadratic_fits(draw):
    assert [one.design.family for one in fitted(draw(0, 300)).families] == ["linear"]
    assert [one.design.family for one in fitted(draw(0, 30), 2).families] == ["quadratic"]


def test_without_answers_the_fits_alone_are_averaged(draw):
    own = fitted(draw(0, 30))
    for result in (transfer(own, None), transfer_each(own, {})):
        same(result.model, own.averaged)
        assert result.trust.in_peers == 0.0


def test_nonsense_is_left_out(draw):
    own, honest = fitted(draw(0, 40)), fitted(draw(1, 200))
    z = honest.model.logits(own.samples.features)
    noise = np.random.default_rng(3).permutation(z) * 5
    alone = transfer(own, noise)
    assert alone.trust.left_out == ("all",)
    same(alone.model, own.averaged)
    both = transfer_each(own, {"honest": z, "noise": noise})
    assert both.trust.left_out == ("noise",)
    without = transfer_each(own, {"honest": z})
    same(both.model, without.model)


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


@settings(max_examples=examples(12))
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
