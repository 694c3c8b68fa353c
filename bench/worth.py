"""What collaboration by transfer is worth, beside pooling all raw data, as tables for a page.

    python bench/worth.py --seeds 20                        # measure, keep, print
    python bench/worth.py --rivals --seeds 5                # usual models and sums, to kept rows
    python bench/worth.py --seeds 20 --write docs/notebook/worth.md  # replace its tables

Needs the folder of data sets (SECUREFAIR_DATA). Every data set is divided anew for every seed;
penalties and weights are chosen on training patients. Intervals are 90 % intervals of a bootstrap
over patients, each counted once whatever the seeds that held it out. Takes some minutes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from page import PageOption, replace_tables, run_script
from worth_data import DATA_SETS, DataSet, Hospital
from worth_rivals import rivals, with_transfer
from worth_rows import METHODS, QS, ROWS, TRANSFER, Inverted, Rivals, Row, keep, kept, tables

from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import DataError
from securefair.model.outcomes.class_scores import probabilistic_scores
from securefair.model.probabilities import log_losses as losses
from securefair.model.probabilities import probabilities_of
from securefair.model.stored import Function, logits_of
from securefair.model.transfer import OwnFit, own_fit
from securefair.model.transfer.answers import numbers_a_logit
from securefair.model.transfer.baselines import most_common
from securefair.worth import own_fits
from securefair_lab.algorithms.releases import LogitsRelease, ProjectionRelease
from securefair_lab.algorithms.transfer import Transfer, TransferResult, run_transfer

Array = NDArray[np.float64]
DRAWS = 1000
ALONE = "alone"


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

    def add(self, method: str, hospital: Hospital, model: Function) -> None:
        test = hospital.test
        logits = logits_of(model, test.features)
        scores = probabilistic_scores(probabilities_of(logits), test.labels)
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
        people = [ParticipantData(one.name, one.train, one.test) for one in hospitals]
        own = own_fits(people, 1, seed)
        runs = by_numbers(people, own, seed)
        pooled = own_fit(pool(hospitals), rng=np.random.default_rng([seed, 2]))
        for one in hospitals:
            results.add("alone", one, own[one.name].model)
            results.add("averaged alone", one, own[one.name].averaged)
            results.add("most common", one, most_common(one.train))
            results.add("pooled", one, pooled.model)
            results.add("pooled, averaged", one, pooled.averaged)
            for method, run in runs.items():
                results.add(method, one, run.models[one.name])
        inverted(results, hospitals, own, seed)
    return results


def measure_rivals(data: DataSet, seeds: int) -> Rivals:
    """Usual models and plain sums, beside alone and transfer on the same divisions."""
    results = Results()
    for seed in range(seeds):
        hospitals = data.hospitals(seed)
        people = [ParticipantData(one.name, one.train, one.test) for one in hospitals]
        own = own_fits(people, 1, seed)
        found = rivals(hospitals, own, pool(hospitals), seed)
        runs = {
            "transfer": run_transfer(Transfer(), people, seed, own=own),
            "transfer, trees": run_transfer(Transfer(leaves=True), people, seed, own=own),
        }
        found |= {name: dict(run.models) for name, run in runs.items()}
        found["ensemble with transfer, trees"] = with_transfer(people, found)
        found["averaged alone"] = {name: one.averaged for name, one in own.items()}
        for one in hospitals:
            results.add(ALONE, one, own[one.name].model)
            for method, models in found.items():
                results.add(method, one, models[one.name])
    alone = results.mean(ALONE)
    changes = {method: results.mean(method) - alone for method in results.tested if method != ALONE}
    return Rivals(seeds, changes)


def by_numbers(
    people: Sequence[ParticipantData], own: Mapping[str, OwnFit], seed: int
) -> dict[str, TransferResult]:
    """The transfer with every q of the page; where several give the same numbers, one is run."""
    features = int(people[0].train.features.shape[1])
    runs: dict[tuple[int, ...], TransferResult] = {}
    result = {}
    for q in QS:
        numbers = tuple(numbers_a_logit(q, len(one.train), features, 1) for one in people)
        if numbers not in runs:
            settings = Transfer(release=ProjectionRelease(q=q))
            runs[numbers] = run_transfer(settings, people, seed, own=own)
        result[f"q = {q}"] = runs[numbers]
    settings = Transfer(release=LogitsRelease())
    return result | {"all logits": run_transfer(settings, people, seed, own=own)}


def inverted(
    results: Results, hospitals: Sequence[Hospital], own: Mapping[str, OwnFit], seed: int
) -> None:
    """One hospital, another for each seed, whose training labels are in reverse order."""
    bad = seed % len(hospitals)
    people = []
    for at, one in enumerate(hospitals):
        labels = one.train.classes - 1 - one.train.labels if at == bad else one.train.labels
        people.append(ParticipantData(one.name, replace(one.train, labels=labels), one.test))
    own = {**own, **own_fits([people[bad]], 1, seed)}
    run = run_transfer(Transfer(opened="each"), people, seed, own=own)
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


def row(results: Results) -> Row:
    """Every figure of one data set, differences in nats a patient, scores in points."""
    pooled = min(("pooled", "pooled, averaged"), key=results.mean)
    drawn = results.drawn([ALONE, pooled, TRANSFER])
    alone, gain = results.mean(ALONE), drawn[ALONE] - drawn[TRANSFER]
    low, high = np.quantile(gain / (drawn[ALONE] - drawn[pooled]), [0.05, 0.95])
    worse, better = results.against(TRANSFER, ALONE)
    return Row(
        most_common=results.mean("most common"),
        alone=alone,
        averaged_alone=results.mean("averaged alone") - alone,
        pooled=results.mean(pooled) - alone,
        transfer=results.mean(TRANSFER) - alone,
        error=float(gain.std(ddof=1)),
        auc=(results.change(pooled, "auc"), results.change(TRANSFER, "auc")),
        accuracy=(results.change(pooled, "accuracy"), results.change(TRANSFER, "accuracy")),
        share=(alone - results.mean(TRANSFER)) / (alone - results.mean(pooled)),
        share_interval=(float(low), float(high)),
        worse=worse,
        better=better,
        numbers={method: results.mean(method) - alone for method in METHODS},
        inverted=_one_inverted(results),
    )


def _one_inverted(results: Results) -> Inverted:
    drawn = results.drawn(["honest alone", "honest, one inverted"])
    change = drawn["honest, one inverted"] - drawn["honest alone"]
    bad, honest = (np.array(results.weights[kind]) for kind in ("inverted", "honest"))
    return Inverted(
        honest=results.mean("honest, one inverted") - results.mean("honest alone"),
        error=float(change.std(ddof=1)),
        weight=float(bad.mean()),
        honest_weight=float(honest.mean()),
        at_most_zero=float(np.mean(bad <= 0)),
        honest_at_most_zero=float(np.mean(honest <= 0)),
    )


def main(
    seeds: Annotated[int, typer.Option(help="Divisions of every data set.")] = 20,
    only_rivals: Annotated[
        bool, typer.Option("--rivals", help="Only usual models and plain sums.")
    ] = False,
    only: Annotated[str, typer.Option(help="Data sets whose names contain this.")] = "",
    rows: Annotated[Path, typer.Option(help="Where measured rows are kept.")] = ROWS,
    write: PageOption = None,
) -> None:
    """Measure, keep, print, and write."""
    for name, data in DATA_SETS.items():
        if only in name:
            print(name, flush=True)
            known = kept(rows).get(name)
            if not only_rivals:
                found = row(measure(data, seeds))
                found.rivals = None if known is None else known.rivals
                keep(rows, name, found)
            elif known is None:
                raise DataError("measure its row first", where=name, found="no row", hint=str(rows))
            else:
                known.rivals = measure_rivals(data, seeds)
                keep(rows, name, known)
    made = tables(kept(rows))
    for name, table in made.items():
        print(f"\n{name}\n\n{table}")
    if write is not None:
        replace_tables(write, made)


if __name__ == "__main__":
    run_script(main)
