"""What stored runs of size "cpu" tell of the papers' claims.

The stored numbers are those of comparison.json as `securefair reproduce` wrote it; where a
claim has been worded anew since, they were judged by the new words. The verdicts are a table of
docs/notebook/reproduction.md, see `test_guide.py`.
"""

from __future__ import annotations

from pathlib import Path
from statistics import mean, stdev

import pytest

from securefair_lab.papers.catalogue import EXPERIMENTS
from securefair_lab.papers.comparison import judged, rows_of
from securefair_lab.papers.stored import stored_names, stored_result
from securefair_lab.papers.verifying import verified

GUIDE = Path(__file__).parents[3] / "docs" / "notebook" / "reproduction.md"


UNTRAINED = [
    name
    for name in stored_names()
    if EXPERIMENTS[name].measure is not None and not EXPERIMENTS[name].needs
]
"""These are computed anew below, verdicts and all."""


@pytest.mark.parametrize("name", [name for name in stored_names() if name not in UNTRAINED])
def test_verdicts_follow_from_the_stored_seeds(name: str) -> None:
    found = stored_result(name)
    # A file may hold some of an experiment's settings, and then judges the claims on these.
    words = [own.claim for own in found.claims]
    assert words or not EXPERIMENTS[name].claims  # some are beside the papers
    assert judged(EXPERIMENTS[name], rows_of(found), words) == found.claims


@pytest.mark.parametrize("name", stored_names())
def test_means_and_spreads_are_those_of_the_seeds(name: str) -> None:
    found = stored_result(name)
    assert (found.experiment, found.size) == (name, "cpu")
    for number in found.numbers:
        if number.each:
            assert len(number.each) == found.seeds
            assert number.ours == pytest.approx(mean(number.each))
            spread = stdev(number.each) if found.seeds > 1 else 0.0
            assert number.spread == pytest.approx(spread, abs=1e-9)


@pytest.mark.parametrize("name", UNTRAINED)
def test_what_trains_nothing_repeats_to_the_digit(name: str) -> None:
    found = verified(name, None)
    assert (found.status, found.against, found.different) == ("equal", "computed now", 0)


def test_the_guide_tells_of_every_stored_result() -> None:
    guide = GUIDE.read_text(encoding="utf-8")
    names = stored_names()
    assert {"cycle-figure3", "cycle-table3", "dpfl-table1", "dpfl-table2"} <= set(names)
    assert [name for name in names if f"`{name}`" not in guide] == []
