"""A claim is judged with the margin that its seeds leave."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from securefair_lab.papers.experiment import Row
from securefair_lab.papers.verdicts import verdicts

T_90 = {2: 2.920, 4: 2.132}
"""Student's t of 90 % two-sided, by degrees of freedom."""


def rows(mine: Sequence[float], theirs: Sequence[float]) -> list[Row]:
    return [
        Row.of({"method": name}, {"MCG": each}, {})
        for name, each in (("mine", mine), ("theirs", theirs))
    ]


def above(found: Sequence[Row]) -> bool:
    return found[0].metrics["MCG"] > found[1].metrics["MCG"]


def below(found: Sequence[Row]) -> bool:
    return not above(found)


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
    assert verdicts([lambda _: True], [row]) == ["cannot be told"]


def test_a_claim_of_each_seed_moves_with_the_means() -> None:
    found = rows([0.0, 2.0, 2.1], [1.0, 1.0, 1.0])
    assert verdicts([lambda own: min(own[0].each["MCG"]) > 0], found) == ["cannot be told"]
