"""95 % intervals of shares: what small counts leave open."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from securefair.errors import DataError
from securefair.worth.interval import CONFIDENCE, alike, wilson


def test_eight_of_eight_leave_a_third_open():
    # (k + z^2/2 -+ z sqrt(k (n - k) / n + z^2/4)) / (n + z^2) at z = 1.96, k = n = 8
    low, high = wilson(1.0, 8)
    assert (low, high) == (pytest.approx(8 / (8 + 1.959964**2), abs=1e-6), 1.0)
    assert wilson(0.0, 8) == (0.0, pytest.approx(1 - low))


def test_a_known_example():
    """81 of 263: Newcombe, Statistics in Medicine 17 (1998), table I, method 3."""
    assert wilson(81 / 263, 263) == (
        pytest.approx(0.2553, abs=1e-4),
        pytest.approx(0.3662, abs=1e-4),
    )


@pytest.mark.parametrize("patients", [1, 2, 7, 40, 1000])
def test_it_is_the_interval_of_scipy(patients):
    for right in {0, 1, patients // 3, patients // 2, patients - 1, patients}:
        expected = binomtest(right, patients).proportion_ci(CONFIDENCE, method="wilson")
        assert wilson(right / patients, patients) == pytest.approx(tuple(expected), abs=1e-12)


@given(patients=st.integers(1, 400), right=st.data())
def test_the_share_lies_within_and_more_patients_tell_more(patients, right):
    share = right.draw(st.integers(0, patients)) / patients
    low, high = wilson(share, patients)
    assert 0 <= low <= share <= high <= 1
    assert high - low > 0
    wider = wilson(share, 4 * patients)
    assert wider[1] - wider[0] < high - low


def test_nobody_is_no_share():
    with pytest.raises(DataError, match="no share of patients"):
        wilson(1.0, 0)


def test_a_mean_over_hospitals_is_no_surer_than_its_smallest_allows():
    assert alike([8]) == 8
    assert alike([10, 10, 10]) == 30
    assert alike([5, 1000]) == 20
