"""What differential privacy of the teachers costs their students, as tables and a figure.

    python bench/privacy_worth.py --seeds 20                             # print
    python bench/privacy_worth.py --write docs/differential-privacy.md   # replace tables, figure

Teachers answer from fits that are private for each of their patients; students use their own fits
as ever. Every epsilon stands for one private fit of each hospital, delta = 0.001. Needs the folder
of data sets (SECUREFAIR_DATA). Its value ranges count as public rules. Takes half an hour.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from page import replace_tables
from worth import Results
from worth_data import DATA_SETS, Hospital

from securefair.algorithms.releases import ProjectionRelease
from securefair.algorithms.transfer import (
    Transfer,
    asked_peers,
    combined,
    own_fits,
    received_logits,
)
from securefair.data.dataset import ParticipantData, Samples
from securefair.model.heads import build_head
from securefair.model.transfer import OwnFit, Polynomial
from securefair.privacy import (
    Patients,
    PrivacyTarget,
    PrivateTraining,
    SeededNoise,
    SgdSettings,
    private_fit,
)

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
DELTA = 1e-3
NAMES = ("heart, 40", "heart, all", "Cleveland 5 x 40", "maternal 5 x 60", "students 6 x 80")
NO_PRIVACY = "inf"
IMAGE = "images/privacy.svg"

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


def measure(name: str, seeds: int) -> tuple[Results, Results]:
    """The students after a transfer, and the teachers themselves, on each hospital's test patients.

    Methods are named by mechanism and epsilon.
    """
    students, teachers = Results(), Results()
    settings = Transfer(release=ProjectionRelease(q=64))
    for seed in range(seeds):
        hospitals = DATA_SETS[name].hospitals(seed)
        people = [ParticipantData(one.name, one.train, one.test) for one in hospitals]
        own = own_fits(people, settings.degree, seed)
        for one in hospitals:
            students.add("alone", one, own[one.name].model)
            students.add("averaged alone", one, own[one.name].averaged)
        answer(students, teachers, NO_PRIVACY, settings, hospitals, own, own, seed)
        for mechanism, fit in MECHANISMS.items():
            for epsilon in EPSILONS:
                target = PrivacyTarget(epsilon=epsilon, delta=DELTA)
                private = {
                    one.name: replace(
                        own[one.name],
                        model=fit(one.train, target, SeededNoise(seed, at, int(10 * epsilon))),
                    )
                    for at, one in enumerate(hospitals)
                }
                method = f"{mechanism} {epsilon:g}"
                answer(students, teachers, method, settings, hospitals, own, private, seed)
    return students, teachers


def answer(
    students: Results,
    teachers: Results,
    method: str,
    settings: Transfer,
    hospitals: Sequence[Hospital],
    own: Mapping[str, OwnFit],
    answering: Mapping[str, OwnFit],
    seed: int,
) -> None:
    """One transfer in which everyone answers from `answering`."""
    names = [one.name for one in hospitals]
    for one in hospitals:
        asked = asked_peers(names, one.name, settings.peers, seed)
        answers = {name: received_logits(settings, answering[name], one.train) for name in asked}
        opened = settings.opened_of(len(answers))
        model = combined(own[one.name], answers, opened, settings.degree).model
        students.add(method, one, model)
        teachers.add(method, one, answering[one.name].model)


def epsilon_methods(mechanism: str) -> list[str]:
    return [f"{mechanism} {epsilon:g}" for epsilon in EPSILONS] + [NO_PRIVACY]


def errors(results: Results, method: str, control: str) -> float:
    """Standard error over patients of the change in log-loss."""
    drawn = results.drawn([control, method])
    return float((drawn[method] - drawn[control]).std(ddof=1))


def worth_table(measured: Mapping[str, tuple[Results, Results]]) -> str:
    head = " | ".join(f"{epsilon:g}" for epsilon in EPSILONS)
    rows = [
        f"| data | score | alone | averaged alone | {head} | no privacy |",
        "|---|---|---|---|" + "---|" * (len(EPSILONS) + 1),
    ]
    for name, (students, _) in measured.items():
        alone = students.mean("alone")
        methods = epsilon_methods("objective")
        cells = " | ".join(
            f"{students.mean(one) - alone:+.3f} ± {errors(students, one, 'alone'):.3f}"
            for one in methods
        )
        averaged = students.mean("averaged alone") - alone
        rows.append(f"| {name} | log-loss | {alone:.3f} | {averaged:+.3f} | {cells} |")
        for score, label in (("auc", "AUC"), ("accuracy", "accuracy")):
            values = [
                getattr(one, score) for one in students.tested["alone"] if getattr(one, score)
            ]
            cells = " | ".join(f"{students.change(one, score):+.1f}" for one in methods)
            control = students.change("averaged alone", score)
            rows.append(
                f"| | {label}, points | {100 * float(np.mean(values)):.1f} | {control:+.1f} "
                f"| {cells} |"
            )
    return "\n".join(rows)


def pays_table(measured: Mapping[str, tuple[Results, Results]]) -> str:
    """Which share of the gain over averaging alone is left, and from where on it is sure."""
    rows = [
        "| data | " + " | ".join(f"{epsilon:g}" for epsilon in EPSILONS) + " | pays from |",
        "|---|" + "---|" * (len(EPSILONS) + 1),
    ]
    for name, (students, _) in measured.items():
        control = students.mean("averaged alone")
        gains = {one: control - students.mean(one) for one in epsilon_methods("objective")}
        cells = " | ".join(
            f"{gains[f'objective {epsilon:g}'] / gains[NO_PRIVACY]:.0%}" for epsilon in EPSILONS
        )
        pays = [
            epsilon
            for epsilon in EPSILONS
            if gains[f"objective {epsilon:g}"]
            > 2 * errors(students, f"objective {epsilon:g}", "averaged alone")
        ]
        # From an epsilon on: every larger one must pay as well.
        start = [e for e in EPSILONS if all(larger in pays for larger in EPSILONS if larger >= e)]
        rows.append(f"| {name} | {cells} | {f'{start[0]:g}' if start else 'none measured'} |")
    return "\n".join(rows)


def mechanisms_table(measured: Mapping[str, tuple[Results, Results]]) -> str:
    head = " | ".join(f"{epsilon:g}" for epsilon in EPSILONS)
    rows = [
        f"| data | teacher, log-loss | {head} | no privacy |",
        "|---|---|" + "---|" * (len(EPSILONS) + 1),
    ]
    for name, (_, teachers) in measured.items():
        for mechanism in MECHANISMS:
            cells = " | ".join(f"{teachers.mean(one):.3f}" for one in epsilon_methods(mechanism))
            rows.append(f"| {name} | {mechanism} | {cells} |")
    return "\n".join(rows)


def draw(measured: Mapping[str, tuple[Results, Results]], path: Path) -> None:
    """Change of log-loss against epsilon, with bars of two standard errors over patients."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "securefair"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(measured), figsize=(3 * len(measured), 3), sharex=True)
    places = [*EPSILONS, 16.0]
    for axis, (name, (students, _)) in zip(np.atleast_1d(axes), measured.items(), strict=True):
        control = students.mean("averaged alone")
        for mechanism, colour in zip(MECHANISMS, ("tab:blue", "tab:orange"), strict=True):
            methods = epsilon_methods(mechanism)
            axis.errorbar(
                places,
                [students.mean(one) - control for one in methods],
                [2 * errors(students, one, "averaged alone") for one in methods],
                label=mechanism,
                color=colour,
                marker="o",
                markersize=3,
                capsize=2,
            )
        axis.axhline(0, color="grey", linewidth=0.8)
        axis.set_xscale("log", base=2)
        axis.set_xticks(places, [f"{epsilon:g}" for epsilon in EPSILONS] + ["none"])
        axis.set_title(name, fontsize=9)
        axis.set_xlabel("epsilon")
        axis.tick_params(labelsize=7)
    first = np.atleast_1d(axes)[0]
    first.set_ylabel("log-loss against averaged alone")
    first.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main(
    seeds: Annotated[int, typer.Option(help="Divisions of every data set.")] = 20,
    only: Annotated[str, typer.Option(help="Data sets whose names contain this.")] = "",
    write: Annotated[Path | None, typer.Option(help="Page whose tables are replaced.")] = None,
) -> None:
    """Measure, print, and write."""
    measured = {}
    for name in NAMES:
        if only in name:
            print(name, flush=True)
            measured[name] = measure(name, seeds)
    tables = {
        "privacy-worth": worth_table(measured),
        "privacy-pays": pays_table(measured),
        "privacy-mechanisms": mechanisms_table(measured),
    }
    for name, table in tables.items():
        print(f"\n{name}\n\n{table}", flush=True)
    if write is not None:
        replace_tables(write, tables)
        draw(measured, write.parent / IMAGE)


if __name__ == "__main__":
    typer.run(main)
