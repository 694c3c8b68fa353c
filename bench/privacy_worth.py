"""What differential privacy of the teachers costs their students, as tables and a figure.

    python bench/privacy_worth.py --rows rows --seeds 20           # measure, print
    python bench/privacy_worth.py --rows rows --write docs/notebook/differential-privacy.md

Teachers answer from fits that are private for each of their patients; students use their own fits
as ever. Every epsilon stands for one private fit of each hospital, delta = 0.001. Needs the folder
of data sets (SECUREFAIR_DATA). Its value ranges count as public rules. Takes an hour, most of it
for DP-SGD.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from page import PageOption, replace_tables, run_script
from privacy_rows import (
    CONTROL,
    DELTA,
    EPSILONS,
    NAMES,
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
from worth_data import DATA_SETS, Hospital

from securefair.data.dataset import ParticipantData, Samples
from securefair.model.heads import build_head
from securefair.model.transfer import OwnFit, Polynomial
from securefair.model.transfer.peers import asked_peers
from securefair.privacy import (
    Patients,
    PrivacyTarget,
    PrivateTraining,
    SeededNoise,
    SgdSettings,
    private_fit,
)
from securefair.worth import own_fits
from securefair_lab.algorithms.releases import ProjectionRelease
from securefair_lab.algorithms.transfer import Transfer, combined, received_logits

FIRST = "objective"
TEACHER = "teacher: "
IMAGE = "../images/privacy.svg"

Teacher = Callable[[Samples, PrivacyTarget, SeededNoise], Polynomial]


def by_objective(samples: Samples, target: PrivacyTarget, noise: SeededNoise) -> Polynomial:
    fit = private_fit(samples, Patients.one_row_each(len(samples)), target, noise)
    return Polynomial(fit.constant, fit.linear)


def by_sgd(samples: Samples, target: PrivacyTarget, noise: SeededNoise) -> Polynomial:
    """The same head by DP-SGD; its settings were chosen on census data, as the other's were."""
    head = build_head("linear", samples.features.shape[1], 0, samples.classes, 0)
    settings = SgdSettings()
    patients = Patients.one_row_each(len(samples))
    PrivateTraining(head, samples, patients, target, noise, settings).advance(settings.steps)
    width = samples.features.shape[1]
    logits = head.logits(np.vstack([np.zeros((1, width)), np.eye(width)]))
    constant, columns = np.diff(logits[0]), np.diff(logits[1:] - logits[0])
    return Polynomial(constant, columns.T)


MECHANISMS: Mapping[str, Teacher] = {"objective": by_objective, "DP-SGD": by_sgd}


def measure(mechanism: str, name: str, seed: int) -> list[Row]:
    """The students after a transfer, and the teachers themselves, on each hospital's test patients.

    Methods are named by mechanism and epsilon. The controls come with the first mechanism.
    """
    settings = Transfer(release=ProjectionRelease(q=64))
    hospitals = DATA_SETS[name].hospitals(seed)
    own = own_fits(
        [ParticipantData(one.name, one.train, one.test) for one in hospitals], settings.degree, seed
    )
    rows = []
    if mechanism == FIRST:
        for one in hospitals:
            rows.append(tested(name, seed, "alone", one, own[one.name].model))
            rows.append(tested(name, seed, CONTROL, one, own[one.name].averaged))
    for method, answering in teachers(mechanism, hospitals, own, seed):
        after = students(settings, hospitals, own, answering, seed)
        for one, model in zip(hospitals, after, strict=True):
            rows.append(tested(name, seed, method, one, model))
            rows.append(tested(name, seed, TEACHER + method, one, answering[one.name].model))
    return rows


def teachers(
    mechanism: str, hospitals: Sequence[Hospital], own: Mapping[str, OwnFit], seed: int
) -> Iterator[tuple[str, Mapping[str, OwnFit]]]:
    """What answers, by method."""
    if mechanism == FIRST:
        yield NO_PRIVACY, own
    for epsilon in EPSILONS:
        target = PrivacyTarget(epsilon=epsilon, delta=DELTA)
        fit = MECHANISMS[mechanism]
        private = {
            one.name: fit(one.train, target, SeededNoise(seed, at, int(10 * epsilon)))
            for at, one in enumerate(hospitals)
        }
        yield (
            f"{mechanism} {epsilon:g}",
            {name: replace(own[name], model=model) for name, model in private.items()},
        )


