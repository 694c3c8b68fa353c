"""Claims about CYCle on Gossip-SGD are judged against the best of several graphs, rule by rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from securefair_lab.papers.cycle_claims import (
    COMPARABLE_GOSSIP,
    EVERYONE_GAINS,
    FAIRER_GOSSIP,
    FEWER_ANSWERS,
    FOLLOWS_GOSSIP,
    GAIN_GOSSIP,
    REWARDED_CLAIMS,
)
from securefair_lab.papers.cycle_methods import PRINTED_LINKS, RELATIVE_LINKS, SOFTENED
from securefair_lab.papers.cycle_settings import CNN, RESNET
from securefair_lab.papers.experiment import Row


def row(method: str, mcg: float, cgs: float, pearson: float, **fields: str) -> Row:
    return Row(
        fields={
            "dataset": "D",
            "split": "natural",
            "n": 4,
            "model": None,
            "family": "gossip",
            "method": method,
            **fields,
        },
        metrics={"MCG": mcg, "CGS": cgs, "pearson": pearson},
        spread={},
        paper={},
    )


MORE_THAN_CFFL = REWARDED_CLAIMS[0]


@pytest.mark.parametrize(
    ("each", "holds"), [({"least gain": (0.3, 1.0)}, True), ({"least gain": (-0.1, 1.4)}, False)]
)
def test_one_seed_in_which_somebody_loses_is_enough(each: dict, holds: bool) -> None:
    own = row("CYCle", 2.0, 1.0, 1.0, family="PDL", model=RESNET, alignment=SOFTENED)
    own = replace(own, metrics={"least gain": 0.65}, each=each)
    assert EVERYONE_GAINS.holds([own]) is holds


ROWS = [
    row("Gossip-SGD", 8.0, 4.0, 0.0, topology="complete"),
    row("Gossip-SGD", 5.0, 3.0, 0.7, topology="ring"),
    row("CYCle", -0.5, 1.0, 0.99, links=PRINTED_LINKS),
    row("CYCle", 4.5, 3.5, 0.6, links=RELATIVE_LINKS),
]


@pytest.mark.parametrize(
    ("claims", "printed", "relative"),
    [
        (FAIRER_GOSSIP, True, False),  # 1 < 3, but 3.5 > 3 on the ring
        (GAIN_GOSSIP, False, True),
        (COMPARABLE_GOSSIP, False, True),  # 4.5 > 8 / 2
        (FOLLOWS_GOSSIP, True, False),  # 0.6 is above 0.5, but below the ring's 0.7
    ],
)
def test_a_claim_has_to_hold_against_every_graph(
    claims: tuple, printed: bool, relative: bool
) -> None:
    assert [claim.holds(ROWS) for claim in claims] == [printed, relative]


def test_an_equal_spread_is_no_more() -> None:
    own = row("CYCle", 5.0, 3.0, 1.0, links=PRINTED_LINKS)
    assert FAIRER_GOSSIP[0].holds([*ROWS[:2], own])


@pytest.mark.parametrize(("above", "holds"), [(4, True), (3, False)])
def test_one_split_may_be_left_out(above: int, holds: bool) -> None:
    def at(split: int, method: str, mcg: float) -> Row:
        return row(method, mcg, 0.0, 0.0, model=CNN, split=str(split))

    rows = [at(split, "CYCle", 2.0 if split < above else 1.0) for split in range(5)]
    rows += [at(split, "CFFL", 1.0) for split in range(5)]
    assert MORE_THAN_CFFL.holds(rows) is holds


@pytest.mark.parametrize(("answered", "holds"), [((50, 65), True), ((50, 66), False)])
def test_answers_have_to_be_fewer_in_every_division(
    answered: tuple[float, float], holds: bool
) -> None:
    own = row("CYCle", 0.0, 0.0, 0.0, alignment=SOFTENED)
    rows = [replace(own, metrics={"answered": share}) for share in answered]
    assert [claim.holds(rows) for claim in FEWER_ANSWERS] == [holds, False]


def test_nothing_is_claimed_of_runs_that_are_not_there() -> None:
    without = [row for row in ROWS if row.fields["method"] == "Gossip-SGD"]
    for claims in (FAIRER_GOSSIP, GAIN_GOSSIP, COMPARABLE_GOSSIP, FOLLOWS_GOSSIP):
        assert not any(claim.holds(without) for claim in claims)
