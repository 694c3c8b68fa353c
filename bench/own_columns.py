"""Columns that one hospital lacks: what the others lose if nobody uses them, and if each uses them
for its own model.

    python bench/own_columns.py --seeds 20      # prints a table; a minute of one core

The heart data by hospital. Some hospital lacks chest pain and exercise angina; each of the four is
looked at as one that has them. A third of the patients is held out, nothing chosen on them.
Standard errors are over patients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray
from page import run_script
from worth_data import DATA_SETS

from securefair.data import HEART_SPEC, Samples
from securefair.model.probabilities import log_losses
from securefair.model.transfer import Fitted, OwnFit, own_fit, transfer
from securefair.model.transfer.sums import sum_of, transfer_sum

Array = NDArray[np.float64]
LACKING = ("cp", "exang")
DRAWS = 1000
SUMMED = "curvature"


class Losses(NamedTuple):
    """Of the test patients of one hospital-seed, with their numbers in the table."""

    numbers: NDArray[np.int64]
    each: Array


def reordered(samples: Samples, *, kept: bool) -> Samples:
    """The columns that one hospital lacks behind the others, or nowhere."""
    names = HEART_SPEC.features
    last = [at for at, name in enumerate(names) if name.split("=")[0].rstrip("?") in LACKING]
    first = [at for at in range(len(names)) if at not in last]
    features = samples.features[:, [*first, *last] if kept else first]
    return replace(samples, features=features, further=len(last) if kept else 0)


def models(name: str, fits: Mapping[str, OwnFit], *, summed: bool) -> dict[str, Fitted]:
    """Alone, averaged alone, and with peers."""
    own, others = fits[name], [fit.told for peer, fit in fits.items() if peer != name]
    x = own.samples.common.features
    if summed:
        kind = sum_of(SUMMED)
        assert kind is not None
        told = np.mean([kind.told(one) for one in others], axis=0)
        found = transfer_sum(own, kind.opened(told, len(others), x.shape[1]))
    else:
        found = transfer(own, np.mean([one.model.logits(x) for one in others], axis=0))
    return {"alone": own.model, "averaged alone": own.averaged, "transfer": found.model}


def measure(name: str, seeds: int, *, summed: bool) -> dict[str, list[Losses]]:
    """Losses of every hospital-seed, by method. Whichever other hospital lacks the columns, peers
    say the same."""
    found: dict[str, list[Losses]] = {}
    for seed in range(seeds):
        people = DATA_SETS[name].hospitals(seed)
        for label, kept in (("common", False), ("own", True)):
            fits = {
                one.name: own_fit(
                    reordered(one.train, kept=kept), rng=np.random.default_rng([seed, at])
                )
                for at, one in enumerate(people)
            }
            for one in people:
                test = reordered(one.test, kept=kept)
                for what, model in models(one.name, fits, summed=summed).items():
                    each = log_losses(model.logits(test.features), test.labels)
                    found.setdefault(f"{what}, {label}", []).append(Losses(one.patients, each))
    return found


def against(found: Sequence[Losses], control: Sequence[Losses]) -> tuple[float, float, float]:
    """Mean over hospital-seeds, its standard error over patients, and the share of hospital-seeds
    that are worse by one of theirs."""
    patients = 1 + max(int(numbers.max()) for numbers, _ in found)
    times = np.random.default_rng(0).poisson(1.0, (DRAWS, patients)).astype(np.float64)
    each, drawn, worse = [], [], []
    for (numbers, one), (_, other) in zip(found, control, strict=True):
        apart, weights = one - other, times[:, numbers]
        means = (weights @ apart) / np.maximum(weights.sum(axis=1), 1)
        each.append(apart.mean())
        drawn.append(means)
        worse.append(apart.mean() > means.std(ddof=1))
    return float(np.mean(each)), float(np.mean(drawn, axis=0).std(ddof=1)), float(np.mean(worse))


def main(seeds: Annotated[int, typer.Option(help="Divisions.")] = 20) -> None:
    """Measure and print."""
    print("| data, what is asked | alone | method | difference | worse |")
    print("|---|---|---|---|---|")
    for name in ("heart, 40", "heart, all"):
        for summed in (False, True):
            found = measure(name, seeds, summed=summed)
            control = found["alone, own"]
            mean = np.mean([one.each.mean() for one in control])
            for method in ("averaged alone, own", "transfer, common", "transfer, own"):
                apart, error, worse = against(found[method], control)
                print(
                    f"| {name}, {'sums' if summed else 'answers'} | {mean:.3f} | {method} "
                    f"| {apart:+.4f} ± {error:.4f} | {worse:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    run_script(main)