def students(
    settings: Transfer,
    hospitals: Sequence[Hospital],
    own: Mapping[str, OwnFit],
    answering: Mapping[str, OwnFit],
    seed: int,
) -> Iterator[Polynomial]:
    """Everybody's model after one transfer in which everyone answers from `answering`."""
    asked = asked_peers([one.name for one in hospitals], settings.peers, seed)
    for one in hospitals:
        answers = {
            name: received_logits(settings, answering[name], one.train) for name in asked[one.name]
        }
        opened = settings.opened_of(len(answers))
        yield combined(own[one.name], answers, opened, settings.degree).model


def worth_table(results: Mapping[str, Results]) -> str:
    rows = head("data", "score", "alone", CONTROL)
    methods = by_epsilon("objective")
    for name, found in results.items():
        alone = found.mean("alone")
        cells = [
            f"{found.mean(one) - alone:+.3f} ± {errors(found, one, 'alone'):.3f}" for one in methods
        ]
        averaged = found.mean(CONTROL) - alone
        rows.append(line(name, "log-loss", f"{alone:.3f}", f"{averaged:+.3f}", *cells))
        for score, label in SCORES:
            cells = [f"{found.change(one, score):+.1f}" for one in [CONTROL, *methods]]
            rows.append(line("", label, f"{level(found, 'alone', score):.1f}", *cells))
    return "\n".join(rows)


def pays_table(results: Mapping[str, Results]) -> str:
    """Which share of the gain over averaging alone is left, and from where on it is sure."""
    rows = head("data", after=("pays from",))
    for name, found in results.items():
        gains = {one: found.mean(CONTROL) - found.mean(one) for one in by_epsilon("objective")}
        shares = [f"{gains[one] / gains[NO_PRIVACY]:.0%}" for one in by_epsilon("objective")[:-1]]
        pays = [
            epsilon
            for epsilon in EPSILONS
            if gains[f"objective {epsilon:g}"]
            > 2 * errors(found, f"objective {epsilon:g}", CONTROL)
        ]
        # From an epsilon on: every larger one must pay as well.
        start = [e for e in EPSILONS if all(larger in pays for larger in EPSILONS if larger >= e)]
        rows.append(line(name, *shares, f"{start[0]:g}" if start else "none measured"))
    return "\n".join(rows)


def mechanisms_table(results: Mapping[str, Results]) -> str:
    rows = head("data", "teacher, log-loss")
    for name, found in results.items():
        for mechanism in MECHANISMS:
            cells = [f"{found.mean(TEACHER + one):.3f}" for one in by_epsilon(mechanism)]
            rows.append(line(name, mechanism, *cells))
    return "\n".join(rows)


def main(
    rows: Annotated[Path, typer.Option(help="Folder that keeps what was measured.")],
    seeds: Annotated[int, typer.Option(help="Divisions of every data set.")] = 20,
    write: PageOption = None,
) -> None:
    """Measure what is missing, print, and write."""
    results = {name: Results() for name in NAMES}
    for mechanism in MECHANISMS:
        part = measured(rows / f"{mechanism}.jsonl", seeds, partial(measure, mechanism))
        for name, found in part.items():
            results[name].tested |= found.tested
    tables = {
        "privacy-worth": worth_table(results),
        "privacy-pays": pays_table(results),
        "privacy-mechanisms": mechanisms_table(results),
    }
    for name, table in tables.items():
        print(f"\n{name}\n\n{table}", flush=True)
    if write is not None:
        replace_tables(write, tables)
        draw(results, {one: by_epsilon(one) for one in MECHANISMS}, write.parent / IMAGE)


if __name__ == "__main__":
    run_script(main)
