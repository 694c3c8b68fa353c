"""Does a report tell the truth? Its verdicts against worlds whose answer is known.

    python bench/verdicts.py --seeds 200                              # measure, keep, print
    python bench/verdicts.py --seeds 200 --write docs/notebook/verdicts.md

In a world hospitals draw patients from rules that are known. Truth is how much better a hospital's
model is than its best control on further patients, its expectation over their labels. The verdict
is the report's own (`worth.verdict`), from test patients. Takes half a second a seed and world.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from securefair.model.transfer.baselines import most_common
from securefair.report import write_text
from securefair.worth import own_fits
from securefair.worth.bootstrap import DRAWS, skewness
from securefair.worth.interval import wilson
from securefair.worth.verdict import Against, LossDifference, shrunk
from securefair_lab.algorithms.transfer import Transfer, run_transfer

Array = NDArray[np.float64]

ROWS = Path(__file__).parent / "verdicts.json"
HOSPITALS, FEATURES, TRUTH = 4, 6, 5_000
SAME = 0.002
"""Nats a patient: a true difference of no more than this is none."""
CONTROLS = ("alone", "averaged", "most common")
"""As few as any report compares with; most have six, which asks for more before "worse"."""
TRUTHS, TOLD = ("better", "same", "worse"), ("better", "unclear", "worse")


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One world: hospital-seeds by what is true of them, and by what was told; and the largest
    true difference either way, nats a patient."""

    seeds: int
    counts: dict[str, dict[str, int]]
    largest: float

    def told(self, said: str, truths: Sequence[str] = TRUTHS) -> int:
        """How many were told so of whom one of these is true."""
        return sum(self.counts[true][said] for true in truths)

    def true(self, truths: Sequence[str] = TRUTHS) -> int:
        """Of how many one of these is true."""
        return sum(self.told(said, truths) for said in TOLD)


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


@dataclass(frozen=True)
class World:
    """Args: rules of hospitals; training patients of each; test patients, a row for each number."""

    rules: Callable[[np.random.Generator], Array]
    train: int = 30
    tests: tuple[int, ...] = (30,)


WORLDS: Mapping[str, World] = MappingProxyType({
    "gain": World(alike, tests=(30, 100, 300)),
    "none": World(unrelated, train=2000, tests=(6, 10, 30, 300, 1000)),
    "little": World(unrelated, train=300, tests=(6, 10, 30, 300)),
    "unrelated": World(unrelated),
    "harm": World(opposite),
})  # fmt: skip
"""In "none" nothing is left to gain: a fit of 7 numbers to 2,000 patients is 7 / 4,000 = .0018 nats
from the best there is, which others could give at most, and others have other rules. In "little" it
is .012: there some truly gain or lose a little."""


def chances(rule: Array, x: Array) -> Array:
    """Of the second class, (n,)."""
    result: Array = 1 / (1 + np.exp(-(x @ rule)))
    return result


def drawn(rule: Array, count: int, rng: np.random.Generator) -> Samples:
    x = rng.uniform(-1, 1, (count, FEATURES))
    labels = rng.uniform(size=count) < chances(rule, x)
    return Samples(x, labels.astype(np.int64), 2)


def each_loss(model: Function, patients: Samples) -> Array:
    return losses(logits_of(model, patients.features), patients.labels)


def expected_loss(model: Function, rule: Array, x: Array) -> float:
    """Over patients with these features and whatever labels they may have."""
    second = chances(rule, x)
    logits, labels = logits_of(model, x), np.zeros(len(x), dtype=np.int64)
    by_label = losses(logits, labels), losses(logits, labels + 1)
    return float(np.mean((1 - second) * by_label[0] + second * by_label[1]))


def judged(world: World, rng: np.random.Generator, seed: int) -> dict[int, list[tuple[float, str]]]:
    """Truth and verdict of every hospital of one draw, by the number of test patients."""
    rules = world.rules(rng)
    people = [
        ParticipantData(f"h{at}", drawn(rule, world.train, rng), drawn(rule, world.tests[-1], rng))
        for at, rule in enumerate(rules)
    ]
    own = own_fits(people, 1, seed)
    run = run_transfer(Transfer(sums="gradient"), people, seed, own=own)
    models: dict[str, Mapping[str, Function]] = {
        "alone": {name: one.model for name, one in own.items()},
        "averaged": {name: one.averaged for name, one in own.items()},
        "most common": {one.name: most_common(one.train) for one in people},
        "transfer": run.models,
    }
    later = rng.uniform(-1, 1, (TRUTH, FEATURES))
    true, tested = (
        {
            method: np.array([score(by[one.name], one, rule)
                              for one, rule in zip(people, rules, strict=True)])
            for method, by in models.items()
        }
        for score in (
            lambda model, _one, rule: expected_loss(model, rule, later),
            lambda model, one, _rule: each_loss(model, one.test),
        )
    )  # fmt: skip
    return {count: _told(true, tested, count) for count in world.tests}


