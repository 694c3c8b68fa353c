"""Codes of columns: one spelling for what is the same."""

import unicodedata

import pytest

from securefair.config.columns import code, missing_codes


@pytest.mark.parametrize(
    ("one", "other", "joined"),
    [("03", "3.0", False), (".50", "0.5", False), ("YES ", "yes", True)],
)
def test_codes_that_are_the_same(one, other, joined):
    assert code(one, joined=joined) == code(other, joined=joined)


def test_an_accent_is_one_with_its_letter():
    assert code(unicodedata.normalize("NFD", "féminin")) == "féminin"


def test_codes_of_columns_stand_behind_those_of_all():
    assert missing_codes(["NA"], []) == ("NA",)
