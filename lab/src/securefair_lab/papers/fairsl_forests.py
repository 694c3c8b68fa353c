"""Fair swarm learning of random forests: Tables 4, 5 and 6, Figures 9 and 10.

Every fold of a repeated cross-validation is one division among participants, one training, and one
exchange of trees; the paper compares mean Matthews correlations of consecutive participants by
t-tests over all folds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from securefair_lab.data.catalogue import load_data_set
from securefair_lab.data.division import divide
from securefair_lab.data.folds import cross_validation
from securefair_lab.data.partition import RatioPartitioner
from securefair_lab.data.pool import DataSet
from securefair_lab.papers.algorithms.fairsl_forest import (
    FairSlForest,
    ForestPopulation,
    trees_in_proportion,
)
from securefair_lab.papers.experiment import (
    Claim,
    Experiment,
    Measure,
    Measured,
    Parts,
    Row,
    Size,
)
from securefair_lab.papers.figures import level_bars
from securefair_lab.papers.measures import every
from securefair_lab.papers.significance import t_test
from securefair_lab.scores import mcc

METHOD = "fair SL (random forest)"
ALONE, EQUAL = "local", "standard SL"
SCENARIOS = (ALONE, METHOD, EQUAL)
PAPER_REPEATS, SMOKE_FOLDS = 100, 5
THREE, FOUR = (0.1, 0.3, 0.6), (0.10, 0.12, 0.38, 0.40)
SPLITS = {THREE: "0.1/0.3/0.6", FOUR: "0.10/0.12/0.38/0.40"}
DIFFERS = (
    "Heart Failure is not among our data; NATICUSdroid has 20,531 of 29,332 apps. All participants "
    "are tested on one fold of the whole; at size cpu folds are repeated less often than 100 times."
)

Scores = Mapping[str, NDArray[np.float64]]
"""For each scenario the Matthews correlations (folds, participants)."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A data set as the paper calls it and as we do.

    Args:
        trees: of the smallest participant.
        folds: 5 or 10; which of them where is only in the authors' code.
        repeats: of the cross-validation at size "cpu".
    """

    dataset: str
    name: str
    trees: int
    folds: int = 10
    repeats: int


AUCTION = Table(dataset="Auction Verification", name="auction", trees=100, repeats=1)
COIMBRA = Table(dataset="Breast Cancer", name="coimbra", trees=10, folds=5, repeats=20)
MATERNAL = Table(dataset="Maternal Health", name="maternal", trees=50, repeats=4)
STUDENTS = Table(dataset="Students' Dropout", name="students", trees=30, repeats=2)
NATICUS = Table(dataset="NATICUSdroid", name="naticus", trees=50, repeats=1)
ALL = (AUCTION, COIMBRA, MATERNAL, STUDENTS, NATICUS)
PAIR = (AUCTION, MATERNAL)
FILES = {table: f"{table.name}.{'npz' if table is NATICUS else 'csv.gz'}" for table in ALL}


def _source(table: Table, data: Path | None) -> DataSet:
    """The data set; scikit-learn's breast cancer where no folder is given."""
    return load_data_set("breast-cancer" if data is None else table.name, data)


@lru_cache(maxsize=16)  # a table and its figure look at the same forests
def scores(
    table: Table, ratios: tuple[float, ...], size: Size, data: Path | None, seed: int
) -> Scores:
    """Everyone's Matthews correlation in each fold: alone, after a fair and an equal exchange."""
    repeats = {"smoke": 1, "cpu": table.repeats, "paper": PAPER_REPEATS}[size]
    trees = trees_in_proportion(
        [round(1000 * ratio) for ratio in ratios], 3 if size == "smoke" else table.trees
    )
    found: dict[str, list[list[float]]] = {scenario: [] for scenario in SCENARIOS}
    count = SMOKE_FOLDS if size == "smoke" else table.folds
    folds = cross_validation(_source(table, data), folds=count, repeats=repeats, seed=seed)
    for number, fold in enumerate(folds):
        own = seed + 1_000_003 * number  # of the division and the forests: a new one for each fold
        population = ForestPopulation(
            participants=tuple(divide(fold, RatioPartitioner(ratios=ratios), seed=own)), trees=trees
        )
        start = FairSlForest().init(population, own)
        found[ALONE].append(
            [
                mcc(forest.predict(who.test.features), who.test.labels)
                for forest, who in zip(start.forests, population.participants, strict=True)
            ]
        )
        for scenario, algorithm in ((METHOD, FairSlForest()), (EQUAL, FairSlForest(equal=True))):
            record = algorithm.round(start, population)[1]
            found[scenario].append(list(record.mcc or ()))
    return {scenario: np.array(rows) for scenario, rows in found.items()}


def increases(found: NDArray[np.float64]) -> Mapping[str, float]:
    """By how many percent the mean rises from each participant to the next, smallest first.

    And the p-value of a t-test on the folds; 1 where neither varies.
    """
    result: dict[str, float] = {}
    mean = found.mean(axis=0)
    for n in range(found.shape[1] - 1):
        result[f"{n + 1}->{n + 2}"] = 100 * float((mean[n + 1] - mean[n]) / abs(mean[n]))
    for n in range(found.shape[1] - 1):
        test = t_test(found[:, n], found[:, n + 1])
        result[f"p of {n + 1}->{n + 2}"] = 1.0 if test is None else test.p_value
    return result


def _chosen(tables: Sequence[Table], size: Size) -> Sequence[Table]:
    return tables[:1] if size == "smoke" else tables


