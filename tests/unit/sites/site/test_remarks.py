"""Why a round has no answer, or no sum, stands in a site's report."""

import dataclasses

import msgspec
import pytest

from securefair.protocol.settings import SumSettings
from securefair.sites.site.remarks import remarks_of
from support.site_statuses import RECORD

SUMS = SumSettings(name="c", senders={n: tuple("abc".replace(n, "")) for n in "abc"}, max_sums=2)
NOTHING = {"opened": (), "asked": ()}


def remarks(*changes, role="both", sums=None):
    records = [
        msgspec.structs.replace(RECORD, round=number, **one) for number, one in enumerate(changes)
    ]
    return list(remarks_of(records, role, sums))


def test_of_an_answer_that_was_refused_it_says_why():
    """The row said "nobody", and its note was empty."""
    failed = NOTHING | {"failed": ("south",)}
    doubted = {"doubted": ("south",)}
    refused = "answer of south refused by a statistical test, which 1 of 1,000 honest ones fails"
    assert remarks({}, failed, failed | doubted, doubted | {"opened": ("south",)}) == [
        "",
        "no answer of south could be used",
        refused,
        refused,  # it was opened and scored, where alignments are private
    ]


def test_a_sum_that_its_budget_ended_says_so():
    """Rounds after the last sum said "nobody", and their notes were empty."""
    summed = NOTHING | {"offered": ("a", "b"), "combined": ("a", "b")}
    assert remarks(summed, summed, NOTHING, sums=SUMS) == [
        "",
        "",
        "budget of sums used up (gossip.max_sums)",
    ]
    endless = dataclasses.replace(SUMS, max_sums=None)
    assert remarks(summed, summed, NOTHING, sums=endless)[2] == "nobody offered its model"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"offered": ("a",)}, "too few peers for a sum"),
        ({"lost": ("a", "b")}, "too few peers for a sum"),
        ({"away": ("a",)}, "a away; too few peers for a sum"),
        ({}, "nobody offered its model"),
        ({"sum_error": "it did not open"}, "it did not open"),
    ],
    ids=str,
)
def test_a_round_without_a_sum_says_why(changes, said):
    assert remarks(NOTHING | changes, sums=SUMS) == [said]


def test_where_answers_are_added_nobody_offers_anything():
    added = dataclasses.replace(SUMS, averages=False)
    assert remarks(NOTHING, sums=added) == [""]
    assert remarks(NOTHING | {"lost": ("a",)}, sums=added) == ["too few peers for a sum"]


def test_who_only_teaches_does_not_know_who_was_away():
    assert remarks(NOTHING | {"away": ("a",), "step_error": "broken"}, role="teacher") == ["broken"]
