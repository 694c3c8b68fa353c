"""What CaPriDe's published code does that its paper does not say: weights, and fresh answers.

The code takes 200 / (N - 1) for each teacher and divides their sum by N - 1 once more, so that
distillation weighs 200 / (N - 1) in all: 200 among two participants, 50 among five, 22 among ten.
And its teachers answer anew for every mini-batch. Does this explain why CaPriDe's gains are above
those of CYCle's VPDL, which is said to be the same?
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from math import nan
from pathlib import Path

from securefair_lab.papers.algorithms.capride_in_turn import CaprideInTurn
from securefair_lab.papers.cycle_data import CIFAR10
from securefair_lab.papers.cycle_methods import ALONE, VPDL, Method, contenders, cycle_experiment
from securefair_lab.papers.cycle_settings import DIFFERS, Setting
from securefair_lab.papers.experiment import Claim, Contender, Parts, Row, Size
from securefair_lab.papers.measures import every

NUMBERS = (2, 5, 10)
WEIGHT = 200.0
FROZEN, FRESH = "of the round's start", "of every mini-batch"
METHODS: tuple[Method, ...] = (
    replace(VPDL, extra={"answers": FROZEN}),
    Method(
        name="VPDL",
        family="PDL",
        algorithm=lambda _: CaprideInTurn(),
        extra={"answers": FRESH},
    ),
)


def weight(n: int, divisions: int) -> float:
    """Of distillation in all, by how often 200 is divided by N - 1 beside the mean of teachers."""
    return WEIGHT if divisions == 1 else WEIGHT / (n - 1)


def _block(size: Size, data: Path | None) -> list[Contender]:
    """Everyone alone, then both kinds of answers at both weights, which are one among two."""
    result = []
    for n in NUMBERS[:2] if size == "smoke" else NUMBERS:
        alone = Setting(size=size, data=data, dataset=CIFAR10, split="homogeneous", n=n)
        result += contenders([alone], [ALONE])
        for divisions in (2,) if n == 2 else (1, 2):
            setting = replace(alone, lambda_0=weight(n, divisions))
            result += contenders([setting], METHODS, unprinted={"divisions": divisions})
    return result


def _gain(rows: Sequence[Row], n: int, answers: str, divisions: int) -> float:
    """NaN where there is no such row: no comparison with it holds."""
    wanted = {"n": n, "answers": answers, "divisions": 2 if n == 2 else divisions}
    return next(
        (
            row.metrics["MCG"]
            for row in rows
            if all(row.fields.get(key) == value for key, value in wanted.items())
        ),
        nan,
    )


def _rises(rows: Sequence[Row]) -> Parts:
    gains = [_gain(rows, n, FRESH, 2) for n in NUMBERS]
    return every(after > before for before, after in pairwise(gains))


def _fresh_is_better(rows: Sequence[Row]) -> Parts:
    return every(_gain(rows, n, FRESH, 2) > _gain(rows, n, FROZEN, 2) for n in NUMBERS)


def _less_is_better(rows: Sequence[Row]) -> Parts:
    return every(_gain(rows, n, FROZEN, 2) > _gain(rows, n, FROZEN, 1) for n in NUMBERS[1:])


QUESTIONS: tuple[tuple[str, Callable[[Sequence[Row]], Parts]], ...] = (
    ("As the published code does it, the mean gain (MCG) rises with N, as the poster's", _rises),
    ("Fresh answers gain more than frozen ones for every N; two divisions", _fresh_is_better),
    ("Two divisions gain more than one among five and among ten; frozen", _less_is_better),
)

CAPRIDE_CODE = replace(
    cycle_experiment(
        "beyond the paper: CaPriDe's published code",
        "VPDL with the weights and the fresh answers of CaPriDe's published code",
        _block,
        claims=tuple(Claim(words=words, parts=parts) for words, parts in QUESTIONS),
        differs=f"The paper has no such experiment. {DIFFERS}",
    ),
    name="capride-code",
    sizes=("smoke", "cpu"),
)
