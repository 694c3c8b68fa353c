"""What collaboration by transfer is worth, beside pooling all raw data, as tables for a page.

    python bench/worth.py --seeds 20                        # print
    python bench/worth.py --seeds 20 --write docs/worth.md  # replace the tables of the page

Needs the folder of data sets (SECUREFAIR_DATA). Every data set is divided anew for every seed;
penalties and weights are chosen on training patients. Intervals are 90 % intervals of a bootstrap
over patients, each counted once whatever the seeds that held it out. Takes some minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from page import replace_tables
from worth_data import DATA_SETS, GOALS, DataSet, Hospital

from securefair.algorithms.releases import LogitsRelease, ProjectionRelease
from securefair.algorithms.transfer import Transfer, TransferResult, run_transfer
from securefair.data.dataset import ParticipantData, Samples
from securefair.metrics.probabilistic import probabilistic_scores
from securefair.model.transfer import Polynomial, own_fit
from securefair.model.transfer.baselines import most_common
from securefair.model.transfer.penalised import losses

Array = NDArray[np.float64]
QS = (4, 8, 16, 32, 64)
DRAWS = 1000
TRANSFER = "q = 64"  # the method of the main table


@dataclass(frozen=True)
class Tested:
    """One method at one hospital of one seed: log-loss of each test patient, AUC, accuracy."""

    patients: NDArray[np.int64]
    losses: Array
    auc: float | None
    accuracy: float


class Results:
    """Everything tested on one data set, by method, hospital-seeds in one order."""

    def __init__(self) -> None:
        self.tested: dict[str, list[Tested]] = {}
        self.weights: dict[str, list[float]] = {"inverted": [], "honest": []}

    def add(self, method: str, hospital: Hospital, model: Polynomial) -> None:
        test = hospital.test
        scores = probabilistic_scores(model.predict_proba(test.features), test.labels)
        logits = model.logits(test.features)
        self.tested.setdefault(method, []).append(
            Tested(
                hospital.patients,
                losses(logits, test.labels),
                scores["auc"],
                scores["accuracy"] or 0.0,
            )
        )

    def mean(self, method: str) -> float:
        return float(np.mean([one.losses.mean() for one in self.tested[method]]))

    def change(self, method: str, score: str, control: str = "alone") -> float:
        """Mean of AUC or accuracy minus that of the control, in points."""
        pairs = [
            (getattr(a, score), getattr(b, score))
            for a, b in zip(self.tested[method], self.tested[control], strict=True)
        ]
        return 100 * float(np.mean([a - b for a, b in pairs if a is not None and b is not None]))

    def drawn(self, methods: Sequence[str]) -> dict[str, Array]:
        """The mean log-loss of each method for other patients, (draws,); the same for all."""
        patients = max(int(one.patients.max()) for one in self.tested[methods[0]]) + 1
        rng = np.random.default_rng(0)
        times = rng.poisson(1.0, (DRAWS, patients)).astype(np.float64)
        result = {}
        for method in methods:
            parts = []
            for one in self.tested[method]:
                weights = times[:, one.patients]
                total = weights.sum(axis=1)
                parts.append(np.where(total > 0, weights @ one.losses / np.maximum(total, 1), 0))
            result[method] = np.mean(parts, axis=0)
        return result

    def against(self, method: str, control: str) -> tuple[float, float]:
        """The shares of hospital-seeds worse and better than a control by over one paired SE."""
        worse = better = 0
        for a, b in zip(self.tested[method], self.tested[control], strict=True):
            apart = a.losses - b.losses
            error = apart.std(ddof=1) / np.sqrt(len(apart))
            worse += bool(apart.mean() > error)
            better += bool(apart.mean() < -error)
        count = len(self.tested[method])
        return worse / count, better / count


def measure(data: DataSet, seeds: int) -> Results:
    results = Results()
    for seed in range(seeds):
        hospitals = data.hospitals(seed)
        runs = {f"q = {q}": transferred(hospitals, seed, ProjectionRelease(q=q)) for q in QS}
        runs["all logits"] = transferred(hospitals, seed, LogitsRelease())
        pooled = own_fit(pool(hospitals), rng=np.random.default_rng([seed, 2]))
        own = runs["all logits"].own
        for one in hospitals:
            results.add("alone", one, own[one.name].model)
            results.add("averaged alone", one, own[one.name].averaged)
            results.add("most common", one, most_common(one.train))
            results.add("pooled", one, pooled.model)
            results.add("pooled, averaged", one, pooled.averaged)
            for method, run in runs.items():
                results.add(method, one, run.models[one.name])
        inverted(results, hospitals, seed)
    return results


def transferred(
    hospitals: Sequence[Hospital], seed: int, release: LogitsRelease | ProjectionRelease
) -> TransferResult:
    people = [ParticipantData(one.name, one.train, one.test) for one in hospitals]
    return run_transfer(Transfer(release=release), people, seed)


def inverted(results: Results, hospitals: Sequence[Hospital], seed: int) -> None:
    """One hospital, another for each seed, whose training labels are in reverse order."""
    bad = seed % len(hospitals)
    people = []
    for at, one in enumerate(hospitals):
        labels = one.train.classes - 1 - one.train.labels if at == bad else one.train.labels
        people.append(ParticipantData(one.name, replace(one.train, labels=labels), one.test))
    run = run_transfer(Transfer(opened="each"), people, seed)
    for at, one in enumerate(hospitals):
        if at == bad:
            continue
        results.add("honest alone", one, run.own[one.name].model)
        results.add("honest, one inverted", one, run.models[one.name])
        for teacher, weight in run.transferred[one.name].trust.weights.items():
            kind = "inverted" if teacher == hospitals[bad].name else "honest"
            results.weights[kind].append(weight)


def pool(hospitals: Sequence[Hospital]) -> Samples:
    return Samples(
        np.concatenate([one.train.features for one in hospitals]),
        np.concatenate([one.train.labels for one in hospitals]),
        hospitals[0].train.classes,
    )


def best_pooled(results: Results) -> str:
    return min(("pooled", "pooled, averaged"), key=results.mean)


def share(results: Results, method: str) -> tuple[float, float, float]:
    """Of the better pooling's gain over tuned alone, with its 90 % interval."""
    pooled = best_pooled(results)
    drawn = results.drawn(["alone", pooled, method])
    draws = (drawn["alone"] - drawn[method]) / (drawn["alone"] - drawn[pooled])
    alone = results.mean("alone")
    point = (alone - results.mean(method)) / (alone - results.mean(pooled))
    low, high = np.quantile(draws, [0.05, 0.95])
    return point, float(low), float(high)


