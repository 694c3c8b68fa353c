"""CYCle, Figures 8 and 9: how useful the estimate of a mean is after collaboration.

Every size simulates the paper's 10,000 runs a point, all at once: it takes a second.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from securefair_lab.papers import figures
from securefair_lab.papers.algorithms.mean_estimation import (
    RUNS,
    Curve,
    Spread,
    cycle_lower_bound,
    fedavg_upper_bound,
    figure_8,
    figure_9,
)
from securefair_lab.papers.experiment import (
    Claim,
    Contender,
    Experiment,
    Finished,
    Measured,
    Parts,
    Row,
    Size,
)
from securefair_lab.papers.measures import every

GAPS = tuple(0.25 * step for step in range(21))
RATIOS = tuple(1 + 0.5 * step for step in range(19))
DEVIATIONS = (0.3, 0.5, 1.0, 2.0)
ERRORS = 4.0  # standard errors by which a simulated share may miss a bound


def heterogeneity(size: Size, data: Path | None, seed: int) -> list[Measured]:
    """Usefulness along the gap of the true means, and the bounds of the theory."""
    del size, data
    rows = []
    for deviation in DEVIATIONS:
        found = figure_8(GAPS, deviation=deviation, seed=seed)
        for curve, bound in (
            (found.cycle, dict.fromkeys(GAPS, cycle_lower_bound(deviation))),
            (found.fedavg, {gap: fedavg_upper_bound(gap, deviation) for gap in GAPS}),
        ):
            rows += [
                Measured(
                    fields={"method": curve.method, "deviation": deviation, "gap": gap},
                    metrics={"usefulness": useful, "bound": bound[gap]},
                )
                for gap, useful in zip(GAPS, curve.participant_1, strict=True)
            ]
    return rows


def imbalance(size: Size, data: Path | None, seed: int) -> list[Measured]:
    """Usefulness and spread of results along the ratio of samples."""
    del size, data
    found = figure_9(RATIOS, seed=seed)
    rows = []
    for curve in (found.cycle, found.fedavg, found.fedavg_by_size):
        for participant in (1, 2):
            useful = curve.participant_1 if participant == 1 else curve.participant_2
            spread = _deviations(curve, participant, found.spreads)
            rows += [
                Measured(
                    fields={"method": curve.method, "participant": participant, "ratio": ratio},
                    metrics={"usefulness": useful[place]}
                    | ({} if spread is None else {"deviation": spread[place]}),
                )
                for place, ratio in enumerate(RATIOS)
            ]
    return rows


def _deviations(
    curve: Curve, participant: int, spreads: Sequence[Spread]
) -> Sequence[float] | None:
    for spread in spreads:
        if (spread.method, spread.participant) == (curve.method, participant):
            return spread.deviation
    return None


def _tolerance(useful: float) -> float:
    return ERRORS * math.sqrt(max(useful * (1 - useful), 1 / RUNS) / RUNS)


def _above_bound(rows: Sequence[Row]) -> Parts:
    return every(
        row.metrics["usefulness"] + _tolerance(row.metrics["usefulness"]) >= row.metrics["bound"]
        for row in rows
        if row.fields["method"] == "CYCle"
    )


def _below_bound(rows: Sequence[Row]) -> Parts:
    return every(
        row.metrics["usefulness"] - _tolerance(row.metrics["usefulness"]) <= row.metrics["bound"]
        for row in rows
        if row.fields["method"] == "FedAvg"
    )


def _at(rows: Sequence[Row], method: str, **fields: float) -> float:
    """NaN where there is no such row: no comparison with it holds."""
    return next(
        (
            row.metrics["usefulness"]
            for row in rows
            if row.fields["method"] == method
            and all(row.fields[key] == value for key, value in fields.items())
        ),
        math.nan,
    )


def _along(rows: Sequence[Row], *, participant: int) -> list[float]:
    found = {
        row.fields["ratio"]: row.metrics["usefulness"]
        for row in rows
        if row.fields["method"] == "CYCle" and row.fields["participant"] == participant
    }
    return [found.get(ratio, math.nan) for ratio in RATIOS]


def _level(along: Sequence[float]) -> Parts:
    return every(
        part for own in along[1:] for part in (own - along[0] < 0.05, own - along[0] > -0.05)
    )


def _contenders(size: Size, data: Path | None) -> Sequence[Contender]:
    del size, data
    return ()


def _metrics(run: Finished) -> Mapping[str, float]:
    del run
    return {}


MEAN_ESTIMATION = (
    Experiment(
        name="cycle-figure8",
        paper="cycle",
        item="Figure 8",
        shows="Mean estimation: usefulness against heterogeneity, and Theorem 4.1's bound",
        needs=(),
        unit="share of 10,000 runs",
        reference=None,
        contenders=_contenders,
        metrics=_metrics,
        measure=heterogeneity,
        draw=figures.curves(
            "gap",
            "distance of the true means",
            {"usefulness": "P(useful to participant 1)"},
            bound="bound",
            deviation=1.0,
        ),
        claims=(
            Claim(
                words="CYCle's usefulness is never below Theorem 4.1's bound", parts=_above_bound
            ),
            Claim(words="FedAvg's usefulness is never above Lemma A.1's bound", parts=_below_bound),
            Claim(
                words="Far apart, FedAvg is of little use (below 0.1), CYCle of much (above 0.9)",
                parts=lambda rows: every(
                    [
                        _at(rows, "FedAvg", deviation=1.0, gap=GAPS[-1]) < 0.1,
                        _at(rows, "CYCle", deviation=1.0, gap=GAPS[-1]) > 0.9,
                    ]
                ),
            ),
        ),
        differs="Usefulness by the true loss; by the empirical one the claim would be empty.",
    ),
    Experiment(
        name="cycle-figure9",
        paper="cycle",
        item="Figure 9",
        shows="Mean estimation: usefulness and spread against imbalance",
        needs=(),
        unit="share of 10,000 runs; deviation of results",
        reference=None,
        contenders=_contenders,
        metrics=_metrics,
        measure=imbalance,
        draw=figures.curves(
            "ratio",
            "samples of participant 1 a sample of participant 2",
            {"usefulness": "P(useful)", "deviation": "deviation of results"},
        ),
        claims=(
            Claim(
                words="Ten times the samples: CYCle is more useful to their holder than FedAvg",
                parts=lambda rows: every(
                    [
                        _at(rows, "CYCle", participant=1, ratio=RATIOS[-1])
                        > _at(rows, "FedAvg", participant=1, ratio=RATIOS[-1])
                    ]
                ),
            ),
            Claim(
                words="The more samples participant 1 has, the less useful CYCle is to it",
                parts=lambda rows: every(
                    after <= before + _tolerance(before)
                    for before, after in pairwise(_along(rows, participant=1))
                ),
            ),
            Claim(
                words="To participant 2 CYCle is equally useful at every ratio (within 0.05)",
                parts=lambda rows: _level(_along(rows, participant=2)),
            ),
        ),
        differs="The paper does not state N_2; ours is 1.",
    ),
)
