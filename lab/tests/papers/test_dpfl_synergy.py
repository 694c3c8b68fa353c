"""DPFL's Appendix A: who holds what, and what its claims ask."""

from __future__ import annotations

from collections import Counter

import pytest

from securefair_lab.papers.dpfl_synergy import BOTH, DPFL_SYNERGY, FIRST, HELD, SECOND, Group
from securefair_lab.papers.experiment import Row


def test_members_hold_the_same_whoever_takes_part() -> None:
    everyone = Group(size="smoke", data=None, peers=BOTH)(0).participants
    assert [own.name for own in everyone] == ["P1", "P2", "P3"]
    for own, held in zip(everyone, HELD, strict=True):
        assert own.validation is not None
        counts = Counter(own.train.labels.tolist()) + Counter(own.validation.labels.tolist())
        assert counts == {label: count // 10 for label, count in held.items()}
        assert set(own.test.labels.tolist()) == set(held)
    pair = Group(size="smoke", data=None, peers=SECOND)(0).participants
    assert [own.name for own in pair] == ["P1", "P3"]
    assert pair[0] is everyone[0]


@pytest.mark.parametrize(
    ("gains", "expected"),
    [
        ((-11.0, -11.0, 6.0), [True, True, True]),
        ((-11.0, 1.0, 6.0), [False, True, True]),
        ((-11.0, -5.0, -6.0), [True, False, False]),
    ],
)
def test_claims_are_of_either_and_of_both(gains: tuple[float, ...], expected: list[bool]) -> None:
    rows = [
        Row.of({"method": "FedAvg", "peers": " and ".join(peers)}, {"gain of P1": [gain]}, {})
        for peers, gain in zip((FIRST, SECOND, BOTH), gains, strict=True)
    ]
    asked = [own for own in DPFL_SYNERGY.claims if own.words.endswith("; FedAvg")]
    assert [own.holds(rows) for own in asked] == expected
