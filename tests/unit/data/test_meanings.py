"""Words that probably mean the same."""

import pytest

from securefair.data.meanings import two_meanings, yes_of


def test_words_of_two_meanings_are_told_in_their_order():
    assert two_meanings(["no", "ja", "0", "Yes"]) == ("no and yes", ["no", "0"], ["ja", "Yes"])
    assert two_meanings(["m", "weiblich", "Male"]) == (
        "male and female",
        ["m", "Male"],
        ["weiblich"],
    )


@pytest.mark.parametrize("codes", [["no", "maybe"], ["yes", "ja"], ["1", "2"], []])
def test_other_words_mean_nothing_known(codes):
    assert two_meanings(codes) is None


def test_yes_is_told_wherever_it_stands():
    assert yes_of([["ja"], ["nein"]]) == "ja"
    assert yes_of([["0", "no"], ["1"]]) == "1"
    assert yes_of([["well"], ["ill"]]) is None
    assert yes_of([["no"], ["yes"], ["maybe"]]) is None
