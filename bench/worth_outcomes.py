"""What a transfer is worth for times to an event, numbers and counts, as a table for a page.

    pip install --no-deps lifelines                    # for its tables of survival times
    python bench/worth_outcomes.py --seeds 20          # measure, keep, print
    python bench/worth_outcomes.py --seeds 20 --write docs/notebook/worth-outcomes.md

As bench/worth.py: divided anew for every seed, a third held out, nothing chosen on test patients.
Numbers are scaled by ranges that stand here. A missing value is 0 and has an indicator.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray
from page import PageOption, replace_tables, run_script

from securefair.data.dataset import ParticipantData, Samples, together
from securefair.data.split import stratified_rows
from securefair.errors import DataError
from securefair.model.outcomes import StudyOutcome, outcome_named
from securefair.model.stored import Function, logits_of, own_part_of
from securefair.model.transfer import OwnFit, own_fit
from securefair.model.transfer.baselines import most_common
from securefair.model.transfer.sums import sum_of, transfer_sum
from securefair.model.transfer.sums.register import AUTO
from securefair.worth import own_fits
from securefair_lab.algorithms.releases import ProjectionRelease
from securefair_lab.algorithms.transfer import Transfer, run_transfer
from securefair_lab.data.folder import data_folder

Array = NDArray[np.float64]
ROWS = Path(__file__).with_suffix(".json")
DRAWS = 300
LOSSES = {
    "time": ("partial_log_likelihood", -1.0),
    "number": ("log_likelihood", -1.0),
    "count": ("deviance", 0.5),
}
"""What is compared, and what turns it into nats: an event, or a patient."""


class Column(NamedTuple):
    """A number and its range; a code and its levels."""

    name: str
    low: float = 0.0
    high: float = 1.0
    levels: tuple[object, ...] = ()


@dataclass(frozen=True)
class Study:
    """A table, what is known of each patient, and who has whom.

    Args:
        table: all patients.
        outcome: name of the outcome.
        known: table -> (n, k) values as the outcome has them.
        columns: features.
        sites: the column of hospitals, those of at least `fewest`; empty divides at random.
        hospitals: how many, the largest first; with `sites` empty of equal size.
        most: training patients of each; None for all.
    """

    table: Callable[[], pd.DataFrame]
    outcome: str
    known: Callable[[pd.DataFrame], Array]
    columns: tuple[Column, ...]
    sites: str = ""
    hospitals: int = 5
    most: int | None = None

    def people(self, seed: int) -> tuple[list[ParticipantData], list[NDArray[np.int64]]]:
        """Everybody's training and test patients, and the numbers of the latter in the table."""
        rng, table = np.random.default_rng([seed, 1]), self.table()
        rows = np.arange(len(table))
        if self.sites:
            names = table[self.sites].value_counts().index[: self.hospitals]
            parts = [rows[(table[self.sites] == name).to_numpy()] for name in names]
        else:
            parts = np.array_split(rng.permutation(rows), self.hospitals)
        every, people, tested = self.samples(table), [], []
        for at, part in enumerate(parts):
            own = every.take(part)
            train, test = stratified_rows(own.labels, 1 / 3, rng)
            train = rng.permutation(train)[: self.most]
            people.append(ParticipantData(f"hospital {at}", own.take(train), own.take(test)))
            tested.append(part[test])
        return people, tested

    def samples(self, table: pd.DataFrame) -> Samples:
        values = self.known(table)
        strata = (
            values[:, 1] > 0 if self.outcome == "time" else values[:, 0] > np.median(values[:, 0])
        )
        features = np.column_stack([part for one in self.columns for part in _encoded(table, one)])
        return Samples(features, strata.astype(np.int64), 2, outcome=self.outcome, values=values)


def _encoded(table: pd.DataFrame, column: Column) -> list[Array]:
    values = table[column.name]
    if column.levels:
        return [(values == level).to_numpy(np.float64) for level in column.levels]
    numbers = values.to_numpy(np.float64)
    scaled = np.clip(2 * (numbers - column.low) / (column.high - column.low) - 1, -1, 1)
    missing = np.isnan(numbers)
    return [
        np.where(missing, 0.0, scaled),
        *([missing.astype(np.float64)] if missing.any() else []),
    ]


@cache
def _lifelines(name: str) -> pd.DataFrame:
    found = importlib.util.find_spec("lifelines")
    if found is None or found.origin is None:
        raise DataError("tables are missing", hint="pip install --no-deps lifelines")
    return pd.read_csv(Path(found.origin).parent / "datasets" / f"{name}.csv")


@cache
def _table(name: str) -> pd.DataFrame:
    return pd.read_csv(data_folder() / f"{name}.csv.gz")


def _lung() -> pd.DataFrame:
    return _lifelines("lung").dropna(subset=["inst"])


def _thalach() -> pd.DataFrame:
    return _table("heart").dropna(subset=["thalach"])


def _ranged(name: str, low: float, high: float) -> Callable[[pd.DataFrame], Array]:
    def known(table: pd.DataFrame) -> Array:
        scaled: Array = 2 * (table[name].to_numpy(np.float64) - low) / (high - low) - 1
        return scaled[:, None]

    return known


