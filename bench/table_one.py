"""How far means and SDs of table 1, which follow from counts of groups, are from exact ones.

    SECUREFAIR_DATA=... python bench/table_one.py

By the protocol's own rules, without masks: the four heart hospitals by their agreed ranges, and
other tables divided at random, or students by their course, by the range of their values.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections import defaultdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from page import run_script

from securefair.collaboration.table_one import rules
from securefair.collaboration.table_one.cells import BINS, OwnVariable, Variable, bins_of
from securefair.collaboration.table_one.table import _measured
from securefair.data.heart import HEART_SPEC

Array = NDArray[np.float64]
HEART = {rule.name: (rule.low, rule.high) for rule in HEART_SPEC.columns if rule.kind == "numeric"}
LEAST = 150
"""Students of a course."""


def columns_of(name: str) -> dict[str, NDArray[np.str_]]:
    folder = Path(os.environ["SECUREFAIR_DATA"])
    with gzip.open(folder / f"{name}.csv.gz", "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {key: np.array([row[key] for row in rows]) for key in rows[0]}


def numbers_in(texts: NDArray[np.str_]) -> Array | None:
    """With NaN for what is missing; None of what is no measurement."""
    try:
        values = np.array([float(text) if text not in ("", "?") else np.nan for text in texts])
    except ValueError:
        return None
    return values if len(np.unique(values)) > 8 else None


def compared(parts: list[Array], low: float, high: float) -> tuple[float, float] | None:
    """Error of the mean over the SD, and of the SD over itself; None where they are not told."""
    optional = any(np.isnan(part).any() for part in parts)
    variable, own = Variable("", low=low, high=high, optional=optional), []
    for part in parts:
        scaled = np.clip(2 * (part - low) / (high - low) - 1, -1, 1)
        own.append(OwnVariable(bins_of(scaled), scaled, BINS + optional))
    yes = np.sum([rules.answers(one, variable) for one in own], axis=0).astype(np.int64)
    allowed = (rules.tellable(variable, yes, len(own)),)
    total = np.sum([rules.told([one], [variable], allowed) for one in own], axis=0)
    counts, patients = rules.told_of(total, [variable], allowed)[0], sum(map(len, parts))
    told = {row[0]: row[2] for row in _measured(variable, allowed[0], counts, patients, own[0])}
    if told["mean"] is None or told["sd"] is None:
        return None
    every = np.concatenate([one.scaled for one in own])
    every = low + (every[~np.isnan(every)] + 1) / 2 * (high - low)
    sd = float(every.std(ddof=1))
    return (told["mean"] - float(every.mean())) / sd, told["sd"] / sd - 1


def tables() -> dict[str, dict[str, tuple[list[Array], tuple[float, float]]]]:
    rng = np.random.default_rng(0)
    found = defaultdict(dict)
    for name, sites, most in (("coimbra", 3, 0), ("maternal", 4, 0), ("adult", 5, 1000)):
        columns = columns_of(name)
        dealt = rng.permutation(len(next(iter(columns.values()))))[: most or None]
        rows = np.array_split(dealt, sites)
        found[name] = _divided(columns, rows, {})
    for name, by, ranges in (("heart", "hospital", HEART), ("students", "course", {})):
        columns = columns_of(name)
        where = columns.pop(by)
        places = [np.flatnonzero(where == one) for one in np.unique(where)]
        rows = [one for one in places if name == "heart" or len(one) >= LEAST]
        if name == "heart":  # 0 stands for missing
            columns["chol"] = np.where(columns["chol"] == "0", "", columns["chol"])
        found[name] = _divided(columns, rows, ranges)
    return dict(found)


def _divided(
    columns: dict[str, NDArray[np.str_]],
    rows: list[NDArray[np.int64]],
    ranges: dict[str, tuple[float, float]],
) -> dict[str, tuple[list[Array], tuple[float, float]]]:
    found = {}
    for name, texts in columns.items():
        values = numbers_in(texts)
        if values is not None and (not ranges or name in ranges):
            within = ranges.get(name, (float(np.nanmin(values)), float(np.nanmax(values))))
            found[name] = [values[one] for one in rows], within
    return found


def main() -> None:
    """Print a line for every heart column, and one for each table."""
    for name, columns in tables().items():
        errors = []
        for column, (parts, within) in columns.items():
            error = compared(parts, *within)
            if name == "heart":
                said = "not told" if error is None else "{:+.3f} SD, SD {:+.1%}".format(*error)
                print(f"heart, {column}: {said}")
            errors += [] if error is None else [error]
        off = np.abs(np.array(errors))
        print(
            f"{name}: {len(errors)} of {len(columns)} told; mean off by "
            f"{np.median(off[:, 0]):.3f} SD (most {off[:, 0].max():.3f}), SD by "
            f"{np.median(off[:, 1]):.1%} (most {off[:, 1].max():.1%})"
        )


if __name__ == "__main__":
    run_script(main)
