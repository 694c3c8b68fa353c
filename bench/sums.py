"""What sums of fits tell of patients: attacks, as the table of docs/notebook/sums.md.

    python bench/sums.py                                  # measure, keep, print
    python bench/sums.py --write docs/notebook/sums.md    # replace its table

Hospitals are drawn from the heart records, each patient once. The attacker opens the sum over some
of them; that of one is what all others know who work together. It has a list of records, half of
them of patients in the sum and half of others, and says of each which it is. Takes a minute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
import typer
from numpy.typing import NDArray
from page import PageOption, replace_tables, run_script

from securefair.data.dataset import Samples
from securefair.data.heart import load_heart
from securefair.model.probabilities import log_losses as losses
from securefair.model.transfer import OwnFit, own_fit
from securefair.model.transfer.families import average
from securefair.model.transfer.sums import Summed, sum_of
from securefair.report import write_text

Array = NDArray[np.float64]

ROWS = Path(__file__).parent / "sums.json"
PATIENTS, OTHERS = (20, 40, 100), (1, 2, 3, 5)
PRECISION = 1e-6
"""Eigenvalues of a curvature below this part of the largest are 0: so exactly sums are opened."""


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One size. Areas under the curve of membership; shares in [0, 1].

    Attributes:
        patients, others: of a hospital, and hospitals in the sum.
        fit: by the mean fit alone, which transfers open without sums as well.
        gradient, curvature: by how near records are in the metric that each sum holds.
        rows: how much more often a record of a patient lies in the span of a curvature than
            another's, for whoever knows one patient: 1 tells all apart, 0 nobody.
        counts: columns of 0 and 1 of which a gradient's sum says that nobody, or one, has a 1.
        leaves: by what each record is worth to leaves beside a line, of fits on other patients,
            with the sign of what the sum says of leaves.
        guessed: error of a sum's share as a guess of one hospital's diagonal, over that of guessing
            from as many patients of one's own; 1 says that the sum tells nothing of the one.
    """

    patients: int
    others: int
    fit: float
    gradient: float
    curvature: float
    rows: float
    counts: float
    leaves: float
    guessed: float


def population() -> Samples:
    """All heart records, of all four hospitals."""
    data = load_heart(0)
    parts = [one for own in data for one in (own.train, own.test)]
    return Samples(
        np.concatenate([one.features for one in parts]),
        np.concatenate([one.labels for one in parts]),
        parts[0].classes,
    )


def area(members: Array, strangers: Array) -> float:
    """How often a member has the higher score, ties counting half."""
    above = members[:, None] > strangers[None]
    ties = members[:, None] == strangers[None]
    return float(above.mean() + ties.mean() / 2)


def leverage(summed: Summed, features: Array) -> Array:
    """Minus the distance of records in the metric of a curvature: nearer for whoever is in it."""
    curvature = summed.curvature
    ridge = 1e-3 * np.trace(curvature) / len(curvature)
    inverse = np.linalg.inv(curvature + ridge * np.eye(len(curvature)))
    result: Array = -np.einsum("ni,ij,nj->n", features, inverse, features)
    return result


def outside(curvature: Array, differences: Array) -> Array:
    """How much of each difference of records lies outside the span of a curvature, (n,)."""
    values, vectors = np.linalg.eigh(curvature)
    free = vectors[:, values < PRECISION * values.max()]
    result: Array = np.linalg.norm(differences @ free, axis=1)
    return result