def _pair(first: str, second: str | None) -> Callable[[pd.DataFrame], Array]:
    def known(table: pd.DataFrame) -> Array:
        other = np.ones(len(table)) if second is None else table[second].to_numpy(np.float64)
        return np.column_stack([table[first].to_numpy(np.float64), other])

    return known


_YES = tuple(Column(name) for name in ("hemo", "homo", "drugs", "oprior", "z30", "race", "gender"))
_STUDENTS = (
    Column("previous_qualification_grade", 95, 190),
    Column("admission_grade", 95, 190),
    Column("age_at_enrollment", 17, 60),
    Column("application_order", 0, 9),
    Column("curricular_units_1st_sem_enrolled", 0, 20),
    Column("curricular_units_1st_sem_evaluations", 0, 30),
    Column("curricular_units_1st_sem_approved", 0, 20),
    Column("curricular_units_1st_sem_grade", 0, 20),
    *(
        Column(name)
        for name in ("displaced", "debtor", "tuition_fees_up_to_date", "gender",
                     "scholarship_holder", "daytime_evening_attendance")
    ),
)  # fmt: skip

STUDIES: Mapping[str, Study] = {
    "lung, 9 institutions": Study(
        _lung, "time", _pair("time", "status"),
        (Column("age", 40, 80), Column("sex", 1, 2), Column("ph.ecog", 0, 3),
         Column("ph.karno", 50, 100), Column("pat.karno", 30, 100), Column("wt.loss", -20, 60)),
        sites="inst", hospitals=9,
    ),
    "breast cancer (gbsg2) 6 x 50": Study(
        lambda: _lifelines("gbsg2"), "time", _pair("time", "cens"),
        (Column("horTh", levels=("yes",)), Column("age", 20, 80),
         Column("menostat", levels=("Post",)), Column("tsize", 0, 80),
         Column("tgrade", levels=("I", "II", "III")), Column("pnodes", 0, 20),
         Column("progrec", 0, 300), Column("estrec", 0, 300)),
        hospitals=6, most=50,
    ),
    "HIV (ACTG 175) 6 x 100": Study(
        lambda: _lifelines("ACTG175"), "time", _pair("days", "cens"),
        (Column("age", 15, 70), Column("wtkg", 40, 120), Column("karnof", 70, 100), *_YES,
         Column("preanti", 0, 1500), Column("symptom"), Column("treat"), Column("cd40", 0, 800),
         Column("cd80", 0, 2500)),
        hospitals=6, most=100,
    ),
    "grades of students 6 x 80": Study(
        lambda: _table("students"), "number", _ranged("curricular_units_2nd_sem_grade", 0, 20),
        _STUDENTS, sites="course", hospitals=6, most=80,
    ),
    "heart rate (heart), 30": Study(
        _thalach, "number", _ranged("thalach", 60, 210),
        (Column("age", 25, 80), Column("sex"), Column("cp", levels=(1, 2, 3, 4)),
         Column("trestbps", 80, 200), Column("chol", 100, 500), Column("fbs"),
         Column("restecg", levels=(0, 1, 2)), Column("exang"), Column("oldpeak", -2, 6)),
        sites="hospital", hospitals=4, most=30,
    ),
    "units passed (students) 6 x 80": Study(
        lambda: _table("students"), "count", _pair("curricular_units_2nd_sem_approved", None),
        _STUDENTS, sites="course", hospitals=6, most=80,
    ),
}  # fmt: skip


class Tested(NamedTuple):
    """One method at one hospital-seed: nats and the headline, as they are and in each draw."""

    losses: Array
    headline: float


class Row(msgspec.Struct, kw_only=True):
    """One study; differences from alone, in nats; the headline in hundredths."""

    seeds: int
    alone: float
    averaged_alone: float
    most_common: float
    pooled: float
    transfer: float
    error: float
    headline: str
    headline_alone: float
    headlines: tuple[float, float]
    share: float
    share_interval: tuple[float, float]
    worse: float
    better: float


def tested(outcome: StudyOutcome, model: Function, own: ParticipantData, weights: Array) -> Tested:
    """Weights (1 + draws, B) of its test patients, the first of them 1."""
    part = own_part_of(model, own.train)
    said = outcome.said(logits_of(model, own.test.features), part)
    found = outcome.weighted_scores(said, own.test, weights)
    name, factor = LOSSES[outcome.name]
    return Tested(factor * found[name], float(found[outcome.headline][0]))


def transferred(
    outcome: StudyOutcome, people: Sequence[ParticipantData], own: Mapping[str, OwnFit], seed: int
) -> Mapping[str, Function]:
    """As `transfer.sums = "auto"` learns: of sums of fits where fits can be added up."""
    if outcome.curvature is None:
        return run_transfer(Transfer(release=ProjectionRelease(q=64)), people, seed, own=own).models
    kind = sum_of(AUTO, squares=outcome.spreads)
    assert kind is not None
    found = {}
    for name, fit in own.items():
        others = [one for peer, one in own.items() if peer != name]
        told = np.mean([kind.told(one) for one in others], axis=0)
        width = fit.samples.features.shape[1]
        found[name] = transfer_sum(fit, kind.opened(told, len(others), width)).model
    return found


