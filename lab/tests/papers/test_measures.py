"""The tables' figures, computed by hand from records."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from securefair.records import RoundRecord
from securefair_lab.papers import measures
from securefair_lab.papers.experiment import Finished, Row


def record(accuracy: list[float], **more: Any) -> RoundRecord:
    count = len(accuracy)
    nothing = [[None] * count for _ in range(count)]
    fields: dict[str, Any] = {
        "algorithm": "cycle",
        "round": 0,
        "forced": True,
        "accuracy": accuracy,
        "cross_entropy": [0.0] * count,
        "reputation": nothing,
        "alignment": nothing,
        "distillation_loss": nothing,
        "asked": [[False] * count] * count,
        "answered": [[False] * count] * count,
    }
    return RoundRecord(**{**fields, **more})


def finished(records: list[RoundRecord], control: list[RoundRecord], **fields: Any) -> Finished:
    contender: Any = SimpleNamespace(control=records is control, fields=fields)
    return Finished(contender, 0, records, control)


def test_gains_are_over_the_control() -> None:
    alone = [record([0.5, 0.6])]
    found = measures.collaboration(finished([record([0.7, 0.6])], alone))
    assert found == pytest.approx({"MVA": 65, "MCG": 10, "CGS": 10, "least gain": 0})
    assert measures.collaboration(finished(alone, alone)) == {}
    both = measures.participants_and_collaboration(finished(alone, alone))
    assert both == pytest.approx(
        {"P1": 50, "P2": 60, "MVA": 55, "MCG": 0, "CGS": 0, "least gain": 0}
    )


def test_a_correlation_that_does_not_exist_counts_as_none() -> None:
    alone = [record([0.5, 0.6])]
    same = measures.collaboration_and_correlation(finished([record([0.7, 0.7])], alone))
    assert same["pearson"] == 0.0
    follows = measures.collaboration_and_correlation(finished([record([0.6, 0.7])], alone))
    assert follows["pearson"] == pytest.approx(1.0)


def test_reputations_of_flippers_and_of_honest_participants() -> None:
    after = record(
        [0.8, 0.7, 0.2],
        reputation=[[None, 0.9, 0.1], [0.7, None, 0.3], [0.5, 0.5, None]],
        answered=[[False, True, False], [True, False, False], [True, False, False]],
    )
    found = measures.honesty(finished([after], [], flippers="P3"))
    assert found["honest_average"] == pytest.approx(75)
    assert found["reputation of honest"] == pytest.approx(0.8)
    assert found["reputation of flippers"] == pytest.approx(0.2)
    assert found["answered flippers"] == pytest.approx(50)


def test_reputations_are_of_the_first_of_the_others_and_of_all() -> None:
    first, last = (
        record(
            [0.8, 0.7, 0.2],
            reputation=[[None, one, one], [0.7, None, 0.3], [0.5, 0.5, None]],
            answered=[[False, True, False], [True, False, False], [True, False, False]],
        )
        for one in (0.9, 0.1)
    )
    found = measures.reputations(finished([first, last], []))
    assert (found["of P1 at first"], found["of P1"]) == pytest.approx((0.6, 0.6))
    assert found["of the others"] == pytest.approx(0.4)
    assert (found["of all at first"], found["of all"]) == pytest.approx((3.8 / 6, 2.2 / 6))
    assert found["answered"] == pytest.approx(50)


def test_sharing_is_of_rounds_and_has_a_direction() -> None:
    records = [record([0.5, 0.5], answered=[[False, own], [True, False]]) for own in (True, False)]
    assert measures.sharing(finished(records, [])) == {"P1 from P2": 50, "P2 from P1": 100}


def test_personal_models_count_where_they_validated_best() -> None:
    records = [
        record([0.9, 0.2], validation_accuracy=[0.4, 0.9]),
        record([0.5, 0.8], validation_accuracy=[0.6, 0.1]),
    ]
    found = measures.personalised(finished(records, []))
    assert found == pytest.approx({"accuracy": 35, "variance": 225})
    tuned = [structs.replace(one, algorithm="fedavg_fine_tuned") for one in records]
    found = measures.personalised(finished(tuned, []))
    assert found == pytest.approx({"accuracy": 65, "variance": 225})


def test_the_worst_seed_counts_where_seeds_are_kept() -> None:
    row = Row(fields={}, metrics={"MCG": 2.0}, spread={}, paper={}, each={"MCG": [3.0, 1.0]})
    assert measures.worst(row, "MCG") == 1
    assert measures.worst(replace(row, each={}), "MCG") == 2


def test_a_method_is_below_another_in_every_setting_or_not() -> None:
    def row(method: str, split: str, value: float) -> Row:
        return Row(
            fields={"method": method, "split": split}, metrics={"CGS": value}, spread={}, paper={}
        )

    rows = [row("A", "x", 1), row("B", "x", 2), row("A", "y", 3), row("B", "z", 1)]
    assert measures.below(rows, "CGS", {"method": "A"}, {"method": "B"})
    assert not measures.below([*rows, row("B", "y", 2)], "CGS", {"method": "A"}, {"method": "B"})
    assert not measures.below(rows[:1], "CGS", {"method": "A"}, {"method": "B"})