def worth_table(measured: dict[str, Results]) -> str:
    rows = [
        "| data (training patients each) | most common | alone | averaged alone | pooled "
        "| **transfer** | AUC, pooled / transfer | accuracy, pooled / transfer "
        "| share of pooling's gain | worse / better |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, r in measured.items():
        alone, pooled = r.mean("alone"), best_pooled(r)
        drawn = r.drawn(["alone", TRANSFER])
        error = (drawn[TRANSFER] - drawn["alone"]).std(ddof=1)
        point, low, high = share(r, TRANSFER)
        worse, better = r.against(TRANSFER, "alone")
        rows.append(
            f"| {name} | {r.mean('most common'):.3f} | {alone:.3f} "
            f"| {r.mean('averaged alone') - alone:+.3f} | {r.mean(pooled) - alone:+.3f} "
            f"| **{r.mean(TRANSFER) - alone:+.3f}** ± {error:.3f} "
            f"| {r.change(pooled, 'auc'):+.1f} / {r.change(TRANSFER, 'auc'):+.1f} "
            f"| {r.change(pooled, 'accuracy'):+.1f} / {r.change(TRANSFER, 'accuracy'):+.1f} "
            f"| {point:.2f} ({low:.2f} to {high:.2f}) | {worse:.2f} / {better:.2f} |"
        )
    goals = [share(measured[name], TRANSFER)[0] for name in GOALS if name in measured]
    rows.append(f"\nThe mean share of the five that goals are set for: **{np.mean(goals):.2f}**.")
    return "\n".join(rows)


def numbers_table(measured: dict[str, Results]) -> str:
    methods = [*(f"q = {q}" for q in QS), "all logits"]
    rows = [
        f"| data | {' | '.join(methods)} | smallest q with 90 % of the gain at 64 |",
        "|---|" + "---|" * (len(methods) + 1),
    ]
    for name, r in measured.items():
        alone = r.mean("alone")
        gains = {method: alone - r.mean(method) for method in methods}
        enough = next(q for q in QS if gains[f"q = {q}"] >= 0.9 * gains["q = 64"])
        cells = " | ".join(f"{-gain:+.3f}" for gain in gains.values())
        rows.append(f"| {name} | {cells} | {enough} |")
    totals = {
        method: np.mean([r.mean("alone") - r.mean(method) for r in measured.values()])
        for method in methods
    }
    cells = " | ".join(f"{gain / totals['q = 64']:.0%}" for gain in totals.values())
    enough = next(q for q in QS if totals[f"q = {q}"] >= 0.9 * totals["q = 64"])
    rows.append(f"| share of the mean gain at 64 | {cells} | {enough} |")
    return "\n".join(rows)


def inverted_table(measured: dict[str, Results]) -> str:
    rows = [
        "| data | honest hospitals, against alone | weight of the inverted | of honest ones "
        "| at most 0: inverted / honest |",
        "|---|---|---|---|---|",
    ]
    for name, r in measured.items():
        drawn = r.drawn(["honest alone", "honest, one inverted"])
        error = (drawn["honest, one inverted"] - drawn["honest alone"]).std(ddof=1)
        bad, honest = (np.array(r.weights[kind]) for kind in ("inverted", "honest"))
        rows.append(
            f"| {name} | {r.mean('honest, one inverted') - r.mean('honest alone'):+.3f} "
            f"± {error:.3f} | {bad.mean():+.2f} | {honest.mean():+.2f} "
            f"| {np.mean(bad <= 0):.0%} / {np.mean(honest <= 0):.0%} |"
        )
    return "\n".join(rows)


def main(
    seeds: Annotated[int, typer.Option(help="Divisions of every data set.")] = 20,
    only: Annotated[str, typer.Option(help="Data sets whose names contain this.")] = "",
    write: Annotated[Path | None, typer.Option(help="Page whose tables are replaced.")] = None,
) -> None:
    """Measure, print, and write."""
    measured = {}
    for name, data in DATA_SETS.items():
        if only in name:
            print(name, flush=True)
            measured[name] = measure(data, seeds)
    tables = {
        "worth": worth_table(measured),
        "numbers": numbers_table(measured),
        "inverted": inverted_table(measured),
    }
    for name, table in tables.items():
        print(f"\n{name}\n\n{table}")
    if write is not None:
        replace_tables(write, tables)


if __name__ == "__main__":
    typer.run(main)
