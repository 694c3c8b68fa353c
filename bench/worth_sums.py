"""What sums of fits are worth beside encrypted answers: the second table of docs/notebook/sums.md.

    python bench/worth_sums.py --seeds 20                             # measure, keep, print
    python bench/worth_sums.py --seeds 20 --write docs/notebook/sums.md

On the hospitals of `bench/worth.py`, and on tables that no setting of sums was chosen by: census
records, auctions and breast cancer, whose rules hospitals propose. In the clear; some minutes.
Shares have 90 % intervals over patients; tables of the heart records draw the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import msgspec
import numpy as np
import typer
from page import PageOption, replace_tables, run_script
from worth import ALONE, Results, pool
from worth_data import DATA_SETS, GOALS, DataSet, Rows, at_random

from securefair.data.dataset import ParticipantData
from securefair.data.rows import read_rows
from securefair.model.transfer import own_fit
from securefair.model.transfer.sums import NONE
from securefair.model.transfer.sums.register import REGISTERED
from securefair.report import write_text
from securefair.worth import own_fits
from securefair_lab.algorithms.transfer import Transfer, run_transfer
from securefair_lab.data.folder import data_folder

ROWS = Path(__file__).parent / "worth_sums.json"
METHODS = (NONE, *REGISTERED)
POOLED = "pooled"


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One data set: log-loss alone, and differences from it, by method; 90 % intervals of the
    difference of the first sum from encrypted answers; and these differences for `KEPT` draws of
    other patients, for intervals of shares."""

    seeds: int
    alone: float
    pooled: float
    pooled_averaged: float
    changes: dict[str, float]
    against_answers: tuple[float, float]
    worse: dict[str, float]
    drawn: dict[str, list[float]] = {}


KEPT = 200
"""Draws of other patients in a row."""


@cache
def table(name: str) -> Rows:
    return read_rows(data_folder() / f"{name}.csv.gz")


KEPT_BACK: Mapping[str, DataSet] = MappingProxyType({
    "census 5 x 60": DataSet(
        lambda: table("adult")[:3000], at_random(5), 60, "income", (("<=50K",), (">50K",))),
    "auctions 4 x 60": DataSet(
        lambda: table("auction")[:2000], at_random(4), 60, "verification.result",
        (("False",), ("True",))),
    "Coimbra 4 x 20": DataSet(
        lambda: table("coimbra"), at_random(4), 20, "Classification", (("No",), ("Yes",))),
})  # fmt: skip


def measure(data: DataSet, seeds: int) -> Row:
    results = Results()
    for seed in range(seeds):
        hospitals = data.hospitals(seed)
        people = [ParticipantData(one.name, one.train, one.test) for one in hospitals]
        own = own_fits(people, 1, seed)
        pooled = own_fit(pool(hospitals), rng=np.random.default_rng([seed, 2]))
        runs = {name: run_transfer(Transfer(sums=name), people, seed, own=own) for name in METHODS}
        for one in hospitals:
            results.add(ALONE, one, own[one.name].model)
            results.add(POOLED, one, pooled.model)
            results.add("pooled, averaged", one, pooled.averaged)
            for name, run in runs.items():
                results.add(name, one, run.models[one.name])
    alone, first = results.mean(ALONE), METHODS[1]
    drawn = results.drawn([ALONE, POOLED, *METHODS])
    low, high = np.quantile(drawn[first] - drawn[NONE], [0.05, 0.95])
    return Row(
        seeds=seeds,
        alone=alone,
        pooled=results.mean(POOLED) - alone,
        pooled_averaged=results.mean("pooled, averaged") - alone,
        changes={name: results.mean(name) - alone for name in METHODS},
        against_answers=(float(low), float(high)),
        worse={name: results.against(name, ALONE)[0] for name in METHODS},
        drawn={
            name: (drawn[name] - drawn[ALONE])[:KEPT].round(5).tolist()
            for name in (POOLED, *METHODS)
        },
    )


