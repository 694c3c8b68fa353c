"""Which learning rate size "cpu" of CYCle's experiments takes: what held-out images choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import nan
from pathlib import Path

from securefair_lab.papers.cycle_data import CIFAR10
from securefair_lab.papers.cycle_methods import ALONE, CYCLE, VPDL, contenders, cycle_experiment
from securefair_lab.papers.cycle_settings import SCALES, Setting
from securefair_lab.papers.experiment import Claim, Contender, Parts, Row, Size
from securefair_lab.papers.measures import HELD_OUT, collaboration_and_held_out, every

RATES = (0.0125, 0.025, 0.05, 0.1, 0.2)
METHODS = (ALONE, VPDL, CYCLE)


def _over_rates(size: Size, data: Path | None) -> list[Contender]:
    """Everyone alone, VPDL and CYCle at every rate; a tenth of the training images is held out."""
    result = []
    for rate in RATES[:2] if size == "smoke" else RATES:
        setting = Setting(
            size=size,
            data=data,
            dataset=CIFAR10,
            split="homogeneous",
            n=5,
            held_out=0.1,
            learning_rate=rate,
        )
        methods = [replace(method, extra={"learning_rate": rate}) for method in METHODS]
        result += [replace(c, apart=f"rate {rate}") for c in contenders([setting], methods)]
    return result


def best_rate(rows: Sequence[Row], method: str) -> float | None:
    """With which a method is the most accurate on held-out images, in the mean over seeds."""
    own = [row for row in rows if row.fields["method"] == method]
    best = max(own, key=lambda row: row.metrics[HELD_OUT], default=None)
    return None if best is None else float(str(best.fields["learning_rate"]))


def _chooses(rows: Sequence[Row], method: str) -> Parts:
    held_out = {
        row.fields["learning_rate"]: row.metrics[HELD_OUT]
        for row in rows
        if row.fields["method"] == method
    }
    own = held_out.pop(SCALES["cpu"].optimizer.learning_rate, nan)
    return every(own > other for other in held_out.values())


CYCLE_RATES = replace(
    cycle_experiment(
        "beyond the paper: learning rates",
        "The learning rate of size cpu: alone, VPDL and CYCle on held-out images",
        _over_rates,
        metrics=collaboration_and_held_out,
        claims=tuple(
            Claim(
                words=f"Held-out images choose the learning rate of size cpu for {method.name}",
                parts=partial(_chooses, method=method.name),
            )
            for method in METHODS
        ),
        differs="The paper has no such experiment. cpu: as Table 1's homogeneous split, of which a "
        "tenth is held out.",
    ),
    name="cycle-rates",
    sizes=("smoke", "cpu"),
)
