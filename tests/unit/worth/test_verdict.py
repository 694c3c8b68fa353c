"""The one rule has power, and keeps what it promises in worlds whose truth is known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.worth.verdict import Against, LossDifference, told_of
from securefair.worth.verdict import shrunk as shrunk_against

WORLDS = 400
SPREAD = 0.15  # of one patient's difference of log-loss, as measured on clinical tables


def shrunk(gains, against=None):
    differences = {name: LossDifference(*one) for name, one in gains.items()}
    return shrunk_against(differences, against or Against())


def judged(mean, apart, *, hospitals=5, patients=30, seed=0):
    """Truth and verdicts of many worlds: arrays (WORLDS * hospitals,)."""
    rng = np.random.default_rng(seed)
    truth, told = [], []
    for _ in range(WORLDS):
        gains = mean + apart * rng.standard_normal(hospitals)
        tested = [gain + SPREAD * rng.standard_normal(patients) for gain in gains]
        seen = {
            str(at): (one.mean(), one.std(ddof=1) / math.sqrt(patients))
            for at, one in enumerate(tested)
        }
        truth += gains.tolist()
        told += [one.told for one in shrunk(seen).values()]
    return np.array(truth), np.array(told)


def test_where_nobody_gains_hardly_anybody_is_told_so():
    _, told = judged(0.0, 0.0)
    assert (told == "better").mean() <= 0.05
    assert (told == "worse").mean() <= 0.05


@pytest.mark.parametrize("apart", [0.0, 0.015, 0.03])
def test_two_in_five_of_the_truly_better_are_told_so_and_few_others(apart):
    truth, told = judged(0.03, apart)
    better = told == "better"
    assert better[truth > 0.002].mean() >= 0.4
    assert (truth[better] <= 0.002).mean() <= 0.05


@pytest.mark.parametrize(
    ("patients", "least", "most"), [(6, 0.05, 0.09), (10, 0.05, 0.09), (30, 0, 0.05)]
)
def test_few_patients_are_falsely_told_better_more_often(patients, least, most):
    """Of three hospitals that gain nothing; errors are of few patients as well (`FEW`)."""
    rng = np.random.default_rng(0)
    false = 0
    for _ in range(400):
        apart = rng.normal(0, 1, (3, patients))
        errors = apart.std(axis=1) / math.sqrt(patients)  # as of patients drawn again
        gains = {
            f"h{at}": LossDifference(float(each.mean()), float(error))
            for at, (each, error) in enumerate(zip(apart, errors, strict=True))
        }
        told = shrunk_against(gains, Against(3))
        false += sum(one.told == "better" for one in told.values())
    assert least < false / 1200 < most


def test_one_hospital_that_loses_much_is_not_told_the_others_verdict():
    seen = {str(at): (0.04, 0.01) for at in range(4)} | {"south": (-0.2, 0.03)}
    found = shrunk(seen)
    assert found["south"].told == "worse"
    assert all(found[str(at)].told == "better" for at in range(4))


def test_nobody_is_told_the_opposite_of_what_its_own_patients_say():
    seen = {str(at): (0.04, 0.01) for at in range(9)} | {"few": (-0.001, 0.1)}
    assert shrunk(seen)["few"].gain > 0.02
    assert shrunk(seen)["few"].told == "unclear"


def test_others_lend_strength_to_a_small_hospital():
    small = {"small": (0.03, 0.03)}
    assert shrunk(small)["small"].told == "unclear"
    among = shrunk(small | {str(at): (0.03, 0.01) for at in range(4)})["small"]
    assert among.told == "better"
    assert among.se < 0.03


def test_one_hospital_by_itself_is_judged_by_its_own_patients():
    (alone,) = shrunk({"own": (0.02, 0.01)}).values()
    assert (alone.gain, alone.se) == (pytest.approx(0.02), pytest.approx(0.01))
    assert alone.told == "better"


def test_the_rule_knows_no_unit():
    seen = {"a": (0.03, 0.02), "b": (0.01, 0.02), "c": (0.05, 0.03)}
    scaled = shrunk({name: (1000 * gain, 1000 * error) for name, (gain, error) in seen.items()})
    for name, one in shrunk(seen).items():
        assert scaled[name].gain == pytest.approx(1000 * one.gain)
        assert scaled[name].told == one.told


def test_equal_predictions_are_unclear_and_tell_nothing_of_others():
    seen = {"a": (0.03, 0.02), "b": (0.01, 0.02)}
    found = shrunk(seen | {"same": (0.0, 0.0)})
    assert found["same"].told == "unclear"
    assert found["a"] == shrunk(seen)["a"]


def told(gain, error, skew=0.0, **against):
    return told_of(LossDifference(gain, error, skew), Against(**against))


def test_a_mean_is_told_by_its_own_error():
    assert told(0.02, 0.01) == "better"
    assert told(-0.02, 0.01) == "worse"
    assert told(0.01, 0.01) == "unclear"
    assert told_of(None, Against()) == told(0.0, 0.0) == "unclear"


def test_one_patient_tells_nothing():
    assert told(0.02, 0.0) == "unclear"
    assert shrunk({"a": (0.3, 0.0)})["a"].told == "unclear"


def test_the_best_of_several_controls_is_not_worse_news_by_itself():
    """By chance one of them is easily better; whoever is better than the best is so than each."""
    assert told(-0.02, 0.01, controls=1) == "worse"
    assert told(-0.02, 0.01, controls=6) == "unclear"
    assert told(-0.03, 0.01, controls=6) == "worse"
    assert told(0.02, 0.01, controls=6) == "better"
    seen = {str(at): (-0.02, 0.01) for at in range(4)}
    one, six = (shrunk(seen, Against(controls=count)) for count in (1, 6))
    assert {found.told for found in one.values()} == {"worse"}
    assert all(six[name].gain == found.gain for name, found in one.items())
    assert {each.told for each in shrunk({"a": (-0.02, 0.01)}, Against(6)).values()} == {"unclear"}


def test_less_than_half_a_percent_of_the_score_is_no_difference():
    assert told(0.0019, 0.0001, level=0.4) == "unclear"
    assert told(0.0021, 0.0001, level=0.4) == "better"
    assert told(-0.0021, 0.0001, level=-0.4) == "worse"
    few = {"a": (0.0019, 0.0001), "b": (-0.0019, 0.0001)}
    assert {one.told for one in shrunk(few, Against(level=0.4)).values()} == {"unclear"}


def test_skewed_differences_are_judged_as_often_as_symmetric_ones():
    """Of an exponential distribution whose mean is 0 the lower tail is found too often."""
    rng = np.random.default_rng(0)
    drawn = rng.exponential(size=(20_000, 30)) - 1
    errors = drawn.std(axis=1, ddof=1) / math.sqrt(30)
    means = drawn.mean(axis=1)
    centred = drawn - means[:, None]
    skews = (centred**3).mean(axis=1) / drawn.std(axis=1) ** 3 / math.sqrt(30)
    shares = {}
    for name, each in (("as seen", np.zeros_like(skews)), ("symmetric", skews)):
        z = [
            LossDifference(*one).symmetric / one[1] for one in zip(means, errors, each, strict=True)
        ]
        shares[name] = np.mean(np.array(z) < -1.645)
    assert shares["as seen"] > 0.1
    assert shares["symmetric"] < 0.075


@given(
    skew=st.floats(-2, 2),
    gains=st.tuples(st.floats(-5, 5), st.floats(-5, 5)),
)
def test_more_gain_is_never_judged_less(skew, gains):
    low, high = sorted(gains)
    assert (
        LossDifference(low, 1.0, skew).symmetric <= LossDifference(high, 1.0, skew).symmetric + 1e-9
    )
