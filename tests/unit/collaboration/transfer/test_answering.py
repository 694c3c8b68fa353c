"""What answers: a fit of leaves, or a stand-in for whatever model a hospital brought."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import securefair as sf
from securefair.collaboration import PublicFacts
from securefair.collaboration.kinds import kind_of
from securefair.collaboration.private import private_teachers
from securefair.collaboration.transfer.answering import answering_of, stand_in_of
from securefair.config import demo_config, override
from securefair.config.privacy import PrivacySection
from securefair.errors import ConfigError, ModelError
from securefair.model.teachers import EstimatorTeacher, teacher_of
from securefair.model.transfer import Leafed
from securefair.model.transfer.public_trees import LEAVES, public_trees
from securefair.worth import own_fits
from support.coefficients import coefficients
from support.simulated import start_transfer

FOREST = teacher_of("forest", where="here")


def start(hospitals, agreement, backend="clear"):
    return start_transfer("transfer", hospitals, agreement, seed=3, backend=backend)


@pytest.mark.slow
@pytest.mark.parametrize("opened", ["each", "mean"])
def test_leaves_go_through_encryption_within_the_planned_error(make_hospitals, agree, opened):
    hospitals = make_hospitals()
    hospitals[1] = replace(hospitals[1], teacher=FOREST)
    agreed = agree(hospitals, opened=opened, fit="trees", precision=2**-18)
    clear, encrypted = start(hospitals, agreed), start(hospitals, agreed, "rns")
    for run in (clear, encrypted):
        list(run.rounds(1))
        assert not run.problems
    assert 0 < encrypted.observer.audit.max_abs_error <= agreed.plan.error_bound
    for name, model in clear.models().items():
        x = hospitals[0].test.features
        np.testing.assert_allclose(encrypted.models()[name].logits(x), model.logits(x), atol=0.01)
    assert not any(row.determines for row in encrypted.ledger if row.teacher == "b")
    assert {row.teacher_parameters for row in encrypted.ledger} == {4 + LEAVES + 1}
    facts = encrypted.facts()
    assert list(facts.stand_ins) == ["b"]
    assert facts.stand_ins["b"].model == "forest"
    assert 0 < facts.stand_ins["b"].own < 0.3


def test_a_question_holds_the_leaves_of_its_patients(make_hospitals, agree):
    hospitals = make_hospitals()
    agreed = agree(hospitals, fit="trees")
    train = hospitals[0].train
    asked = agreed.asked(train)
    assert asked.features.shape == (len(train), agreed.asked_features) == (len(train), 4 + LEAVES)
    np.testing.assert_array_equal(asked.features, public_trees(4).mapped(train.features))
    assert agreed.spec_for(14).features == agreed.asked_features


def test_with_leaves_the_best_fit_of_any_family_answers(make_hospitals, agree):
    hospitals = make_hospitals()
    own = own_fits(hospitals, 1, 0)["a"]
    model = answering_of(agree(hospitals, fit="trees"), hospitals[0], own, None, 0).model
    x = hospitals[0].test.features
    best = own.best_of_all
    expected = best.logits(x)
    np.testing.assert_allclose(model.logits(public_trees(4).mapped(x)), expected)
    linear = answering_of(agree(hospitals), hospitals[0], own, None, 0).model
    np.testing.assert_array_equal(coefficients(linear), coefficients(own.model))


@pytest.mark.parametrize("fit", ["linear", "quadratic", "trees"])
def test_a_stand_in_is_of_the_form_that_was_agreed(make_hospitals, agree, fit):
    hospitals = make_hospitals()
    agreed, brought = agree(hospitals, fit=fit), replace(hospitals[0], teacher=FOREST)
    own = own_fits(hospitals, agreed.degree, 0)["a"]
    one, same = (answering_of(agreed, brought, own, None, 5) for _ in range(2))
    np.testing.assert_array_equal(coefficients(one.model), coefficients(same.model))
    assert one.model.linear.shape[1] == agreed.asked_features
    assert one.model.degree == agreed.degree
    assert not isinstance(one.model, Leafed)
    assert one.stands_for == "forest"


def test_a_model_that_fails_is_told_with_its_hospital(make_hospitals, agree):
    hospitals = make_hospitals()
    train = hospitals[1].train
    wide = LogisticRegression().fit(np.hstack([train.features] * 2), train.labels)
    brought = replace(hospitals[1], teacher=EstimatorTeacher(wide))
    with pytest.raises(
        ModelError, match=r"participants, b, teacher LogisticRegression: .*not take"
    ):
        stand_in_of(agree(hospitals, fit="trees"), brought, 0)


def test_sums_of_fits_have_no_place_for_a_model_that_is_brought(make_hospitals, agree):
    hospitals = make_hospitals()
    brought = replace(hospitals[0], teacher=FOREST)
    own = own_fits(hospitals, 1, 0)["a"]
    with pytest.raises(ConfigError, match=r"would add up fits.*transfer.fit"):
        answering_of(agree(hospitals, sums="gradient"), brought, own, None, 0)
    with pytest.raises(ConfigError, match="of no linear fit"):
        agree(hospitals, sums="gradient", fit="trees")


def test_whoever_brings_a_model_is_asked_about_patients_where_that_is_known(make_hospitals):
    """All data are here, so that the rule knows of it; sites find out before they start."""
    first, *others = make_hospitals()
    brought = replace(first, teacher=FOREST)
    kind, config = (
        kind_of("transfer"),
        override(demo_config(), {"transfer.sums": "auto"}, source="test"),
    )
    known = kind.agree_all(config, [brought, *others], seed=0)
    assert (known.chosen_sum.name, known.question.encrypts) == ("none", True)
    unknown = kind.agree(config, PublicFacts.of([first, *others]), seed=0)
    assert not unknown.question.encrypts
    assert known.digest == replace(known, facts=replace(known.facts, brought=False)).digest
    kind.check_own(known, brought)
    with pytest.raises(ConfigError, match=r"a, teacher.*would add up fits"):
        kind.check_own(unknown, brought)


def test_no_private_fit_stands_behind_a_model_that_is_brought(make_hospitals, agree):
    hospitals = make_hospitals()
    terms = PrivacySection(epsilon=4.0)
    private = private_teachers(hospitals[:1], ["linear"], terms, seed=3)["a"]
    brought = replace(hospitals[0], teacher=FOREST)
    own = own_fits(hospitals[:1], 1, 0)["a"]
    with pytest.raises(ConfigError, match=r"no private fit.*forest"):
        answering_of(agree(hospitals), brought, own, private, 0)
    agreed = agree(hospitals, fit="trees")
    model = answering_of(agreed, hospitals[0], own, private, 0).model
    assert not model.linear[:, 4:].any()  # a linear private fit has no number for any leaf


@pytest.mark.slow
def test_the_call_and_its_report_say_who_brought_what(make_hospitals):
    hospitals = {one.name: (one.train, one.test) for one in make_hospitals(train=20, features=3)}
    result = sf.collaborate(
        hospitals, fit="trees", backend="clear", teachers={"a": "forest", "b": "boosting"}
    )
    found = result.outcome.result.algorithms["transfer"].stand_ins
    assert {name: one.model for name, one in found.items()} == {"a": "forest", "b": "boosting"}
    told = sf_report(result)
    assert "a brought a model of its own (forest)" in told
    for teachers, said in (
        ({"nobody": "forest"}, "nobody of this name"),
        ({"a": "model.pkl"}, "no such model"),
        ({"a": object()}, "predict_proba"),
    ):
        with pytest.raises(ConfigError, match=said):
            sf.collaborate(hospitals, teachers=teachers)
    with pytest.raises(ConfigError, match="lets a model that is brought answer"):
        sf.collaborate(hospitals, algorithm="cycle", rounds=1, teachers={"a": "forest"})


def sf_report(result):
    from securefair.collaboration.transfer.telling import tell
    from securefair.words import words_of

    return " ".join(tell(result.config, result.outcome.result, words_of().about("hospitals")).steps)
