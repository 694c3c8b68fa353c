"""What the figures of a page are drawn from: contenders, their bars, the slider's steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from securefair.records import RoundRecord
from securefair.report import charts


@dataclass(frozen=True)
class Contender:
    """One algorithm as the figures show it; `style` picks its colour and dash."""

    key: str
    name: str
    rule: str
    style: str


@dataclass(frozen=True)
class GainRow:
    """One contender at one participant: its accuracy, its gain over training alone, their bars."""

    contender: Contender
    accuracy: float
    bar: charts.Bar
    gain: float | None
    gain_bar: charts.Bar | None


def gain_row(
    contender: Contender, accuracy: float, gain: float | None, scale: float, spread: float = 0.0
) -> GainRow:
    """The row of a contender.

    Args:
        contender: whose.
        accuracy: in [0, 1].
        gain: over training alone; None where there is none to speak of.
        scale: of the page, see `charts.gain_scale`.
        spread: of the accuracy over repetitions.
    """
    return GainRow(
        contender=contender,
        accuracy=accuracy,
        bar=charts.accuracy_bar(accuracy, spread),
        gain=gain,
        gain_bar=None if gain is None else charts.gain_bar(gain, scale),
    )


def slider_steps(rounds: Sequence[RoundRecord]) -> list[dict[str, object]]:
    """What the slider steps through, kept small.

    Reputations have three digits, what a cell shows and a little more, and are null where they are
    those of the round before. Each row of `marks` has one digit for a teacher: 2 answered, 1 asked
    only, 0 not asked.
    """
    heat: list[dict[str, object]] = []
    before = None
    for record in rounds:
        reputation = [
            [None if value is None else round(value, 3) for value in row]
            for row in record.reputation
        ]
        heat.append(
            {
                "round": record.round,
                "forced": record.forced,
                "reputation": None if reputation == before else reputation,
                "marks": [
                    "".join(str(2 if yes else int(put)) for put, yes in zip(*pair, strict=True))
                    for pair in zip(record.asked, record.answered, strict=True)
                ],
            }
        )
        before = reputation
    return heat