def _steps(tables: Sequence[Table], ratios: tuple[float, ...]) -> Measure:
    def measure(size: Size, data: Path | None, seed: int) -> list[Measured]:
        return [
            Measured(
                fields={
                    "dataset": table.dataset,
                    "split": SPLITS[ratios],
                    "n": len(ratios),
                    "method": METHOD,
                },
                metrics=increases(scores(table, ratios, size, data, seed)[METHOD]),
            )
            for table in _chosen(tables, size)
        ]

    return measure


def _levels(tables: Sequence[Table], ratios: tuple[float, ...]) -> Measure:
    def measure(size: Size, data: Path | None, seed: int) -> list[Measured]:
        result = []
        for table in _chosen(tables, size):
            for scenario, found in scores(table, ratios, size, data, seed).items():
                mean, spread = 100 * found.mean(axis=0), 100 * found.std(axis=0, ddof=1)
                metrics = {f"P{n}": float(value) for n, value in enumerate(mean, start=1)}
                metrics |= {f"spread of P{n}": float(s) for n, s in enumerate(spread, start=1)}
                result.append(
                    Measured(
                        fields={
                            "dataset": table.dataset,
                            "split": SPLITS[ratios],
                            "n": len(ratios),
                            "method": scenario,
                        },
                        metrics=metrics,
                    )
                )
        return result

    return measure


def _holdings(size: Size, data: Path | None, seed: int) -> list[Measured]:
    """Table 4: samples, classes and trees, as they are divided."""
    del seed
    result = []
    for table in _chosen(ALL, size):
        source = _source(table, data)
        trees = trees_in_proportion([1, 3, 6], table.trees)
        result.append(
            Measured(
                fields={"dataset": table.dataset, "split": SPLITS[THREE], "n": 3},
                metrics={
                    "samples": len(source.train.labels),
                    "classes": source.train.classes,
                    **{f"trees of P{n}": count for n, count in enumerate(trees, start=1)},
                },
            )
        )
    return result


def _steps_of(row: Row) -> list[float]:
    return [value for name, value in row.metrics.items() if "->" in name and name[0].isdigit()]


def _rising(rows: Sequence[Row]) -> Parts:
    """Nobody ends clearly below a smaller participant: every significant step is upwards."""
    return every(
        row.metrics[f"{n}->{n + 1}"] > 0 or row.metrics[f"p of {n}->{n + 1}"] > 0.05
        for row in rows
        for n in range(1, len(_steps_of(row)) + 1)
    )


def _jump(rows: Sequence[Row]) -> Parts:
    return every(
        row.metrics["2->3"] > abs(row.metrics[near]) for row in rows for near in ("1->2", "3->4")
    )


def _gains(rows: Sequence[Row]) -> list[NDArray[np.float64]]:
    """What fair swarm learning brings everyone over training alone, on each data set."""
    level = {
        (row.fields["dataset"], row.fields["method"]): np.array(
            [value for name, value in row.metrics.items() if name.startswith("P")]
        )
        for row in rows
    }
    return [
        found - level[dataset, ALONE]
        for (dataset, method), found in level.items()
        if method == METHOD
    ]


def _forest_experiment(
    item: str,
    shows: str,
    tables: Sequence[Table],
    *,
    unit: str,
    measure: Measure,
    claims: tuple[Claim, ...] = (),
) -> Experiment:
    kind, number = item.split()
    table = kind == "Table"
    return Experiment(
        name=f"fairsl-{kind.lower()}{number}",
        paper="fairsl",
        item=item,
        shows=shows,
        needs=tuple(FILES[one] for one in tables),
        unit=unit,
        reference=f"fairsl.table{number}" if table else None,
        measure=measure,
        claims=claims,
        draw=None if table else level_bars("100 x MCC, mean and spread over folds"),
        differs=DIFFERS,
    )


STEP_UNIT = "percent, relative increase of the mean MCC"
JUMP = Claim(
    words="The step between unequal participants exceeds those between near equals", parts=_jump
)
BETTER = Claim(
    words="On average participants end with better forests than alone",
    parts=lambda rows: every(bool(gained.mean() > 0) for gained in _gains(rows)),
)
BETTER_FOR_ALL = Claim(
    words="Every participant ends with a better forest than alone in the mean over folds",
    parts=lambda rows: every(one > 0 for gained in _gains(rows) for one in gained),
)

FOREST_EXPERIMENTS = (
    _forest_experiment(
        "Table 4",
        "Data sets of the forests, and everyone's trees",
        ALL,
        unit="counts",
        measure=_holdings,
    ),
    _forest_experiment(
        "Table 5",
        "What a larger share of the data is worth, three participants with forests",
        ALL,
        unit=STEP_UNIT,
        measure=_steps(ALL, THREE),
        claims=(
            Claim(
                words="The second participant gains over the first",
                parts=lambda rows: every(row.metrics["1->2"] > 0 for row in rows),
            ),
            Claim(words="Nobody ends significantly below a smaller one", parts=_rising),
        ),
    ),
    _forest_experiment(
        "Table 6",
        "Participants of nearly equal size get nearly equal forests, four participants",
        PAIR,
        unit=STEP_UNIT,
        measure=_steps(PAIR, FOUR),
        claims=(JUMP,),
    ),
    _forest_experiment(
        "Figure 9",
        "Three participants: alone, fairly rewarded, and all alike",
        ALL,
        unit="100 x MCC",
        measure=_levels(ALL, THREE),
        claims=(BETTER, BETTER_FOR_ALL),
    ),
    _forest_experiment(
        "Figure 10",
        "Four participants: alone, fairly rewarded, and all alike",
        PAIR,
        unit="100 x MCC",
        measure=_levels(PAIR, FOUR),
        claims=(BETTER, BETTER_FOR_ALL),
    ),
)
