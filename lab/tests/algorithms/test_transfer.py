from dataclasses import replace

import numpy as np
import pytest

from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import ConfigError
from securefair.model.transfer import own_fit, transfer
from securefair.worth import own_fits
from securefair_lab.algorithms.releases import LogitsRelease, ProjectionRelease, Rounding
from securefair_lab.algorithms.transfer import (
    Transfer,
    asked_peers,
    combined,
    received_logits,
    run_transfer,
)
from support.coefficients import coefficients


@pytest.fixture
def four(make_hospital):
    return [make_hospital(name, seed, train=18 + seed) for seed, name in enumerate("abcd")]


def test_everything_is_one_exchange_of_own_fits(four):
    settings = Transfer(release=LogitsRelease())
    result = run_transfer(settings, four, seed=3)
    own = own_fits(four, 1, 3)
    assert result.asked["a"] == ("b", "c", "d")
    z = np.mean([own[k].model.logits(four[0].train.features) for k in "bcd"], axis=0)
    expected = transfer(own["a"], z).model
    np.testing.assert_allclose(coefficients(result.models["a"]), coefficients(expected), atol=1e-9)
    assert result.transferred["a"].trust.weights == {}


def test_two_teachers_are_opened_each_three_only_summed(four):
    assert set(run_transfer(Transfer(), four[:3], 0).transferred["a"].trust.weights) == {"b", "c"}
    assert not run_transfer(Transfer(), four, 0).transferred["a"].trust.weights
    each = run_transfer(Transfer(opened="each"), four, 0).transferred["a"].trust.weights
    assert set(each) == {"b", "c", "d"}


def test_teachers_answer_from_their_own_patients_whatever_was_opened(four):
    """No opened value reaches an answer: other peers change what is deployed, not what is said."""
    settings = Transfer()
    before = run_transfer(settings, four, 0)
    flipped = [
        replace(one, train=Samples(one.train.features, 1 - one.train.labels, 2))
        if one.name in "bcd" else one for one in four
    ]  # fmt: skip
    after = run_transfer(settings, flipped, 0)
    assert not np.allclose(coefficients(after.models["a"]), coefficients(before.models["a"]))
    patients = four[1].train
    np.testing.assert_array_equal(
        received_logits(settings, before.own["a"], patients),
        received_logits(settings, after.own["a"], patients),
    )


@pytest.mark.parametrize("q", [4, 16])
def test_a_projection_reaches_the_student_as_it_determines_the_logits(four, q):
    settings = Transfer(release=ProjectionRelease(q=q))
    own = own_fits(four, 1, 0)
    z = own["b"].model.logits(four[0].train.features)
    error = received_logits(settings, own["b"], four[0].train) - z
    assert np.abs(error).max() < {4: 1.0, 16: 0.05}[q] * np.abs(z).max()


def test_rounded_teachers_say_nearly_the_same(four):
    own = own_fits(four, 2, 0)["b"]
    exact = Transfer(degree=2, release=LogitsRelease())
    rounded = replace(exact, rounding=Rounding(row_norm=1.0, log2_scales=(12, 12)))
    patients = four[0].train
    difference = received_logits(exact, own, patients) - received_logits(rounded, own, patients)
    assert 0 < np.abs(difference).max() < 1e-2


def test_whom_one_asks_is_drawn_by_the_seed():
    names = [f"h{n}" for n in range(100)]
    asked = asked_peers(names, 8, seed=1)["h3"]
    assert 8 <= len(asked) < 10  # 11 groups of 100
    assert "h3" not in asked
    assert asked == asked_peers(names, 8, seed=1)["h3"]
    assert asked != asked_peers(names, 8, seed=2)["h3"]
    assert asked_peers(names[:4], 8, seed=1)["h3"] == ("h0", "h1", "h2")


def test_a_teacher_that_does_not_answer_or_talks_nonsense(make_hospital):
    four = [make_hospital(name, seed, train=40) for seed, name in enumerate("abcd")]
    own = own_fits(four, 1, 0)
    answers = {k: own[k].model.logits(four[0].train.features) for k in "bcd"}
    alone = combined(own["a"], {}, "mean", 1)
    np.testing.assert_allclose(coefficients(alone.model), coefficients(own["a"].averaged))
    without = {k: answers[k] for k in "bc"}
    lost = combined(own["a"], without, "mean", 1)
    np.testing.assert_array_equal(
        coefficients(lost.model),
        coefficients(transfer(own["a"], np.mean([answers["b"], answers["c"]], axis=0)).model),
    )
    noise = np.random.default_rng(0).permutation(answers["d"]) * 9
    told = combined(own["a"], {**without, "d": noise}, "each", 1)
    assert told.trust.left_out == ("d",)


def test_hospitals_that_lack_a_class_or_have_one_patient(make_hospital):
    a, b, c = (make_hospital(name, seed) for seed, name in enumerate("abc"))
    one_class = Samples(b.train.features[:3], np.zeros(3, dtype=np.int64), 2)
    single = c.train.take(np.array([0]))
    people = [a, replace(b, train=one_class), replace(c, train=single)]
    for opened in ("each", "mean"):
        result = run_transfer(Transfer(opened=opened), people, 0)
        for name, model in result.models.items():
            assert np.isfinite(model.logits(a.test.features)).all(), name


def test_useful_on_three_classes():
    rng = np.random.default_rng(0)
    slopes = rng.normal(0, 2, (4, 3))

    def draw(count):
        x = rng.uniform(-1, 1, (count, 4))
        return Samples(x, (x @ slopes + rng.gumbel(size=(count, 3))).argmax(axis=1), 3)

    people = [ParticipantData(name, draw(20), draw(300)) for name in "abcd"]
    result = run_transfer(Transfer(), people, 0)
    alone = {one.name: own_fit(one.train, rng=np.random.default_rng(0)) for one in people}

    def loss(models):
        return np.mean([
            -np.log(models[one.name].predict_proba(one.test.features)[
                np.arange(300), one.test.labels
            ]).mean()
            for one in people
        ])  # fmt: skip

    assert loss(result.models) < loss({name: fit.model for name, fit in alone.items()}) - 0.05


@pytest.mark.parametrize(
    ("wrong", "where"), [({"degree": 3}, "degree"), ({"opened": "all"}, "opened"),
                         ({"peers": 0}, "peers")]
)  # fmt: skip
def test_refuses_impossible_settings(wrong, where):
    with pytest.raises(ConfigError) as caught:
        Transfer(**wrong)
    assert caught.value.where == where
