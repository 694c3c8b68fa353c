import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.errors import ConfigError, ModelError
from securefair.worth import ReputationRule

cosines = st.floats(-1, 1)
reputations = st.none() | st.floats(0, 1)
rules = st.builds(
    lambda alpha, low, gap: ReputationRule(alpha=alpha, tau_opt=low, tau_max=min(1.0, low + gap)),
    st.floats(0, 0.99),
    st.floats(0, 0.9),
    st.floats(0.01, 1),
)


@pytest.mark.parametrize(
    ("cosine", "expected"),
    [
        (1.0, 1.0),
        (0.5, 1.0),  # s = 0.25 = tau_opt
        (0.25, 0.75),  # s = 0.375
        (0.0, 0.5),  # uninformative: half the reputation
        (-0.5, 0.0),  # s = 0.75 = tau_max
        (-1.0, 0.0),
    ],
)
def test_score_of_the_papers_thresholds(cosine, expected):
    assert ReputationRule().score(cosine) == pytest.approx(expected, abs=1e-15)


def test_first_reputation_is_the_score_and_later_ones_are_smoothed():
    rule = ReputationRule()
    assert rule.update(None, 1.0) == 1.0
    assert rule.update(1.0, -1.0) == 0.5
    assert rule.update(0.5, -1.0) == 0.25
    assert ReputationRule(alpha=0.75).update(1.0, 0.0) == pytest.approx(0.875)


@given(rules, reputations, cosines, cosines)
def test_in_range_and_monotone_in_alignment(rule, previous, one, other):
    low, high = sorted((one, other))
    worse, better = rule.update(previous, low), rule.update(previous, high)
    assert 0.0 <= worse <= better <= 1.0


@given(rules, cosines, st.floats(0, 1), st.floats(0, 1))
def test_monotone_in_the_previous_reputation(rule, cosine, one, other):
    low, high = sorted((one, other))
    assert rule.update(low, cosine) <= rule.update(high, cosine)


@given(cosines, st.floats(0, 0.3), st.floats(0, 0.3))
def test_a_lower_tau_opt_is_stricter(cosine, one, other):
    strict, lenient = sorted((one, other))
    assert (
        ReputationRule(tau_opt=strict).score(cosine)
        <= ReputationRule(tau_opt=lenient).score(cosine) + 1e-15
    )


def test_a_label_flipper_loses_its_reputation_geometrically():
    rule, r = ReputationRule(), 1.0
    for scored in range(1, 11):
        r = rule.update(r, -0.9)
        assert r == 0.5**scored


@pytest.mark.parametrize("cosine", [1.01, -1.01, math.nan, math.inf])
def test_refuses_what_is_not_a_cosine(cosine):
    with pytest.raises(ModelError, match="not a cosine"):
        ReputationRule().update(None, cosine)


@pytest.mark.parametrize("previous", [-0.1, 1.1, math.nan])
def test_refuses_what_is_not_a_reputation(previous):
    with pytest.raises(ModelError, match="not a reputation"):
        ReputationRule().update(previous, 0.0)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"alpha": 1.0}, "alpha"),
        ({"alpha": -0.1}, "alpha"),
        ({"alpha": math.nan}, "alpha"),
        ({"tau_opt": 0.8}, "tau_opt"),
        ({"tau_opt": 0.75}, "tau_opt"),
        ({"tau_opt": -0.1}, "tau_opt"),
        ({"tau_max": 1.1}, "tau_max"),
    ],
)
def test_refuses_impossible_settings_by_name(settings, named):
    with pytest.raises(ConfigError, match=named):
        ReputationRule(**settings)
