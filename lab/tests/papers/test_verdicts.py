"""A claim is judged with the margin that its seeds leave."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from securefair_lab.papers.catalogue import EXPERIMENTS
from securefair_lab.papers.comparison import rows_of
from securefair_lab.papers.experiment import Parts, Row
from securefair_lab.papers.measures import every
from securefair_lab.papers.stored import stored_result
from securefair_lab.papers.verdicts import verdicts

T_90 = {2: 2.920, 4: 2.132}
"""Student's t of 90 % two-sided, by degrees of freedom."""


def rows(mine: Sequence[float], theirs: Sequence[float]) -> list[Row]:
    return [
        Row.of({"method": name}, {"MCG": each}, {})
        for name, each in (("mine", mine), ("theirs", theirs))
    ]


def above(found: Sequence[Row]) -> Parts:
    return every([found[0].metrics["MCG"] > found[1].metrics["MCG"]])


def below(found: Sequence[Row]) -> Parts:
    return every([not above(found)])


@pytest.mark.parametrize("seeds", [3, 5])
@pytest.mark.parametrize(("factor", "expected"), [(1.3, "holds"), (0.7, "cannot be told")])
def test_one_difference_is_judged_by_the_paired_t_interval(
    seeds: int, factor: float, expected: str
) -> None:
    rng = np.random.default_rng(seeds)
    common, apart = 10 * rng.standard_normal(seeds), rng.standard_normal(seeds)
    apart -= apart.mean()
    half_width = T_90[seeds - 1] * apart.std(ddof=1) / math.sqrt(seeds)
    found = rows((common + apart + factor * half_width).tolist(), common.tolist())
    assert verdicts([above], found) == [expected]
    assert verdicts([below], found) == ["fails" if expected == "holds" else expected]


def test_equal_seeds_leave_no_doubt() -> None:
    assert verdicts([above, below], rows([2.0, 2.0], [1.0, 1.0])) == ["holds", "fails"]


def test_one_seed_tells_nothing() -> None:
    assert verdicts([above], rows([2.0], [1.0])) == ["cannot be told"]


def test_seeds_that_were_not_kept_tell_nothing() -> None:
    row = Row(fields={}, metrics={"MCG": 1.0}, spread={"MCG": 0.0}, paper={})
    assert verdicts([lambda _: every([True])], [row]) == ["cannot be told"]


def test_a_claim_of_each_seed_moves_with_the_means() -> None:
    found = rows([0.0, 2.0, 2.1], [1.0, 1.0, 1.0])
    assert verdicts([lambda own: every([min(own[0].each["MCG"]) > 0])], found) == ["cannot be told"]


def test_every_draw_has_its_own_numbers() -> None:
    """Rows are the same objects in all of them: means and seeds move together, and are new."""
    seen = []

    def noted(found: Sequence[Row]) -> Parts:
        each = found[0].each["MCG"]
        assert np.mean(each) == pytest.approx(found[0].metrics["MCG"])
        seen.append(found[0].metrics["MCG"])
        return every([len(seen) % 2 == 0])

    given = rows([0.0, 2.0, 2.1], [1.0, 1.0, 1.0])
    assert verdicts([noted], given) == ["cannot be told"]
    assert len(set(seen)) > len(seen) / 2
    assert np.mean(seen) == pytest.approx(given[0].metrics["MCG"], abs=0.2)
    assert given[0].each["MCG"] == [0.0, 2.0, 2.1]


def settings(differences: np.ndarray) -> list[Row]:
    """A row for each setting, of differences (settings, seeds)."""
    return [
        Row.of({"split": str(number)}, {"by": own}, {})
        for number, own in enumerate(differences.tolist())
    ]


def all_above(found: Sequence[Row], but: int = 0) -> Parts:
    return every((row.metrics["by"] > 0 for row in found), but)


@pytest.mark.parametrize("count", [1, 5])
def test_settings_without_a_difference_seldom_fail(count: int) -> None:
    """By chance a twentieth may: that all five are seldom above at once shows nothing."""
    rng = np.random.default_rng(1)
    found = [verdicts([all_above], settings(rng.standard_normal((count, 3))))[0] for _ in range(60)]
    assert found.count("fails") <= 6
    assert found.count("cannot be told") >= 48


def test_one_setting_that_is_below_is_enough() -> None:
    noise = 0.1 * np.random.default_rng(2).standard_normal((5, 3))
    one_below = noise + np.array([[2.0], [2.0], [-2.0], [2.0], [2.0]])
    assert verdicts([all_above], settings(one_below)) == ["fails"]
    assert verdicts([all_above], settings(abs(one_below))) == ["holds"]


def test_what_may_be_left_out_has_to_be_below_more_often() -> None:
    noise = 0.1 * np.random.default_rng(3).standard_normal((3, 3))
    but_one = [lambda own: all_above(own, 1)]
    assert verdicts(but_one, settings(noise + np.array([[2.0], [2.0], [-2.0]]))) == ["holds"]
    assert verdicts(but_one, settings(noise + np.array([[2.0], [-2.0], [-2.0]]))) == ["fails"]


def test_of_settings_that_are_not_there_nothing_is_told() -> None:
    assert verdicts([lambda _: every([])], rows([1.0, 2.0], [0.0, 1.0])) == ["cannot be told"]


@pytest.mark.parametrize("name", ["cycle-figure3", "cycle-table6", "dpfl-table1"])
def test_another_start_of_the_generator_turns_no_stored_verdict(name: str) -> None:
    stored = stored_result(name)
    words = [own.claim for own in stored.claims]
    asked = [own.parts for own in EXPERIMENTS[name].claims if own.words in words]
    assert verdicts(asked, rows_of(stored), start=1) == [own.verdict for own in stored.claims]
