"""Bars of who ends where: heights, numbers, spreads and names."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.container import BarContainer, ErrorbarContainer

from securefair.records import RoundRecord
from securefair_lab.algorithms import Standalone
from securefair_lab.papers.experiment import Contender, Finished
from securefair_lab.papers.figures import participant_bars


def contender(method: str) -> Contender:
    return Contender(
        fields={"dataset": "digits", "split": "0.1/0.9", "n": 2, "method": method},
        members=lambda seed: seed,
        algorithm=Standalone(),
        rounds=1,
    )


def test_bars_are_means_over_seeds_with_their_spread(record: Callable[..., RoundRecord]) -> None:
    alone, fair = contender("local"), contender("fair")
    runs = [
        Finished(who, seed, [record(accuracy)], [])
        for who, seed, accuracy in (
            (alone, 0, [0.4, 0.6]),
            (alone, 1, [0.6, 0.8]),
            (fair, 0, [0.7, 0.9]),
            (fair, 1, [0.7, 0.9]),
        )
    ]
    (axes,) = participant_bars(runs, []).axes
    bars = [c for c in axes.containers if isinstance(c, BarContainer)]
    assert [[round(bar.get_height(), 9) for bar in group] for group in bars] == [[50, 70], [70, 90]]
    assert [text.get_text() for text in axes.texts] == ["50.0", "70.0", "70.0", "90.0"]
    assert len([c for c in axes.containers if isinstance(c, ErrorbarContainer)]) == 2
    assert axes.get_title(loc="left") == "digits, 0.1/0.9, N = 2, mean and spread of 2 seeds"


def test_one_seed_has_no_spread(record: Callable[..., RoundRecord]) -> None:
    (axes,) = participant_bars([Finished(contender("local"), 0, [record([0.4, 0.6])], [])], []).axes
    assert not [c for c in axes.containers if isinstance(c, ErrorbarContainer)]
    assert "seeds" not in axes.get_title(loc="left")