def attacked(everyone: Samples, patients: int, others: int, seed: int) -> tuple[float, ...]:
    rng = np.random.default_rng([seed, patients, others])
    order = rng.permutation(len(everyone))
    hospitals = [everyone.take(part) for part in np.array_split(order[: patients * others], others)]
    fits = [own_fit(one, rng=np.random.default_rng(seed)) for one in hospitals]
    rest = order[patients * others :]
    aside, own = everyone.take(rest[:patients]), everyone.take(rest[patients : 2 * patients])
    listed, centre = hospitals[0], own.features.mean(axis=0)
    gradient, curvature = (opened(name, fits) for name in ("gradient", "curvature"))

    def by_loss(samples: Samples) -> Array:
        return -losses(gradient.mean.logits(samples.features), samples.labels)

    def by_distance(summed: Summed) -> Callable[[Samples], Array]:
        return lambda samples: leverage(summed, samples.features - centre)

    fit = area(by_loss(listed), by_loss(aside))
    areas = [
        area(by_distance(one)(listed), by_distance(one)(aside)) for one in (gradient, curvature)
    ]
    near = listed.features[0]  # a patient that the attacker knows
    inside = [outside(curvature.curvature, one.features - near) < 1e-2 for one in (listed, aside)]
    found = float(inside[0].mean() - inside[1].mean())
    alone = own_fit(own, rng=np.random.default_rng(seed))
    said = area(by_leaves(alone, gradient, listed), by_leaves(alone, gradient, aside))
    return fit, *areas, found, few(hospitals), said, guess(fits, alone)


def by_leaves(alone: OwnFit, summed: Summed, records: Samples) -> Array:
    """How well each record agrees with what was said of leaves, (n,)."""
    fitted: list[Array] = []
    for leaves in (False, True):
        model = average([one for one in alone.families if (one.design.trees is not None) is leaves])
        fitted.append(losses(model.model.logits(records.features), records.labels))
    line, trees = fitted
    agreeing: Array = np.sign(summed.evidence or 0.0) * (line - trees)
    return agreeing


def opened(name: str, fits: Sequence[OwnFit]) -> Summed:
    summed = sum_of(name)
    if summed is None:
        raise LookupError(name)
    mean = np.mean([summed.told(one) for one in fits], axis=0)
    return summed.opened(mean, len(fits), fits[0].samples.features.shape[1])


def few(hospitals: Sequence[Samples]) -> float:
    """Columns of 0 and 1 in which at most one patient of the sum has a 1."""
    x = np.concatenate([one.features for one in hospitals])
    binary = np.isin(x, (0.0, 1.0)).all(axis=0)
    return float((x[:, binary].sum(axis=0) <= 1).mean()) if binary.any() else 0.0


def guess(fits: Sequence[OwnFit], alone: OwnFit) -> float:
    """See `Row.guessed`."""
    diagonals = [np.diagonal(opened("gradient", [one]).curvature) for one in fits]
    mine = np.diagonal(opened("gradient", [alone]).curvature)
    share = np.mean(diagonals, axis=0)
    return float(np.linalg.norm(share - diagonals[0]) / np.linalg.norm(mine - diagonals[0]))


def measure(patients: int, others: int, seeds: int) -> Row:
    everyone = population()
    each = np.mean([attacked(everyone, patients, others, seed) for seed in range(seeds)], axis=0)
    return Row(patients, others, *each.tolist())


def table(rows: Sequence[Row]) -> str:
    lines = [
        "| patients a hospital | hospitals in the sum | mean fit alone | gradient | curvature "
        "| rows told by a curvature | columns told | what is said of leaves "
        "| peer's diagonal guessed |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {one.patients} | {one.others} | {one.fit:.2f} | {one.gradient:.2f} "
        f"| {one.curvature:.2f} | {one.rows:.0%} | {one.counts:.0%} | {one.leaves:.2f} "
        f"| {one.guessed:.2f} |"
        for one in rows
    ]
    return "\n".join(lines)


def main(
    seeds: Annotated[int, typer.Option(help="Draws of hospitals.")] = 20,
    rows: Annotated[Path, typer.Option(help="Where measured rows are kept.")] = ROWS,
    write: PageOption = None,
) -> None:
    """Measure, keep, print, and write."""
    found = [measure(n, m, seeds) for n in PATIENTS for m in OTHERS]
    write_text(rows, msgspec.json.format(msgspec.json.encode(found)).decode() + "\n")
    print(table(found))
    if write is not None:
        replace_tables(write, {"sums": table(found)})


if __name__ == "__main__":
    run_script(main)
