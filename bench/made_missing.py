"""Multiple imputation beside indicators, where values are made missing, as a table for a page.

    pip install --no-deps lifelines
    python bench/made_missing.py --seeds 20 --write docs/notebook/worth.md

Of every second measurement 30 % are taken away, of training and of test patients alike: whoever it
is (MCAR), or mostly from those with high values of the first measurement that stays (MAR). Then

    indicators   0 and a feature that says so, as the rules of tables have it
    filled       what other columns make likely beside that feature: `table.fill`
    imputed      five times by each hospital from its own patients (scikit-learn's
                 `IterativeImputer`, drawn from its posterior, without the outcome); five
                 transfers, whose predictors are averaged; test patients by the same imputers

As bench/worth_outcomes.py otherwise: sums of fits, nothing chosen on test patients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from page import PageOption, replace_tables, run_script
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from worth_outcomes import LOSSES, STUDIES, transferred

from securefair.config.columns import NumericColumn
from securefair.data.dataset import ParticipantData, Samples
from securefair.data.filling import completed
from securefair.data.table import TableSpec, Target
from securefair.model.outcomes import StudyOutcome, outcome_of
from securefair.model.stored import Function, logits_of, own_part_of
from securefair.worth import own_fits

Array = NDArray[np.float64]
TABLES = ("grades of students 6 x 80", "breast cancer (gbsg2) 6 x 50", "HIV (ACTG 175) 6 x 100")
TIMES, SHARE, STEEP = 5, 0.3, 2.0
METHODS = ("complete", "indicators", "filled", "imputed")


def measured(people: Sequence[ParticipantData]) -> NDArray[np.int64]:
    """Columns of more than five different values: measurements."""
    x = np.concatenate([one.train.features for one in people])
    found: NDArray[np.int64] = np.flatnonzero([len(np.unique(column)) > 5 for column in x.T])
    return found


def holes(samples: Samples, columns: NDArray[np.int64], how: str, seed: list[int]) -> Array:
    """(B, d), True where a value is taken away."""
    rng, x = np.random.default_rng(seed), samples.features
    taken = np.zeros(x.shape, dtype=bool)
    often = np.full(len(x), SHARE)
    if how == "MAR":
        apart = STEEP * (x[:, columns[0]] - x[:, columns[0]].mean()) / x[:, columns[0]].std()
        middle = brentq(lambda at: expit(apart + at).mean() - SHARE, -20, 20)
        often = expit(apart + middle)
    for column in columns[1::2]:
        taken[:, column] = rng.random(len(x)) < often
    return taken


def rules_of(width: int, columns: NDArray[np.int64]) -> TableSpec:
    """Of measurements that are scaled already, every second of which may be missing."""
    gone = set(columns[1::2].tolist())
    return TableSpec(
        columns=tuple(
            NumericColumn(name=f"x{at}", low=-1, high=1, optional=at in gone) for at in range(width)
        ),
        target=Target(name="y", groups=(("0",), ("1",))),
        fill=True,
    )


def with_indicators(samples: Samples, taken: Array, columns: NDArray[np.int64]) -> Samples:
    gone, parts = set(columns[1::2].tolist()), []
    for at, column in enumerate(np.where(taken, 0.0, samples.features).T):
        parts += [column, *([taken[:, at].astype(np.float64)] if at in gone else [])]
    return replace(samples, features=np.column_stack(parts))


def imputed(own: ParticipantData, taken: Sequence[Array], seed: int) -> ParticipantData:
    """One draw of training and test patients, by the training patients' relations."""
    imputer = IterativeImputer(
        sample_posterior=True, max_iter=5, min_value=-1, max_value=1, random_state=seed
    )
    train, test = (
        np.where(gone, np.nan, one.features)
        for gone, one in zip(taken, (own.train, own.test), strict=True)
    )
    parts = imputer.fit_transform(train), imputer.transform(test)
    return ParticipantData(
        own.name,
        replace(own.train, features=parts[0]),
        replace(own.test, features=parts[1]),
    )