LEAST_GAIN = 0.01
"""Of pooling, nats a patient, below which a share of it says nothing."""


def share_of(rows: Sequence[Row], method: str) -> str:
    """What a method gains, as a part of what pooling gains, with its interval; "-" where that is
    nothing."""
    pooled = sum(row.pooled for row in rows) / len(rows)
    gained = sum(row.changes[method] for row in rows) / len(rows)
    if pooled >= -LEAST_GAIN:
        return "-"
    if not all(row.drawn for row in rows):  # measured before draws were kept
        return f"{gained / pooled:.2f}"
    ours, theirs = (np.sum([row.drawn[name] for row in rows], axis=0) for name in (method, POOLED))
    low, high = np.quantile(ours / theirs, [0.05, 0.95])
    return f"{gained / pooled:.2f} ({low:.2f} to {high:.2f})"


def _capped(rows: Sequence[Row], method: str) -> str:
    """So that one table where trees do better than pooling linear fits does not carry the mean."""
    shares = [
        min(1.0, row.changes[method] / row.pooled) for row in rows if row.pooled < -LEAST_GAIN
    ]
    return f"{np.mean(shares):.2f}"


def written(rows: Mapping[str, Row]) -> str:
    lines = [
        "| data | seeds | alone | pooled linear | with trees | answers | gradient | curvature "
        "| share of pooling: answers, gradient, curvature | gradient less answers "
        "| worse than alone: answers, gradient |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, r in rows.items():
        shares = [share_of([r], one) for one in METHODS]
        low, high = r.against_answers
        lines.append(
            f"| {name} | {r.seeds} | {r.alone:.3f} | {r.pooled:+.3f} | {r.pooled_averaged:+.3f} | "
            + " | ".join(f"{r.changes[one]:+.3f}" for one in METHODS)
            + f" | {', '.join(shares)} | {low:+.3f} to {high:+.3f} | "
            + f"{r.worse[NONE]:.2f}, {r.worse[METHODS[1]]:.2f} |"
        )
    for title, names in (("five that goals are set for", GOALS), ("others", [*rows])):
        chosen = [
            rows[one] for one in names if one in rows and (names is GOALS or one not in GOALS)
        ]
        if chosen:
            shares = [share_of(chosen, one) for one in METHODS]
            capped = [_capped(chosen, one) for one in METHODS]
            gains = [np.mean([r.changes[one] for r in chosen]) for one in METHODS]
            lines.append(
                f"| mean of the {title} | | | | | "
                + " | ".join(f"{gain:+.3f}" for gain in gains)
                + f" | {', '.join(shares)}; mean of shares, none above 1: {', '.join(capped)} "
                + "| | |"
            )
    return "\n".join(lines)


def main(
    seeds: Annotated[int, typer.Option(help="Divisions of every data set.")] = 20,
    only: Annotated[str, typer.Option(help="Data sets whose names contain this.")] = "",
    rows: Annotated[Path, typer.Option(help="Where measured rows are kept.")] = ROWS,
    write: PageOption = None,
) -> None:
    """Measure, keep, print, and write."""
    every = {**DATA_SETS, **KEPT_BACK}
    kept = msgspec.json.decode(rows.read_bytes(), type=dict[str, Row]) if rows.exists() else {}
    for name, data in every.items():
        if only in name:
            kept[name] = measure(data, seeds)
            found = {one: kept[one] for one in every if one in kept}
            write_text(
                rows, msgspec.json.format(msgspec.json.encode(found), indent=0).decode() + "\n"
            )
            print(name, kept[name].changes, f"pooled {kept[name].pooled:+.4f}", flush=True)
    found = {one: kept[one] for one in every if one in kept}
    print(written(found))
    if write is not None:
        replace_tables(write, {"worth-sums": written(found)})


if __name__ == "__main__":
    run_script(main)
