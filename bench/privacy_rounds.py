"""What private teachers cost their students in VPDL and CYCle, as tables and a figure.

    python bench/privacy_rounds.py --rows rows.jsonl --seeds 20                  # measure, print
    python bench/privacy_rounds.py --rows rows.jsonl --write docs/notebook/differential-privacy.md

Teachers answer from private fits as in `privacy_worth`. A third
method, "CYCle, private alignments", forms these privately as well, at the same epsilon: then
a hospital's patients cost both. Heads are linear, as the private fits are, and train for ten
rounds; other settings are the package's defaults. Answers are computed in the clear, by the
reference that encrypted runs are compared with. Needs SECUREFAIR_DATA; takes a quarter of an hour.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from page import PageOption, replace_tables, run_script
from privacy_rows import (
    CONTROL,
    DELTA,
    EPSILONS,
    NO_PRIVACY,
    SCORES,
    Row,
    by_epsilon,
    draw,
    errors,
    head,
    level,
    line,
    measured,
    tested,
)
from worth import Results
from worth_data import DATA_SETS

from securefair.collaboration.private import PrivateTeacher, private_teachers
from securefair.config.privacy import PrivacySection
from securefair.data.dataset import ParticipantData
from securefair.model.heads import Head
from securefair.model.transfer import Polynomial
from securefair.privacy import Patients, PrivacyTarget, PrivateAlignments, SeededNoise
from securefair.worth import EarlyStopping, own_fits
from securefair.worth.algorithm import Algorithm
from securefair_lab.algorithms import Cycle, LogitsRelease, Population, ProjectionRelease, Vpdl
from securefair_lab.algorithms.population import Alignment

Array = NDArray[np.float64]
ROUNDS, LAMBDA_0, Q, TEMPERATURE = 10, 10.0, 64, 5.0
LOCAL_EPOCHS, LOCAL_STEPS = 40, 5
EARLY = "stopped early"
ALIGNMENTS = "CYCle, private alignments"
METHODS = ("VPDL", "CYCle", ALIGNMENTS)
IMAGE = "../images/privacy-rounds.svg"


@dataclass(frozen=True)
class Trained:
    """A head as the tables' models are: logits (B, 1) of class 1 against class 0."""

    head: Head

    def logits(self, features: Array) -> Array:
        both = self.head.logits(features)
        result: Array = both[:, 1:] - both[:, :1]
        return result

    def predict_proba(self, features: Array) -> Array:
        chance = 1 / (1 + np.exp(-self.logits(features)[:, 0]))
        return np.column_stack([1 - chance, chance])


def measure(name: str, seed: int) -> list[Row]:
    """All methods on one division of a data set."""
    hospitals = DATA_SETS[name].hospitals(seed)
    people = tuple(ParticipantData(one.name, one.train, one.test) for one in hospitals)
    population = Population(
        participants=people,
        head="linear",
        local_epochs=LOCAL_EPOCHS,
        local_steps=LOCAL_STEPS,
        temperature=TEMPERATURE,
        lambda_0=LAMBDA_0,
        release=ProjectionRelease(q=Q),
    )
    rows: list[Row] = []

    def keep(method: str, models: Mapping[str, Trained | Polynomial]) -> None:
        rows.extend(tested(name, seed, method, one, models[one.name]) for one in hospitals)

    own = own_fits(list(people), 1, seed)
    keep("alone", {one: fit.model for one, fit in own.items()})
    keep(CONTROL, {one: fit.averaged for one, fit in own.items()})
    keep(EARLY, trained(EarlyStopping(rounds=ROUNDS), population, seed))
    keep(f"VPDL {NO_PRIVACY}", trained(Vpdl(), population, seed))
    keep(f"CYCle {NO_PRIVACY}", trained(Cycle(), population, seed))
    for epsilon in EPSILONS:
        terms = PrivacySection(epsilon=epsilon, delta=DELTA)
        found = private_teachers(people, ["linear"] * len(people), terms, seed=seed)
        answering = replace(
            population, teachers={one: teacher.model for one, teacher in found.items()}
        )
        keep(f"VPDL {epsilon:g}", trained(Vpdl(), answering, seed))
        keep(f"CYCle {epsilon:g}", trained(Cycle(), answering, seed))
        private = replace(
            answering,
            release=LogitsRelease(),
            private_alignments=alignments(people, found, epsilon, seed),
        )
        keep(f"{ALIGNMENTS} {epsilon:g}", trained(Cycle(), private, seed))
    return rows


def alignments(
    people: Sequence[ParticipantData],
    teachers: Mapping[str, PrivateTeacher],
    epsilon: float,
    seed: int,
) -> dict[str, Alignment]:
    target = PrivacyTarget(epsilon=epsilon, delta=DELTA)
    return {
        one.name: PrivateAlignments(
            teachers[one.name].model,
            one.train,
            Patients.of(one.train),
            target,
            peers=len(people) - 1,
            temperature=TEMPERATURE,
            noise=noise_of(seed, at, [other.name for other in people]),
        ).alignment
        for at, one in enumerate(people)
    }


def noise_of(seed: int, at: int, names: Sequence[str]) -> Callable[[str], SeededNoise]:
    places = {name: number for number, name in enumerate(["", *names])}
    return lambda peer: SeededNoise(seed, at, places[peer], 9)


def trained(
    algorithm: Algorithm[Any, Population], population: Population, seed: int
) -> dict[str, Trained]:
    state = algorithm.init(population, seed)
    for _ in range(ROUNDS):
        state, _record = algorithm.round(state, population)
    return {name: Trained(one.model) for name, one in state.train_states.items()}


def columns(method: str) -> list[str]:
    """Rows of a method; without privacy there is nothing that private alignments would add."""
    return by_epsilon(method, no_privacy=None if method == ALIGNMENTS else f"{method} {NO_PRIVACY}")


def table(results: Mapping[str, Results]) -> str:
    rows = head("data", "score", CONTROL, "stopped early", "method")
    for name, found in results.items():
        control = found.mean(CONTROL)
        start = [name, "log-loss", f"{control:.3f}", f"{found.mean(EARLY) - control:+.3f}"]
        for method in METHODS:
            cells = [
                f"{found.mean(one) - control:+.3f} ± {errors(found, one, CONTROL):.3f}"
                for one in columns(method)
            ]
            rows.append(line(*start, method, *filled(cells)))
            start = [""] * 4
        for score, label in SCORES:
            early = f"{found.change(EARLY, score, CONTROL):+.1f}"
            start = ["", label, f"{level(found, CONTROL, score):.1f}", early]
            for method in METHODS:
                cells = [f"{found.change(one, score, CONTROL):+.1f}" for one in columns(method)]
                rows.append(line(*start, method, *filled(cells)))
                start = [""] * 4
    return "\n".join(rows)


def filled(cells: Sequence[str]) -> list[str]:
    return [*cells, *[""] * (len(EPSILONS) + 1 - len(cells))]


def main(
    rows: Annotated[Path, typer.Option(help="File that keeps what was measured.")],
    seeds: Annotated[int, typer.Option(help="Divisions of every data set.")] = 20,
    write: PageOption = None,
) -> None:
    """Measure what is missing, print, and write."""
    results = measured(rows, seeds, measure)
    text = table(results)
    print(f"\n{text}", flush=True)
    if write is not None:
        replace_tables(write, {"privacy-rounds": text})
        draw(results, {one: columns(one) for one in METHODS}, write.parent / IMAGE)


if __name__ == "__main__":
    run_script(main)
