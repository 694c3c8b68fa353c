"""CYCle on CIFAR: the figures, mostly of the tables' runs (`--runs` shares them)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import mean

from securefair.worth import ReputationRule
from securefair_lab.algorithms.cycle import Cycle
from securefair_lab.papers import figures, measures
from securefair_lab.papers.cycle_claims import (
    BEST_OF_THE_PLANE,
    CLAIMS,
    FALLING_AMONG_EQUALS,
    FEWER_ANSWERS,
    LARGE_IS_VALUED,
    REWARDED_CLAIMS,
)
from securefair_lab.papers.cycle_data import CIFAR10, CIFAR100
from securefair_lab.papers.cycle_divisions import (
    HUNDRED,
    LOWER,
    MORE,
    SPLITS,
    UPPER,
    cifar_100_too,
    shown,
    together,
    twenty,
)
from securefair_lab.papers.cycle_methods import ALONE, CYCLE, contenders, cycle_experiment
from securefair_lab.papers.cycle_settings import DIFFERS, Scale, Setting
from securefair_lab.papers.experiment import Claim, Contender, Contenders, Row, Size

TAUS = (0.1, 0.25, 0.4), (0.6, 0.75, 0.9)


def _with_thresholds(low: float, high: float) -> Callable[[Scale], Cycle]:
    return lambda _: Cycle(rule=ReputationRule(tau_opt=low, tau_max=high))


def _thresholds(size: Size, data: Path | None) -> list[Contender]:
    settings = [
        Setting(size=size, data=data, dataset=CIFAR10, split=split, n=5)
        for split in shown(size, ("homogeneous", "imbalanced(0.6,1)"))[:1]
    ]
    methods = [
        replace(
            CYCLE,
            algorithm=_with_thresholds(low, high),
            extra={"tau_opt": low, "tau_max": high},
        )
        for low in TAUS[0]
        for high in TAUS[1]
    ]
    return contenders(settings, [ALONE, *methods])


def _means(rows: Sequence[Row], threshold: str, metric: str = "MCG") -> list[float]:
    """A metric at each value of one threshold, over those of the other."""
    shown = [row for row in rows if row.fields.get(threshold) is not None]
    return [
        mean(row.metrics[metric] for row in shown if row.fields[threshold] == value)
        for value in sorted({float(str(row.fields[threshold])) for row in shown})
    ]


LARGER_GAIN_MORE = Claim(
    words="The larger a threshold, the larger the mean gain (MCG), over all values of the other",
    parts=lambda rows: measures.every(
        after > before
        for threshold in ("tau_opt", "tau_max")
        for before, after in pairwise(_means(rows, threshold))
    ),
)

LOW_IS_UNFAIRER = Claim(
    words="With tau_opt below 0.25 gains are smaller (MCG) and spread more (CGS), over all tau_max",
    parts=lambda rows: measures.every(
        [
            *(low < chosen for low, chosen in pairwise(_means(rows, "tau_opt")[:2])),
            *(low > chosen for low, chosen in pairwise(_means(rows, "tau_opt", "CGS")[:2])),
        ]
    ),
)
"""App. G.9 of values below the chosen 0.25, of which we have one."""


def _only_cycle(block: Contenders, splits: Sequence[str]) -> Contenders:
    """CYCle alone in some splits: the maps need neither gains nor others."""
    return lambda size, data: [
        contender
        for contender in block(size, data)
        if contender.fields["method"] in ("CYCle", "Standalone")
        and (size == "smoke" or contender.fields["split"] in splits)
    ]


CYCLE_FIGURES = (
    cycle_experiment(
        "Figure 3",
        "Accuracy of each participant in the upper half of Table 1",
        UPPER,
        metrics=measures.participants_and_collaboration,
        claims=CLAIMS,
        draw=figures.participant_bars,
        printed="cycle.table13",
    ),
    cycle_experiment(
        "Figure 4",
        "Accuracy of each participant in the lower half of Table 1",
        LOWER,
        metrics=measures.participants_and_collaboration,
        claims=REWARDED_CLAIMS,
        draw=figures.participant_bars,
        printed="cycle.table13",
    ),
    cycle_experiment(
        "Figure 5",
        "Reputations in imbalanced divisions",
        _only_cycle(UPPER, SPLITS[2:]),
        metrics=measures.reputations,
        draw=figures.reputation_maps,
        claims=(*LARGE_IS_VALUED, *FEWER_ANSWERS),
        unit="reputation; percent of questions",
    ),
    cycle_experiment(
        "Figure 12",
        "Reputations over time in three divisions",
        _only_cycle(UPPER, ("homogeneous", "dirichlet(0.5)", "imbalanced(0.6,1)")),
        metrics=measures.reputations,
        draw=figures.reputation_maps,
        claims=(*FALLING_AMONG_EQUALS, *FEWER_ANSWERS),
        unit="reputation; percent of questions",
    ),
    cycle_experiment(
        "Figure 17",
        "Accuracy of each participant, CIFAR-100",
        HUNDRED,
        metrics=measures.participants,
        datasets=(CIFAR100,),
        draw=figures.participant_bars,
        printed="cycle.table8",
    ),
    cycle_experiment(
        "Figure 18",
        "Accuracy of each participant in the runs of Table 10",
        MORE,
        metrics=measures.participants,
        draw=figures.participant_bars,
    ),
    cycle_experiment(
        "Figure 20",
        "Accuracy of each of twenty participants",
        cifar_100_too(twenty),
        metrics=measures.participants,
        paper_datasets=(CIFAR10, CIFAR100),
        differs=f"CIFAR-100 at size paper only. {DIFFERS}",
        draw=figures.participant_radar,
    ),
    cycle_experiment(
        "Figure 21",
        "Gain against spread over ten divisions",
        together(UPPER, LOWER, MORE),
        claims=(BEST_OF_THE_PLANE,),
        draw=figures.plane("MCG", "CGS", "right and low"),
        printed="cycle.table1",
    ),
    cycle_experiment(
        "Figure 22",
        "How much the thresholds of alignment matter",
        _thresholds,
        claims=(LARGER_GAIN_MORE, LOW_IS_UNFAIRER),
        draw=figures.sensitivity("tau_opt", "tau_max", "MCG", "CGS"),
        differs="The paper does not state its grid. " + DIFFERS,
    ),
)