def _told(
    true: Mapping[str, Array], tested: Mapping[str, Array], count: int
) -> list[tuple[float, str]]:
    """By the first so many test patients of every hospital, against the control that these
    patients find best: each (hospitals,) and (hospitals, patients)."""
    some = {method: each[:, :count] for method, each in tested.items()}
    best = min(CONTROLS, key=lambda method: float(some[method].mean()))
    apart = some[best] - some["transfer"]
    # As a report draws other patients, of every hospital by itself.
    times = np.random.default_rng(count).multinomial(
        count, np.full(count, 1 / count), size=(len(apart), DRAWS)
    )
    differences = {}
    for at, (each, drawn) in enumerate(zip(apart, times, strict=True)):
        means = drawn @ each / count
        spread = float(means.std(ddof=1))
        differences[f"h{at}"] = LossDifference(float(each.mean()), spread, skewness(means))
    verdicts = shrunk(differences, Against(len(CONTROLS), float(some[best].mean())))
    gains = (true[best] - true["transfer"]).tolist()
    return [(gain, one.told) for gain, one in zip(gains, verdicts.values(), strict=True)]


def measure(name: str, seeds: int) -> dict[str, Row]:
    """A row for each number of test patients."""
    world = WORLDS[name]
    found: dict[int, list[tuple[float, str]]] = {count: [] for count in world.tests}
    for seed in range(seeds):
        rng = np.random.default_rng([seed, *name.encode()])
        for count, each in judged(world, rng, seed).items():
            found[count] += each
    return {f"{name}, {count}": counted(each, seeds) for count, each in found.items()}


def counted(found: Sequence[tuple[float, str]], seeds: int) -> Row:
    """What was told of what is true."""
    counts = {true: dict.fromkeys(TOLD, 0) for true in TRUTHS}
    for gain, said in found:
        counts["better" if gain > SAME else "worse" if gain < -SAME else "same"][said] += 1
    return Row(seeds, counts, max(abs(gain) for gain, _ in found))


def _share(part: int, whole: int, seeds: int) -> str:
    """With its 95 % interval, as of so many hospitals as seeds: those of a draw are not apart."""
    low, high = wilson(part / whole, min(seeds, whole))
    return f"{part / whole:.1%} ({low:.0%} to {high:.0%})"


def _falsely(row: Row, said: str) -> str:
    """How many were told so; how many of them falsely, of all and of those of whom it is not true:
    where most truly gain, few are left to be told so falsely."""
    others = [one for one in TRUTHS if one != said]
    false, not_so = row.told(said, others), row.true(others)
    of_all = f"{false}: {_share(false, row.true(), row.seeds)}"
    of_those = f"{false} of {not_so}: {_share(false, not_so, row.seeds)}" if not_so else "-"
    return f"{row.told(said)} | {of_all} | {of_those}"


def table(rows: Mapping[str, Row]) -> str:
    lines = [
        "| world, test patients a hospital | hospital-seeds | truly better / same / worse "
        "| told better | falsely, of all | falsely, of those not truly so "
        "| told worse | falsely, of all | falsely, of those not truly so "
        "| power: truly better that are told so | truly worse |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, r in rows.items():
        said = [_falsely(r, one) for one in ("better", "worse")]
        power = [
            _share(r.told(one, (one,)), r.true((one,)), r.seeds) if r.true((one,)) else "-"
            for one in ("better", "worse")
        ]
        lines.append(
            f"| {name} | {r.true()} | {' / '.join(str(r.true((one,))) for one in TRUTHS)} "
            f"| {' | '.join((*said, *power))} |"
        )
    return "\n".join(lines)


def main(
    seeds: Annotated[int, typer.Option(help="Draws of every world.")] = 200,
    only: Annotated[str, typer.Option(help="Worlds whose names contain this.")] = "",
    rows: Annotated[Path, typer.Option(help="Where measured rows are kept.")] = ROWS,
    write: PageOption = None,
) -> None:
    """Measure, keep, print, and write."""
    kept = msgspec.json.decode(rows.read_bytes(), type=dict[str, Row]) if rows.exists() else {}
    for name in WORLDS:
        if only in name:
            kept |= measure(name, seeds)
            write_text(rows, msgspec.json.format(msgspec.json.encode(kept)).decode() + "\n")
    every = [f"{name}, {count}" for name, world in WORLDS.items() for count in world.tests]
    found = {name: kept[name] for name in every if name in kept}
    print(table(found), flush=True)
    if write is not None:
        replace_tables(write, {"verdicts": table(found)})


if __name__ == "__main__":
    run_script(main)
