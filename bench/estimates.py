"""How often intervals of estimates hold the truth, in worlds that are known.

    python bench/estimates.py --worlds 100       # prints a table; about two minutes of one core

Hospitals draw patients of one logistic world with five features; peers answer with their fits, and
their mean is opened. Counted are coefficients of the first hospital.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer
from page import run_script
from scipy.special import expit

from securefair.data.dataset import Samples
from securefair.model.transfer import intervals, linear_estimates, own_fit, transfer

TRUTH = np.array([1.2, -0.8, 0.4, 0.0, 0.0])
PEERS = 4


def patients(count: int, apart: float, rng: np.random.Generator) -> tuple[Samples, np.ndarray]:
    """Of one hospital, whose coefficients lie so far from the others'."""
    slopes = TRUTH + rng.normal(0, apart, len(TRUTH))
    x = rng.uniform(-1, 1, (count, len(TRUTH)))
    labels = (rng.random(count) < expit(x @ slopes)).astype(np.int64)
    return Samples(x, labels, 2), slopes


def held(count: int, apart: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(fits, coefficients, levels) whether intervals hold the truth, and their widths at 90 %."""
    rng = np.random.default_rng(seed)
    (own, slopes), *others = [patients(count, apart, rng) for _ in range(1 + PEERS)]
    said = [own_fit(one, rng=rng).model.logits(own.features) for one, _ in others]
    fit = own_fit(own, rng=rng)
    found = linear_estimates(own, transfer(fit, np.mean(said, axis=0)).families, rng)
    if found is None:
        raise ValueError("linear fits have estimates")
    ends = [intervals(one[:, 0]) for one in (found.alone, found.together)]
    inside = [(one[..., 0] <= slopes[:, None]) & (slopes[:, None] <= one[..., 1]) for one in ends]
    return np.stack(inside), np.stack([one[:, 0, 1] - one[:, 0, 0] for one in ends])


def main(worlds: Annotated[int, typer.Option(help="Draws of everybody's patients.")] = 100) -> None:
    """Measure and print."""
    print("| patients, coefficients | fit | 90 % hold | 95 % hold | mean width at 90 % |")
    print("|---|---|---|---|---|")
    for count, apart in ((40, 0.0), (40, 0.5), (200, 0.0), (200, 0.5)):
        found = [held(count, apart, seed) for seed in range(worlds)]
        inside = np.mean([one for one, _ in found], axis=(0, 2))
        width = np.mean([one for _, one in found], axis=(0, 2))
        for at, name in enumerate(("alone", "together")):
            alike = "the same" if apart == 0 else f"± {apart}"
            shares = " | ".join(f"{share:.0%}" for share in inside[at])
            print(f"| {count}, {alike} | {name} | {shares} | {width[at]:.2f} |", flush=True)


if __name__ == "__main__":
    run_script(main)
