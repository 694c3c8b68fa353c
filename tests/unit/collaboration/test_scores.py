"""What a run scores, and the verdict that follows from it."""

import numpy as np
import pytest

from securefair.collaboration.scores import scores_of
from securefair.collaboration.verdict import verdict_of
from securefair.data.dataset import ParticipantData, Samples
from securefair.model.transfer import Polynomial
from securefair.worth.verdict import Against

RULE = np.array([[2.0, -2.0, 0.0]])


def linear(rule):
    return Polynomial(np.zeros(1), rule)


def patients(seed, count):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (count, 3))
    second = 1 / (1 + np.exp(-(x @ RULE[0])))
    return Samples(x, (rng.uniform(size=count) < second).astype(np.int64), 2)


def scored(collaboration, controls):
    """Two hospitals; everybody has the same model of each name."""
    people = [ParticipantData(name, patients(at, 40), patients(9 + at, 200)) for at, name in
              enumerate("ab")]  # fmt: skip
    models = {"transfer": collaboration, **controls}
    by_name = {name: {one.name: model for one in people} for name, model in models.items()}
    return scores_of([(people, by_name)], list(controls))


def test_a_verdict_knows_of_how_many_controls_the_best_was_taken_and_what_it_scores():
    alone = {"standalone": linear(RULE), "most_common": linear(0 * RULE)}
    found = scored(linear(0.5 * RULE), alone)["transfer"]
    level = scored(linear(RULE), alone)["standalone"]["metrics"]["log_loss"].mean
    gain = found["gain_over_best_control"]["log_loss"]
    assert found["best_control"] == "standalone"
    assert set(gain.skew_by_hospital) == {"a", "b"}
    assert gain.skew != 0
    expected = verdict_of(
        gain, "log_loss", algorithm="transfer", control="standalone", against=Against(2, level)
    )
    assert found["verdict"] == expected


@pytest.mark.parametrize("tiny", [1, 4])
def test_a_hospital_of_a_few_test_patients_does_not_choose_the_control(tiny):
    """Its patients are all of the class that the rule makes least likely: a constant is better."""
    people = [
        ParticipantData("a", patients(0, 40), patients(9, 200)),
        ParticipantData("b", patients(1, 40), _surprising(tiny)),
    ]
    models = {"transfer": 0.5 * RULE, "standalone": RULE, "most_common": 0 * RULE}
    by_name = {name: {one.name: linear(rule) for one in people} for name, rule in models.items()}
    found = scores_of([(people, by_name)], ["standalone", "most_common"])
    alone, constant = (found[name]["metrics"]["log_loss"] for name in list(models)[1:])
    assert alone.by_hospital["a"] < constant.by_hospital["a"]
    assert np.mean(list(alone.by_hospital.values())) > np.mean(list(constant.by_hospital.values()))
    assert found["transfer"]["best_control"] == "standalone"
    verdict = found["transfer"]["verdict"]
    assert verdict.gain == found["transfer"]["gain_over_best_control"]["log_loss"].by_hospital["a"]
    assert verdict.hospitals["b"].told == "unclear"
    assert "The average leaves out b" in verdict.sentence


def _surprising(count):
    x = np.tile([1.0, -1.0, 0.0], (count, 1))
    return Samples(x, np.zeros(count, dtype=np.int64), 2)


def test_more_controls_ask_for_more_before_worse_is_said():
    """Those that nobody would take count as well: the best of all was looked for."""
    slightly = linear(np.array([[2.0, -2.0, 1.5]]))
    few, many = (
        scored(
            slightly,
            {"standalone": linear(RULE)} | {f"other {at}": linear(0 * RULE) for at in range(count)},
        )["transfer"]["verdict"]
        for count in (0, 20)
    )
    assert few.gain == many.gain
    assert few.gain < 0
    assert few.told == "worse"
    assert many.told == "unclear"


@pytest.mark.parametrize("share", [0.999, 0.9])
def test_what_hardly_differs_is_called_no_difference(share):
    verdict = scored(linear(RULE), {"standalone": linear(share * RULE)})["transfer"]["verdict"]
    assert verdict.told == "unclear"
