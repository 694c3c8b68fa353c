"""Held-out images choose lambda_0, each seed for itself, and no test image has a part in it."""

from __future__ import annotations

import pytest

from securefair_lab.papers.experiment import Row
from securefair_lab.papers.lambda_choice import LAMBDA_CLAIMS, advantage, chosen


def row(name: str, lambda_0: float | None, held_out: list[float], gains: list[float]) -> Row:
    fields = {"split": "homogeneous", "method": "VPDL", "lambda_0": lambda_0}
    if name != "VPDL":
        fields |= {"method": "CYCle", "alignment": name}
    each = {"held-out MVA": held_out, "MCG": gains, "CGS": [1 / (1 + g) for g in gains]}
    means = {metric: sum(values) / len(values) for metric, values in each.items()}
    return Row(fields=fields, metrics=means, spread={}, paper={}, each=each)


ROWS = [
    row("VPDL", 10.0, [80, 70], [4.0, 1.0]),
    row("VPDL", 200.0, [70, 80], [0.0, 2.0]),
    row("softened", 10.0, [80, 80], [1.0, 1.0]),
    row("softened", 200.0, [80, 90], [9.0, 3.0]),
]


def test_each_seed_chooses_and_of_equals_the_smallest() -> None:
    best = chosen(ROWS)
    assert best["homogeneous", "VPDL"].lambdas == [10.0, 200.0]
    assert best["homogeneous", "VPDL"].each["MCG"] == [4.0, 2.0]
    # The first seed's held-out images cannot tell; its test images could, and are not asked.
    assert best["homogeneous", "softened"].lambdas == [10.0, 200.0]
    assert best["homogeneous", "softened"].each["MCG"] == [1.0, 3.0]


def test_an_advantage_is_at_equal_lambda_or_at_each_best() -> None:
    assert advantage(ROWS, 10.0, "MCG", "softened") == {"homogeneous": pytest.approx(-1.5)}
    assert advantage(ROWS, 200.0, "MCG", "softened") == {"homogeneous": pytest.approx(5.0)}
    assert advantage(ROWS, None, "MCG", "softened") == {"homogeneous": pytest.approx(-1.0)}


def test_claims_follow_the_advantage() -> None:
    held = {claim.words for claim in LAMBDA_CLAIMS if claim.holds(ROWS)}
    assert held == {
        "CYCle's mean gain (MCG) is above VPDL's on every split; both at lambda_0 = 200; softened "
        "alignment",
        "CYCle's gains are spread less than VPDL's (CGS) on every split; both at lambda_0 = 200; "
        "softened alignment",
    }


def test_nothing_is_shown_by_no_rows() -> None:
    assert [claim.words for claim in LAMBDA_CLAIMS if claim.holds([])] == []
