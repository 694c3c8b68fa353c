"""Transfer and its controls on tables of the papers, which are as large as hospitals' tables are.

Divisions and seeds are those of the papers' experiments: CFFL's of Adult, and FairSL's of two small
tables. Everyone's linear fit is tuned by cross-validation on its own training samples. Images are
not among them: a linear fit of 784 pixels and ten classes has 7,850 parameters, and one step of
Newton's method takes 4 x 10^11 multiplications for each of 108 settings and folds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from securefair.data import ParticipantData, Samples
from securefair.model.transfer import Fitted
from securefair.worth import cgs, mcg, mva
from securefair.worth.tuned import headline
from securefair_lab.algorithms.transfer import Transfer, run_transfer
from securefair_lab.data.catalogue import load_data_set
from securefair_lab.data.division import divide
from securefair_lab.data.folds import cross_validation
from securefair_lab.data.partition import RatioPartitioner
from securefair_lab.papers.cffl_settings import ADULT, Setting
from securefair_lab.papers.experiment import Claim, Experiment, Fields, Measured, Parts, Row, Size
from securefair_lab.papers.fairsl_forests import COIMBRA, MATERNAL, SPLITS, THREE
from securefair_lab.papers.measures import every
from securefair_lab.scores import mcc

TUNED, AVERAGED, TRANSFER = "tuned alone", "averaged alone", "transfer"
METHODS = (TUNED, AVERAGED, TRANSFER)
FOLDS = 5
Models = Mapping[str, Fitted]


def fitted(participants: Sequence[ParticipantData], seed: int) -> dict[str, Models]:
    """Everybody's models by method, of samples that are in range."""
    result = run_transfer(Transfer(), participants, seed)
    return {
        TUNED: {name: own.model for name, own in result.own.items()},
        AVERAGED: {name: own.averaged for name, own in result.own.items()},
        TRANSFER: result.models,
    }


def in_range(participants: Sequence[ParticipantData]) -> list[ParticipantData]:
    """The same with every feature from -1 to 1 over all samples.

    The tables come without rules, so their whole ranges stand for value ranges that are public.
    """
    everything = np.concatenate([s.features for p in participants for s in (p.train, p.test)])
    low, high = everything.min(axis=0), everything.max(axis=0)
    width = np.where(high > low, high - low, 1)

    def scaled(samples: Samples) -> Samples:
        return replace(samples, features=2 * (samples.features - low) / width - 1)

    return [ParticipantData(p.name, scaled(p.train), scaled(p.test)) for p in participants]


def on_adult(size: Size, data: Path | None, seed: int) -> list[Measured]:
    """Accuracies in percent, and gains over tuned alone."""
    setting = Setting(task=ADULT, size=size, data=data, n=5)
    people = in_range(setting(seed).participants)
    models = fitted(people, seed)
    found = {
        method: np.array([100 * headline(models[method][own.name], own) for own in people])
        for method in METHODS
    }
    return _rows(setting.fields, found)


def on_tables(size: Size, data: Path | None, seed: int) -> list[Measured]:
    """Matthews correlations times 100 in the mean over folds, and gains over tuned alone."""
    result = []
    for table in (COIMBRA,) if size == "smoke" else (COIMBRA, MATERNAL):
        each: dict[str, list[list[float]]] = {method: [] for method in METHODS}
        whole = load_data_set("breast-cancer" if data is None else table.name, data)
        for number, fold in enumerate(cross_validation(whole, folds=FOLDS, seed=seed)):
            own = seed + 1_000_003 * number  # as the forests of that fold
            people = in_range(divide(fold, RatioPartitioner(ratios=THREE), seed=own))
            for method, models in fitted(people, own).items():
                each[method].append([_mcc(models[one.name], one.test) for one in people])
        found = {method: 100 * np.mean(rows, axis=0) for method, rows in each.items()}
        fields: Fields = {"dataset": table.dataset, "split": SPLITS[THREE], "n": len(THREE)}
        result += _rows(fields, found)
    return result


def _mcc(model: Fitted, samples: Samples) -> float:
    return mcc(model.predict_proba(samples.features).argmax(axis=1), samples.labels)


def _rows(fields: Fields, found: Mapping[str, NDArray[np.float64]]) -> list[Measured]:
    return [
        Measured(fields={**fields, "method": method}, metrics=_told(found, method))
        for method in METHODS
    ]


def _told(found: Mapping[str, NDArray[np.float64]], method: str) -> dict[str, float]:
    own = found[method]
    gained = own - found[TUNED]
    return {
        **{f"P{n}": float(value) for n, value in enumerate(own, start=1)},
        "mean": mva(own),
        "MCG": mcg(gained),
        "CGS": cgs(gained),
        "least gain": float(gained.min()),
    }


def _peers_pay(rows: Sequence[Row]) -> Parts:
    gain = {(row.fields["dataset"], row.fields["method"]): row.metrics["MCG"] for row in rows}
    return every(
        gain[dataset, TRANSFER] > gain[dataset, AVERAGED]
        for dataset, method in gain
        if method == TRANSFER
    )


CLAIMS = (
    Claim(words="A transfer's mean gain (MCG) is above that of averaging alone", parts=_peers_pay),
    Claim(
        words="A transfer harms nobody in the mean over seeds",
        parts=lambda rows: every(
            row.metrics["least gain"] >= 0 for row in rows if row.fields["method"] == TRANSFER
        ),
    ),
)
DIFFERS = "The paper has no such experiment. Gains are over tuned alone."


CONTROLS = (
    Experiment(
        name="cffl-controls",
        paper="cffl",
        item="beyond the paper: tuned and averaged alone, transfer",
        shows="Linear fits on CFFL's division of Adult: alone, averaged alone, and a transfer",
        needs=("adult.csv.gz",),
        unit="percent and percentage points",
        reference=None,
        measure=on_adult,
        claims=CLAIMS,
        differs=DIFFERS,
        sizes=("smoke", "cpu"),
    ),
    Experiment(
        name="fairsl-controls",
        paper="fairsl",
        item="beyond the paper: tuned and averaged alone, transfer",
        shows="Linear fits on FairSL's divisions of two tables: alone, averaged, and a transfer",
        needs=("coimbra.csv.gz", "maternal.csv.gz"),
        unit="100 x MCC",
        reference=None,
        measure=on_tables,
        claims=CLAIMS,
        differs=f"{DIFFERS} Folds are repeated once.",
        sizes=("smoke", "cpu"),
    ),
)
