"""Transfer and its controls on the papers' tables."""

from __future__ import annotations

import numpy as np
import pytest

from securefair.data.dataset import ParticipantData, Samples
from securefair_lab.papers.controls import (
    AVERAGED,
    CLAIMS,
    METHODS,
    TRANSFER,
    TUNED,
    in_range,
    on_adult,
)
from securefair_lab.papers.experiment import Row


def test_gains_are_over_tuned_alone() -> None:
    rows = {str(row.fields["method"]): row.metrics for row in on_adult("smoke", None, 0)}
    assert tuple(rows) == METHODS
    assert rows[TUNED]["MCG"] == rows[TUNED]["least gain"] == 0
    for metrics in rows.values():
        everyone = [metrics[f"P{n}"] for n in range(1, 6)]
        assert metrics["mean"] == pytest.approx(np.mean(everyone))
        assert metrics["MCG"] == pytest.approx(metrics["mean"] - rows[TUNED]["mean"])


def test_every_feature_is_between_its_least_and_its_largest() -> None:
    def samples(*rows: list[float]) -> Samples:
        return Samples(np.array(rows), np.zeros(len(rows), dtype=np.int64), 2)

    one = ParticipantData("A", samples([0.0, 7.0], [5.0, 7.0]), samples([10.0, 7.0]))
    (scaled,) = in_range([one])
    assert scaled.train.features.tolist() == [[-1.0, -1.0], [0.0, -1.0]]
    assert scaled.test.features.tolist() == [[1.0, -1.0]]  # what never varies says nothing


@pytest.mark.parametrize(
    ("transfer", "least", "held"),
    [(1.0, 0.5, [True, True]), (0.2, -0.1, [False, False]), (0.4, -0.1, [True, False])],
)
def test_claims(transfer: float, least: float, held: list[bool]) -> None:
    def row(method: str, gain: float, least: float) -> Row:
        metrics = {"MCG": gain, "least gain": least}
        return Row(fields={"dataset": "d", "method": method}, metrics=metrics, spread={}, paper={})

    rows = [row(TUNED, 0, 0), row(AVERAGED, 0.3, -0.2), row(TRANSFER, transfer, least)]
    assert [claim.holds(rows) for claim in CLAIMS] == held
