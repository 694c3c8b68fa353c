import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from securefair.errors import DataError
from securefair_lab.papers.significance import t_test

scores = st.lists(st.floats(-10, 10).map(lambda x: round(x, 3)), min_size=2, max_size=12)


def test_two_sets_by_hand():
    # means 2 and 5, variances 1 and 4: pooled 2.5, t = 3 / sqrt(2.5 * (1/3 + 1/3))
    found = t_test([1, 2, 3], [3, 5, 7])
    assert found.mean == pytest.approx(3)
    assert found.statistic == pytest.approx(3 / math.sqrt(5 / 3))
    # four degrees of freedom: P(|T| >= t) = 1 - sin (1 + cos^2 / 2), tan = t / 2
    sine, cosine = (
        math.sin(math.atan(found.statistic / 2)),
        math.cos(math.atan(found.statistic / 2)),
    )
    assert found.p_value == pytest.approx(1 - sine * (1 + cosine**2 / 2))


def test_pairs_by_hand():
    # differences 2, 3, 4: mean 3, deviation 1, t = 3 sqrt(3); two degrees of freedom
    found = t_test([1, 2, 3], [3, 5, 7], paired=True)
    assert found.statistic == pytest.approx(3 * math.sqrt(3))
    t = found.statistic
    assert found.p_value == pytest.approx(1 - t / math.sqrt(t**2 + 2))


@given(scores, scores)
def test_turning_around_changes_the_sign_only(a, b):
    one, other = t_test(a, b), t_test(b, a)
    if one is None:
        assert other is None
        assert np.ptp(a) == np.ptp(b) == 0
        return
    assert one.mean == pytest.approx(-other.mean)
    assert one.statistic == pytest.approx(-other.statistic)
    assert one.p_value == pytest.approx(other.p_value)
    assert 0 <= one.p_value <= 1


@given(scores, scores)
def test_agrees_with_scipy(a, b):
    found = t_test(a, b)
    if found is None or min(np.ptp(a), np.ptp(b)) < 1e-2:
        return  # scipy warns of sets that hardly vary
    expected = ttest_ind(b, a)
    assert found.statistic == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue)


def test_false_alarms_are_as_frequent_as_promised():
    rng = np.random.default_rng(0)
    alarms = sum(
        t_test(rng.normal(size=10), rng.normal(size=10)).p_value < 0.1 for _ in range(1000)
    )
    assert 60 < alarms < 140  # binomial(1000, 0.1): standard deviation 9.5


def test_what_does_not_vary_has_no_t():
    assert t_test([1, 1], [2, 2, 2]) is None
    assert t_test([1, 2, 3], [2, 3, 4], paired=True) is None
    assert t_test([1, 1, 1], [1, 2, 3]).p_value > 0.05


@pytest.mark.parametrize(
    ("a", "b", "paired"),
    [([1], [1, 2], False), ([[1, 2]], [1, 2], False), ([1, 2], [1, 2, 3], True)],
)
def test_what_cannot_be_compared_is_refused(a, b, paired):
    with pytest.raises(DataError, match="cannot compare"):
        t_test(a, b, paired=paired)
    with pytest.raises(DataError, match="NaN or infinite"):
        t_test([1, math.nan], [1, 2], paired=paired)
