"""Does a report tell the truth? Its verdicts against worlds whose answer is known.

    python bench/verdicts.py --seeds 200                              # measure, keep, print
    python bench/verdicts.py --seeds 200 --write docs/notebook/verdicts.md

In a world hospitals draw patients from rules that are known. Truth is how much better a hospital's
model is than its best control on 20,000 further patients. The verdict is the report's own
(`worth.verdict`), from a few test patients. Takes about two seconds a seed and world.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import msgspec
import numpy as np
import typer
from numpy.typing import NDArray
from page import PageOption, replace_tables, run_script

from securefair.data.dataset import ParticipantData, Samples
from securefair.model.probabilities import log_losses as losses
from securefair.model.stored import Function, logits_of
from securefair.report import write_text
from securefair.worth import own_fits
from securefair.worth.verdict import shrunk
from securefair_lab.algorithms.transfer import Transfer, run_transfer

Array = NDArray[np.float64]

ROWS = Path(__file__).parent / "verdicts.json"
HOSPITALS, FEATURES, TRAIN, TEST, TRUTH = 4, 6, 30, 30, 20_000
SAME = 0.002
"""Nats a patient: a true difference below this is none."""


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One world: hospital-seeds in all, truly better and worse, and what was told of them."""

    hospitals: int
    better: int
    worse: int
    told_better: int
    falsely_better: int
    told_worse: int
    falsely_worse: int
    power: float


def alike(rng: np.random.Generator) -> Array:
    """One rule for all, and few patients: together they know more."""
    return np.tile(rng.normal(0, 1.5, FEATURES), (HOSPITALS, 1))


def unrelated(rng: np.random.Generator) -> Array:
    """A rule for each, drawn by itself: nothing is to be learnt from others."""
    return rng.normal(0, 1.5, (HOSPITALS, FEATURES))


def opposite(rng: np.random.Generator) -> Array:
    """The others have the opposite rule of the first: whoever believes them is worse off."""
    rule = rng.normal(0, 1.5, FEATURES)
    return np.stack([rule] + [-rule] * (HOSPITALS - 1))


WORLDS: Mapping[str, Callable[[np.random.Generator], Array]] = MappingProxyType(
    {"gain": alike, "none": unrelated, "harm": opposite}
)


def drawn(rule: Array, count: int, rng: np.random.Generator) -> Samples:
    x = rng.uniform(-1, 1, (count, FEATURES))
    labels = rng.uniform(size=count) < 1 / (1 + np.exp(-(x @ rule)))
    return Samples(x, labels.astype(np.int64), 2)


def each_loss(model: Function, patients: Samples) -> Array:
    return losses(logits_of(model, patients.features), patients.labels)


def judged(world: str, seed: int) -> list[tuple[float, str]]:
    """Truth and verdict of every hospital of one seed."""
    rng = np.random.default_rng([seed, *world.encode()])
    rules = WORLDS[world](rng)
    people = [
        ParticipantData(f"h{at}", drawn(rule, TRAIN, rng), drawn(rule, TEST, rng))
        for at, rule in enumerate(rules)
    ]
    own = own_fits(people, 1, seed)
    run = run_transfer(Transfer(sums="gradient"), people, seed, own=own)
    controls = {
        "alone": {name: one.model for name, one in own.items()},
        "averaged": {name: one.averaged for name, one in own.items()},
    }
    tested = {
        control: np.mean([each_loss(models[one.name], one.test).mean() for one in people])
        for control, models in controls.items()
    }
    best = controls[min(tested, key=lambda name: tested[name])]
    gains, truth = {}, {}
    for one, rule in zip(people, rules, strict=True):
        apart = each_loss(best[one.name], one.test) - each_loss(run.models[one.name], one.test)
        gains[one.name] = float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(len(apart)))
        later = drawn(rule, TRUTH, rng)
        truth[one.name] = float(
            (each_loss(best[one.name], later) - each_loss(run.models[one.name], later)).mean()
        )
    verdicts = shrunk(gains)
    return [(truth[name], verdicts[name].told) for name in gains]


def measure(world: str, seeds: int) -> Row:
    found = [one for seed in range(seeds) for one in judged(world, seed)]
    told = {word: [true for true, said in found if said == word] for word in ("better", "worse")}
    better = sum(true > SAME for true, _ in found)
    return Row(
        hospitals=len(found),
        better=better,
        worse=sum(true < -SAME for true, _ in found),
        told_better=len(told["better"]),
        falsely_better=sum(true <= 0 for true in told["better"]),
        told_worse=len(told["worse"]),
        falsely_worse=sum(true >= 0 for true in told["worse"]),
        power=sum(true > SAME for true in told["better"]) / max(1, better),
    )


def table(rows: Mapping[str, Row]) -> str:
    lines = [
        "| world | hospital-seeds | truly better / worse | told better | of these falsely "
        "| told worse | of these falsely | truly better that are told so |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {name} | {r.hospitals} | {r.better} / {r.worse} | {r.told_better} "
        f"| {r.falsely_better} ({r.falsely_better / r.hospitals:.1%} of all) | {r.told_worse} "
        f"| {r.falsely_worse} ({r.falsely_worse / r.hospitals:.1%}) | {r.power:.0%} |"
        for name, r in rows.items()
    ]
    return "\n".join(lines)


def main(
    seeds: Annotated[int, typer.Option(help="Draws of every world.")] = 200,
    rows: Annotated[Path, typer.Option(help="Where measured rows are kept.")] = ROWS,
    write: PageOption = None,
) -> None:
    """Measure, keep, print, and write."""
    found = {world: measure(world, seeds) for world in WORLDS}
    write_text(rows, msgspec.json.format(msgspec.json.encode(found)).decode() + "\n")
    print(table(found))
    if write is not None:
        replace_tables(write, {"verdicts": table(found)})


if __name__ == "__main__":
    run_script(main)
