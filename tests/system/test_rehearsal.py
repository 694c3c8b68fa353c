"""Rehearsals: real processes that are killed and disturbed, compared with one process."""

import json
import os
import re

import pytest

from securefair.sites.rehearsal.elsewhere import PREVIOUS, installed
from support.operators import securefair

soak = pytest.mark.skipif(
    "SECUREFAIR_KILLS" not in os.environ, reason="minutes of waiting: `make soak` runs it"
)


@pytest.mark.slow
@soak
def test_four_sites_decide_in_twelve_rounds_as_one_process_does():
    options = ("--sites", 4, "--rounds", 12, "--kills", 0, "--faults", 0, "--json")
    found = json.loads(securefair("rehearse", *options))
    del found["seconds"]
    assert found == {
        "decisions_equal": True,
        "rounds": 12,
        "kills": 0,
        "lost_rounds": 0,
        "refused": 0,
    }


@pytest.mark.slow
def test_a_rehearsal_with_kills_and_faults_loses_nothing():
    """Three real processes; SECUREFAIR_KILLS=200 is the long form (`make soak`), of four."""
    kills, rounds, sites = 4, 2, 3
    if "SECUREFAIR_KILLS" in os.environ:
        kills = int(os.environ["SECUREFAIR_KILLS"])
        rounds, sites = 3 + kills // 5, 4
    options = ("--sites", sites, "--rounds", rounds, "--kills", kills, "--faults", 0.03, "--json")
    found = json.loads(securefair("rehearse", *options))
    assert found["decisions_equal"]
    assert found["lost_rounds"] == 0
    # A fast run may end before the last ones are due.
    assert kills * 4 // 5 <= found["kills"] <= kills


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        ("--algorithm", "validation", "--outcome", "time"),
        pytest.param(("--algorithm", "validation"), marks=soak),
        pytest.param(("--outcome", "time"), marks=soak),
    ],
    ids=["validation of times to an event", "validation", "times to an event"],
)
def test_real_sites_end_whatever_they_are_asked(asked):
    """Who looks at peers' models, and whose patients have no classes: one of three is killed."""
    options = ("--sites", 3, "--rounds", 1, "--kills", 1, "--json")
    found = json.loads(securefair("rehearse", *asked, *options))
    assert found["decisions_equal"]
    assert (found["rounds"], found["lost_rounds"]) == (1, 0)


@pytest.mark.parametrize(
    "options", [("--outcome", "auc"), ("--outcome", "time", "--year"), ("--outcome", "two_classes")]
)
def test_what_cannot_be_rehearsed_is_refused_in_a_line(options):
    assert "securefair: " in securefair("rehearse", *options, fails=True)


@pytest.mark.slow
@soak
@pytest.mark.parametrize(
    ("algorithm", "rounds"),
    [
        ("transfer", 3),
        ("validation", 3),
        ("table-one", 6),
        ("vpdl", 72),
        ("cycle", 72),
        ("cycle-gossip", 51),
    ],
)
def test_a_year_loses_no_round_and_spends_nothing_twice(algorithm, rounds):
    found = json.loads(securefair("rehearse", "--year", "--algorithm", algorithm, "--json"))
    assert (found["days"], found["sites"]) == (365, 8)
    assert found["rounds_possible"] == rounds
    assert found["rounds_finished"] == rounds
    assert found["spent_twice"] == 0
    assert bool(found["not_upgraded"]) == (not found["upgrades"])
    if PREVIOUS.exists() and algorithm in installed(PREVIOUS).kinds:
        assert [one["version"] for one in found["upgrades"]] == [installed(PREVIOUS).version] * 2
        assert found["upgrades"][0]["open_round"] is not None
    known = "identity new|project sign|site leave|site block|move its|recover|site renew|install"
    assert all(re.search(known, action) for action in found["actions"])


@pytest.mark.slow
@soak
def test_honest_sites_end_their_rounds_although_one_lies():
    """False receipts and envelopes, a flood, planted files, and clocks that jump, all at once.

    tests/security has each of them by itself.
    """
    found = json.loads(securefair("rehearse", "--hostile", "--sites", 3, "--rounds", 1, "--json"))
    assert (found["rounds"], found["lost_rounds"], found["destructive"]) == (1, 0, [])
    assert len({(fault["done"], fault["to"]) for fault in found["faults"]}) >= 2 * 16
    assert all(fault["said"] for fault in found["faults"])
