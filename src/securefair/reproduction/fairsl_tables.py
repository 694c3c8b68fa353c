"""Fair swarm learning: Tables 5 and 6, random forests of participants of unequal size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from securefair.algorithms.fairsl_forest import (
    FairSlForest,
    ForestPopulation,
    trees_in_proportion,
)
from securefair.data.catalogue import load_data_set
from securefair.data.division import divide
from securefair.data.partition import RatioPartitioner
from securefair.data.pool import DataSet
from securefair.reproduction.experiment import Claim, Contender, Experiment, Finished, Row, Size

METHOD = "fair SL (random forest)"
TEST_FRACTION = 0.2  # one of five folds, drawn anew by each seed; the paper repeats 100 times


@dataclass(frozen=True, kw_only=True)
class Table:
    """A data set as the paper calls it and as we do, and the trees of its smallest participant."""

    dataset: str
    name: str
    trees: int


NATICUS = Table(dataset="NATICUSdroid", name="naticus", trees=50)
AUCTION = Table(dataset="Auction Verification", name="auction", trees=100)
COIMBRA = Table(dataset="Breast Cancer", name="coimbra", trees=10)
MATERNAL = Table(dataset="Maternal Health", name="maternal", trees=50)
STUDENTS = Table(dataset="Students' Dropout", name="students", trees=30)
STEPS = {3: ("1->2", "2->3"), 4: ("1->2", "2->3", "3->4")}


@cache
def _source(name: str, data: Path | None) -> DataSet:
    """The data set; scikit-learn's breast cancer where no folder is given."""
    return load_data_set("breast-cancer" if data is None else name, data)


def _members(
    table: Table, ratios: tuple[float, ...], data: Path | None
) -> Callable[[int], ForestPopulation]:
    def members(seed: int) -> ForestPopulation:
        participants = divide(
            _source(table.name, data),
            RatioPartitioner(ratios=ratios),
            seed=seed,
            test="shared",
            test_fraction=TEST_FRACTION,
        )
        least = 5 if data is None else table.trees
        return ForestPopulation(
            participants=tuple(participants),
            trees=trees_in_proportion([round(1000 * ratio) for ratio in ratios], least),
        )

    return members


def _contenders(
    size: Size, data: Path | None, tables: Sequence[Table], ratios: tuple[float, ...], split: str
) -> list[Contender]:
    return [
        Contender(
            fields={"dataset": table.dataset, "split": split, "n": len(ratios), "method": METHOD},
            members=_members(table, ratios, data),
            algorithm=FairSlForest(),
            rounds=1,
            control=True,  # the figures are of participants among each other
        )
        for table in (tables[:1] if size == "smoke" else tables)
    ]


def increases(run: Finished) -> Mapping[str, float]:
    """By how many percent the MCC rises from each participant to the next, smallest first."""
    mcc = run.records[-1].mcc
    assert mcc is not None  # forests record it
    return {
        step: 100 * (after - before) / abs(before) if before else 0.0
        for step, before, after in zip(STEPS[len(mcc)], mcc[:-1], mcc[1:], strict=True)
    }


def _step(rows: Sequence[Row], step: str) -> list[float]:
    return [row.metrics[step] for row in rows]


TABLE_5 = Experiment(
    name="fairsl-table5",
    paper="fairsl",
    item="Table 5",
    shows="What a larger share of the data is worth, three participants with forests",
    needs=("naticus.npz", "auction.csv.gz", "coimbra.csv.gz", "maternal.csv.gz", "students.csv.gz"),
    unit="percent, relative increase of the MCC",
    reference="fairsl.table5",
    contenders=lambda size, data: _contenders(
        size,
        data,
        (AUCTION, COIMBRA, MATERNAL, STUDENTS, NATICUS),
        (0.1, 0.3, 0.6),
        "0.1/0.3/0.6",
    ),
    metrics=increases,
    claims=(
        Claim(
            words="Every participant gains over the next smaller one",
            holds=lambda rows: min(_step(rows, "1->2") + _step(rows, "2->3")) > 0,
        ),
    ),
)

TABLE_6 = Experiment(
    name="fairsl-table6",
    paper="fairsl",
    item="Table 6",
    shows="Participants of nearly equal size get nearly equal forests, four participants",
    needs=("auction.csv.gz", "maternal.csv.gz"),
    unit="percent, relative increase of the MCC",
    reference="fairsl.table6",
    contenders=lambda size, data: _contenders(
        size,
        data,
        (AUCTION, MATERNAL),
        (0.10, 0.12, 0.38, 0.40),
        "0.10/0.12/0.38/0.40",
    ),
    metrics=increases,
    claims=(
        Claim(
            words="The step between unequal participants is larger than those between near equals",
            holds=lambda rows: all(
                row.metrics["2->3"] > max(abs(row.metrics["1->2"]), abs(row.metrics["3->4"]))
                for row in rows
            ),
        ),
    ),
)

FAIRSL_TABLES = (TABLE_5, TABLE_6)
