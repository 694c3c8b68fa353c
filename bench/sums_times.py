"""What sums of fits to times tell of patients: attacks, as a table of docs/notebook/sums.md.

    pip install --no-deps lifelines
    python bench/sums_times.py --write docs/notebook/sums.md

As bench/sums.py, of the patients of ACTG 175: the attacker opens the sum `gradient` over some
hospitals, has own patients, and a list of records, half of them of patients in the sum. Events are
rare, so those who had one are attacked by themselves: a slope is the sum of what their features are
off from those at risk. Takes a minute.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from page import PageOption, replace_tables, run_script
from sums import area, leverage, opened
from worth_outcomes import STUDIES

from securefair.data.dataset import Samples
from securefair.model.transfer import own_fit

Array = NDArray[np.float64]
STUDY = STUDIES["HIV (ACTG 175) 6 x 100"]
SIZES, OTHERS = ((20, 2), (20, 6), (40, 2), (40, 12), (100, 30)), (1, 2, 3, 5)
"""Patients and events of a hospital, and hospitals in the sum; one is what all others know."""


def with_events(everyone: Samples, patients: int, events: int, rng: np.random.Generator) -> Array:
    """Numbers of so many patients, so many of them with the event."""
    came = rng.permutation(np.flatnonzero(everyone.labels == 1))[:events]
    others = rng.permutation(np.flatnonzero(everyone.labels == 0))[: patients - events]
    return np.concatenate([came, others])


def attacked(patients: int, events: int, others: int, seed: int) -> tuple[float, ...]:
    """Areas under the curve: of all patients by distance; of those with events by the mean fit, by
    the slope at it, and by the better guess of either sign."""
    rng, left = np.random.default_rng([seed, patients, events]), STUDY.samples(STUDY.table())
    parts = []
    for _ in range(others + 2):  # two aside: strangers, and the attacker's own
        found = with_events(left, patients, events, rng)
        parts.append(left.take(found))
        left = left.take(np.setdiff1d(np.arange(len(left)), found))
    *hospitals, aside, own = parts
    fits = [own_fit(one, rng=np.random.default_rng(seed)) for one in hospitals]
    summed, centre = opened("gradient", fits), own.features.mean(axis=0)
    gradient = summed.slope[0] - summed.curvature @ summed.mean.linear[0]

    def had_it(samples: Samples) -> Array:
        found: Array = samples.features[samples.labels == 1] - centre
        return found

    def told(direction: Array) -> float:
        return area(had_it(hospitals[0]) @ direction, had_it(aside) @ direction)

    distance = area(*(leverage(summed, one.features - centre) for one in (hospitals[0], aside)))
    return distance, told(summed.mean.linear[0]), told(summed.slope[0]), told(gradient)


def table(seeds: int) -> str:
    lines = [
        "| patients, events a hospital | hospitals in the sum | any patient, by distance "
        "| who had the event: mean fit alone | slope | gradient at the mean fit |",
        "|---|---|---|---|---|---|",
    ]
    for patients, events in SIZES:
        for others in OTHERS:
            each = [attacked(patients, events, others, seed) for seed in range(seeds)]
            cells = [f"{one:.2f}" for one in np.mean(each, axis=0)]
            lines.append(f"| {patients}, {events} | {others} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(
    seeds: Annotated[int, typer.Option(help="Draws of hospitals.")] = 40,
    write: PageOption = None,
) -> None:
    """Measure, print, and write."""
    made = table(seeds)
    print(made)
    if write is not None:
        replace_tables(write, {"sums-times": made})


if __name__ == "__main__":
    run_script(main)