def measure(study: Study, seeds: int) -> Row:
    outcome = outcome_named(study.outcome)
    patients = len(study.table())
    times = np.random.default_rng(0).poisson(1.0, (DRAWS, patients)).astype(np.float64)
    times = np.concatenate([np.ones((1, patients)), times])
    results: dict[str, list[Tested]] = {}
    for seed in range(seeds):
        people, numbers = study.people(seed)
        own = own_fits(people, 1, seed)
        learnt = transferred(outcome, people, own, seed)
        pool = together([one.train for one in people])
        pooled = own_fit(pool, rng=np.random.default_rng([seed, 2]))
        for one, part in zip(people, numbers, strict=True):
            weights = times[:, part]
            for method, model in {
                "alone": own[one.name].model,
                "averaged alone": own[one.name].averaged,
                "most common": most_common(one.train),
                "pooled": pooled.model,
                "pooled, averaged": pooled.averaged,
                "transfer": learnt[one.name],
            }.items():
                found = tested(outcome, model, one, weights)
                results.setdefault(method, []).append(found)
    return row(outcome, results, seeds)


def row(outcome: StudyOutcome, results: Mapping[str, Sequence[Tested]], seeds: int) -> Row:
    losses = {name: np.stack([one.losses for one in each]) for name, each in results.items()}
    means = {name: np.nanmean(each, axis=0) for name, each in losses.items()}
    heads = {
        name: float(np.nanmean([one.headline for one in each])) for name, each in results.items()
    }
    pooled = min(("pooled", "pooled, averaged"), key=lambda name: float(means[name][0]))
    alone, gain = means["alone"], means["alone"] - means["transfer"]
    shares = gain / (alone - means[pooled])
    low, high = np.quantile(shares[1:], [0.05, 0.95])
    apart = losses["transfer"] - losses["alone"]
    known = apart[np.isfinite(apart[:, 0])]
    errors = np.nanstd(known[:, 1:], axis=1, ddof=1)
    return Row(
        seeds=seeds,
        alone=float(alone[0]),
        **{
            name.replace(" ", "_"): float(means[name][0] - alone[0])
            for name in ("averaged alone", "most common", "transfer")
        },
        pooled=float(means[pooled][0] - alone[0]),
        error=float(gain[1:].std(ddof=1)),
        headline=outcome.scores[outcome.headline],
        headline_alone=heads["alone"],
        headlines=(heads[pooled] - heads["alone"], heads["transfer"] - heads["alone"]),
        share=float(shares[0]),
        share_interval=(float(low), float(high)),
        worse=float(np.mean(known[:, 0] > errors)),
        better=float(np.mean(known[:, 0] < -errors)),
    )


def table(rows: Mapping[str, Row]) -> str:
    lines = [
        "| data (training patients each) | most common | alone | averaged alone | pooled "
        "| **transfer** | headline, alone: pooled / transfer | share of pooling's gain "
        "| worse / better |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, one in rows.items():
        cells = [
            name,
            f"{one.most_common:+.3f}",
            f"{one.alone:.3f}",
            f"{one.averaged_alone:+.3f}",
            f"{one.pooled:+.3f}",
            f"**{one.transfer:+.3f}** ± {one.error:.3f}",
            f"{one.headline} {one.headline_alone:.2f}: "
            f"{one.headlines[0]:+.3f} / {one.headlines[1]:+.3f}",
            f"{one.share:.2f} ({one.share_interval[0]:.2f} to {one.share_interval[1]:.2f})",
            f"{one.worse:.2f} / {one.better:.2f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    # A share of a gain of next to nothing says nothing: it counts as all of it at most.
    mean = np.mean([min(1.0, one.share) for one in rows.values()])
    return "\n".join([*lines, "", f"The mean share, none counted above 1: **{mean:.2f}**."])


def main(
    seeds: Annotated[int, typer.Option(help="Divisions of every table.")] = 20,
    only: Annotated[str, typer.Option(help="Studies whose names contain this.")] = "",
    rows: Annotated[Path, typer.Option(help="Where measured rows are kept.")] = ROWS,
    write: PageOption = None,
) -> None:
    """Measure, keep, print, and write."""
    kept = msgspec.json.decode(rows.read_bytes(), type=dict[str, Row]) if rows.exists() else {}
    for name, study in STUDIES.items():
        if only in name and seeds:
            print(name, flush=True)
            kept[name] = measure(study, seeds)
            rows.write_text(
                json.dumps(msgspec.to_builtins(kept), indent=1) + "\n", encoding="utf-8"
            )
    made = table({name: kept[name] for name in STUDIES if name in kept})
    print(made)
    if write is not None:
        replace_tables(write, {"worth-outcomes": made})


if __name__ == "__main__":
    run_script(main)