def scored(outcome: StudyOutcome, models: Sequence[Function], each: Sequence[ParticipantData]):  # type: ignore[no-untyped-def]
    """Nats and the headline of the mean predictor."""
    logits = [logits_of(m, one.test.features) for m, one in zip(models, each, strict=True)]
    parts = [own_part_of(m, one.train) for m, one in zip(models, each, strict=True)]
    part = parts[0]
    if outcome.spreads:
        part = {"scale": [float(np.sqrt(np.mean([one["scale"][0] ** 2 for one in parts])))]}
    said = outcome.said(np.mean(logits, axis=0), part)
    found = outcome.weighted_scores(said, each[0].test, np.ones((1, len(each[0].test))))
    name, factor = LOSSES[outcome.name]
    return factor * found[name][0], found[outcome.headline][0]


def measure(name: str, how: str, seeds: int) -> Mapping[str, Array]:
    """(hospital-seeds, 4) of each method: nats and headline alone, and of a transfer."""
    rows: dict[str, list[list[float]]] = {method: [] for method in METHODS}
    for seed in range(seeds):
        people, _ = STUDIES[name].people(seed)
        columns, outcome = measured(people), outcome_of(people[0].train)
        taken = [
            [
                holes(part, columns, how, [seed, at, kind])
                for kind, part in enumerate((one.train, one.test))
            ]
            for at, one in enumerate(people)
        ]
        marked = [
            ParticipantData(
                one.name,
                with_indicators(one.train, gone[0], columns),
                with_indicators(one.test, gone[1], columns),
            )
            for one, gone in zip(people, taken, strict=True)
        ]
        draws = [
            [imputed(one, gone, 100 * seed + t) for one, gone in zip(people, taken, strict=True)]
            for t in range(TIMES)
        ]
        rules = rules_of(people[0].train.features.shape[1], columns)
        likely = [completed(one, rules) for one in marked]
        for method, sets in zip(METHODS, ([people], [marked], [likely], draws), strict=True):
            own = [own_fits(each, 1, seed) for each in sets]
            learnt = [transferred(outcome, e, o, seed) for e, o in zip(sets, own, strict=True)]
            for at, one in enumerate(people):
                mine = [each[at] for each in sets]
                alone = scored(outcome, [o[one.name].averaged for o in own], mine)
                rows[method].append([*alone, *scored(outcome, [m[one.name] for m in learnt], mine)])
    return {method: np.array(each, dtype=float) for method, each in rows.items()}


def line(name: str, how: str, found: Mapping[str, Array]) -> str:
    def less(method: str, other: str, at: int) -> str:
        apart = (found[method] - found[other])[:, at]
        error = np.nanstd(apart, ddof=1) / np.sqrt(np.isfinite(apart).sum())
        return f"{np.nanmean(apart):+.3f} ± {error:.3f}"

    cells = [name, how]
    for at in (0, 2):
        cells += [
            less("indicators", "complete", at),
            f"**{less('filled', 'indicators', at)}**",
            less("imputed", "indicators", at),
        ]
    cells.append(less("filled", "indicators", 3))
    return f"| {' | '.join(cells)} |"


def main(
    seeds: Annotated[int, typer.Option(help="Divisions.")] = 20,
    only: Annotated[str, typer.Option(help="Tables whose names contain this.")] = "",
    write: PageOption = None,
) -> None:
    """Measure, print, and write."""
    lines = [
        "| data | missing | alone: indicators, less complete | filled, less indicators "
        "| imputed, less indicators | transfer: indicators, less complete "
        "| filled, less indicators | imputed, less indicators "
        "| filled, in concordance or R² |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in (one for one in TABLES if only in one):
        for how in ("MCAR", "MAR"):
            lines.append(line(name, how, measure(name, how, seeds)))
            print(lines[-1], flush=True)
    if write is not None:
        replace_tables(write, {"made-missing": "\n".join(lines)})


if __name__ == "__main__":
    run_script(main)
