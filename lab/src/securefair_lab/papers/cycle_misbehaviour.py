"""CYCle among participants who train on wrong labels: Tables 3 and 11, Figures 6 and 19.

The paper calls them free riders. One or two of five equal participants flip a share of their
labels; what the others think of them has to fall with that share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import nan
from pathlib import Path

from securefair_lab.papers import figures, measures
from securefair_lab.papers.cycle_data import CIFAR10
from securefair_lab.papers.cycle_methods import (
    ALONE,
    CYCLE,
    CYCLE_PLAIN,
    PLAIN,
    SOFTENED,
    contenders,
    cycle_experiment,
)
from securefair_lab.papers.cycle_settings import Setting
from securefair_lab.papers.experiment import Claim, Contender, Contenders, Parts, Row, Size

RATES = (0.0, 0.2, 0.5, 1.0)


def _flipping(*flippers: str) -> Contenders:
    """Everyone alone with right labels, and CYCle at each rate."""

    def block(size: Size, data: Path | None) -> list[Contender]:
        honest = Setting(size=size, data=data, dataset=CIFAR10, split="homogeneous", n=5)
        named = {"flippers": "".join(flippers)}
        # The paper's rows of this study do not tell the control's family from the others'.
        alone = replace(ALONE, family="PDL", extra={"flip_rate": None})
        found = contenders([honest], [alone], unprinted=named)
        for rate in RATES[::3] if size == "smoke" else RATES:
            setting = replace(honest, flippers=flippers, flips=rate)
            mine = [replace(m, extra={"flip_rate": rate}) for m in (CYCLE, CYCLE_PLAIN)]
            found += contenders([setting], mine, unprinted=named)
        return found

    return block


def _at(rows: Sequence[Row], metric: str, rate: float | None, alignment: str) -> float:
    """NaN where there is no such row: no comparison with it holds."""
    return next(
        (
            row.metrics[metric]
            for row in rows
            if row.fields["flip_rate"] == rate
            and row.fields.get("alignment", alignment) == alignment
        ),
        nan,
    )


def _shunned(rows: Sequence[Row], *, alignment: str) -> Parts:
    return measures.every([_at(rows, "reputation of flippers", 1.0, alignment) < 0.1])


def _falling(rows: Sequence[Row], *, alignment: str) -> Parts:
    found = [_at(rows, "reputation of flippers", rate, alignment) for rate in RATES]
    return measures.every(after < before for before, after in pairwise(found))


def _harmless(rows: Sequence[Row], *, alignment: str) -> Parts:
    alone = _at(rows, "honest_average", None, alignment)
    return measures.every(_at(rows, "honest_average", rate, alignment) > alone for rate in RATES)


CLAIMS = tuple(
    Claim(words=f"{words}; {alignment} alignment", parts=partial(parts, alignment=alignment))
    for words, parts in (
        ("Whoever flips all labels ends with a reputation below 0.1 among the honest", _shunned),
        ("A flipper's reputation falls with its flip rate", _falling),
        ("Honest participants do better than alone at every flip rate", _harmless),
    )
    for alignment in (SOFTENED, PLAIN)
)

CYCLE_MISBEHAVIOUR = (
    cycle_experiment(
        "Table 3",
        "One of five flips labels: accuracies and reputations",
        _flipping("P5"),
        metrics=measures.honesty,
        claims=CLAIMS,
        draw=figures.participant_bars,
        unit="percent; reputations in [0, 1]",
    ),
    cycle_experiment(
        "Figure 6",
        "One of five flips labels: reputations over time",
        _flipping("P5"),
        metrics=measures.honesty,
        claims=CLAIMS,
        draw=figures.reputation_maps,
        unit="percent; reputations in [0, 1]",
        printed="cycle.table3",
    ),
    cycle_experiment(
        "Table 11",
        "Two of five flip labels: accuracies and reputations",
        _flipping("P4", "P5"),
        metrics=measures.honesty,
        claims=CLAIMS,
        draw=figures.participant_bars,
        unit="percent; reputations in [0, 1]",
    ),
    cycle_experiment(
        "Figure 19",
        "Two of five flip labels: reputations over time",
        _flipping("P4", "P5"),
        metrics=measures.honesty,
        claims=CLAIMS,
        draw=figures.reputation_maps,
        unit="percent; reputations in [0, 1]",
        printed="cycle.table11",
    ),
)
