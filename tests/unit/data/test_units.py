"""Two units of one measurement are told from two groups of patients."""

import numpy as np
import pytest

from securefair.data.units import (
    CONVERSIONS,
    in_two_units,
    into_range,
    ranges_in_two_units,
)

QUARTILES = (0.25, 0.5, 0.75)


def quartiles(values):
    return tuple(np.quantile(values, QUARTILES).tolist())


def drawn(seed, mean, width, count=60):
    return np.random.default_rng(seed).normal(mean, width, count)


@pytest.mark.parametrize("one", CONVERSIONS, ids=lambda one: f"{one.low} {one.high}")
def test_every_conversion_is_found_whichever_hospitals_have_it(one):
    usual = {"kg": (75, 6), "degrees Celsius": (37.5, 0.8)}.get(one.low, (5.0, 0.5))
    values = [drawn(seed, *usual) for seed in range(4)]
    for converted in ({0}, {3}, {1, 2}, {0, 1, 3}):
        sites = {
            f"h{at}": quartiles(one.factor * each + one.offset if at in converted else each)
            for at, each in enumerate(values)
        }
        found = in_two_units(sites)
        assert found is not None
        assert one in found.conversions
        assert set(found.high) == {f"h{at}" for at in converted}


@pytest.mark.parametrize(
    ("means", "width"),
    [
        ((50, 62, 55), 9),  # older patients
        ((5, 5.5, 9), 2.5),  # sicker ones: middle halves meet
        ((1, 1, 3.2), 0.2),  # three times as much, yet as wide as before: nobody multiplied
        ((5, 5, 70), 0.5),
    ],
)
def test_patients_that_differ_are_not_in_another_unit(means, width):
    sites = {f"h{at}": quartiles(drawn(at, mean, width)) for at, mean in enumerate(means)}
    assert in_two_units(sites) is None


def test_what_has_no_spread_or_is_not_above_zero_tells_nothing():
    assert in_two_units({"a": (0.0, 0.0, 0.0), "b": (1.0, 2.0, 3.0)}) is None
    assert in_two_units({"a": (-3.0, -2.0, -1.0), "b": (1.0, 2.0, 3.0)}) is None
    assert in_two_units({"a": (1.0, 1.0, 1.0), "b": (100.0, 100.0, 100.0)}) is None


def test_ranges_of_proposals_tell_what_does_not_meet():
    found = ranges_in_two_units({"a": (3, 25), "b": (60, 450), "c": (4, 20)})
    assert found.high == ("b",)
    assert "glucose" in found.told({"a": (3, 25), "b": (60, 450), "c": (4, 20)}, "values are")
    assert ranges_in_two_units({"a": (40, 150), "b": (90, 330)}) is None  # kg and lb: they meet
    assert ranges_in_two_units({"a": (1990, 1995), "b": (2000, 2005)}) is None  # years


def test_values_beyond_an_agreed_range_may_be_in_another_unit():
    assert "mg/dl" in {one.high for one in into_range((160, 230), (2, 12))}
    assert into_range((1.6, 1.8), (120, 220))[0].high == "cm"
    assert into_range((160, 230), (100, 300)) == ()
    assert into_range((16000, 23000), (2, 3)) == ()
