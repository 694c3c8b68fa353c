"""What the measurements of privacy share: rows in a file, tables and figures by epsilon.

Everything of one data set and seed is written to the file at once and not measured again, so that
a measurement can be cut short and taken up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray
from worth import Results, Tested
from worth_data import Hospital

from securefair.model.outcomes.class_scores import probabilistic_scores
from securefair.model.probabilities import log_losses as losses

Array = NDArray[np.float64]

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
DELTA = 1e-3
NAMES = ("heart, 40", "heart, all", "Cleveland 5 x 40", "maternal 5 x 60", "students 6 x 80")
NO_PRIVACY = "inf"
CONTROL = "averaged alone"
SCORES = (("auc", "AUC, points"), ("accuracy", "accuracy, points"))


class Model(Protocol):
    def logits(self, features: Array) -> Array:
        """(B, d) -> (B, 1), of class 1 against class 0."""
        ...

    def predict_proba(self, features: Array) -> Array:
        """(B, d) -> (B, 2)."""
        ...


class Row(msgspec.Struct, frozen=True):
    """One method at one hospital of one seed, on its test patients."""

    data: str
    seed: int
    method: str
    patients: list[int]
    losses: list[float]
    auc: float | None
    accuracy: float


def tested(name: str, seed: int, method: str, hospital: Hospital, model: Model) -> Row:
    test = hospital.test
    scores = probabilistic_scores(model.predict_proba(test.features), test.labels)
    found = losses(model.logits(test.features), test.labels)
    return Row(
        name,
        seed,
        method,
        hospital.patients.tolist(),
        np.round(found, 5).tolist(),
        scores["auc"],
        scores["accuracy"] or 0.0,
    )


def measured(
    path: Path, seeds: int, measure: Callable[[str, int], Sequence[Row]]
) -> dict[str, Results]:
    """The results of every data set, after measuring what the file lacks."""
    done = {(row.data, row.seed) for row in _read(path)}
    for seed in range(seeds):
        for name in NAMES:
            if (name, seed) not in done:
                lines = b"".join(msgspec.json.encode(row) + b"\n" for row in measure(name, seed))
                with path.open("ab") as file:
                    file.write(lines)
                print(seed, name, flush=True)
    results = {name: Results() for name in NAMES}
    for row in _read(path):
        if row.seed < seeds:
            found = Tested(np.array(row.patients), np.array(row.losses), row.auc, row.accuracy)
            results[row.data].tested.setdefault(row.method, []).append(found)
    return results


def _read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    return [msgspec.json.decode(line, type=Row) for line in path.read_bytes().splitlines()]


def by_epsilon(method: str, *, no_privacy: str | None = NO_PRIVACY) -> list[str]:
    """The names of a method's rows, as the columns of a table."""
    private = [f"{method} {epsilon:g}" for epsilon in EPSILONS]
    return private if no_privacy is None else [*private, no_privacy]


def head(*columns: str, after: Sequence[str] = ("no privacy",)) -> list[str]:
    """The first two lines of a table with a column for every epsilon."""
    titles = [*columns, *(f"{epsilon:g}" for epsilon in EPSILONS), *after]
    return [line(*titles), "|" + "---|" * len(titles)]


def line(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def errors(results: Results, method: str, control: str) -> float:
    """Standard error over patients of the change in log-loss."""
    drawn = results.drawn([control, method])
    return float((drawn[method] - drawn[control]).std(ddof=1))


def level(results: Results, method: str, score: str) -> float:
    """AUC or accuracy in points."""
    values = [getattr(one, score) for one in results.tested[method]]
    return 100 * float(np.mean([value for value in values if value is not None]))


def draw(results: Mapping[str, Results], curves: Mapping[str, Sequence[str]], path: Path) -> None:
    """Change of log-loss against epsilon, with bars of two standard errors over patients."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "securefair"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(results), figsize=(3 * len(results), 3), sharex=True)
    places = [*EPSILONS, 16.0]
    for axis, (name, found) in zip(np.atleast_1d(axes), results.items(), strict=True):
        control = found.mean(CONTROL)
        for label, methods in curves.items():
            axis.errorbar(
                places[: len(methods)],
                [found.mean(one) - control for one in methods],
                [2 * errors(found, one, CONTROL) for one in methods],
                label=label,
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
    first.set_ylabel(f"log-loss against {CONTROL}")
    first.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
