"""False alarms, and what is found, of the rule that stops a run where units differ.

    SECUREFAIR_DATA=... python bench/units.py --seeds 200

Honest: twelve clinical tables (`worth_tables`), further ones and the heart data, divided at random
among three to six hospitals, and the four heart hospitals as they are. Converted: in each such
division one hospital's values of one measurement are multiplied by a known conversion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

import numpy as np
import typer
from page import run_script
from worth_data import Rows, heart_rows
from worth_tables import FRESH, TABLES

from securefair.config import defaults
from securefair.data.between import SiteColumn, apart_in_units, site_columns
from securefair.data.cells import table_of
from securefair.data.shape import shapes_of
from securefair.data.units import CONVERSIONS

Sites = Mapping[str, Mapping[str, SiteColumn]]


def columns_of(parts: Mapping[str, Rows]) -> dict[str, dict[str, SiteColumn]]:
    found = {}
    for name, rows in parts.items():
        table = table_of(rows)
        found[name] = site_columns(table, shapes_of(table, defaults.MISSING))
    return found


def alarms(sites: Sites) -> Iterator[str]:
    first, *others = sites.values()
    for name in first:
        if all(name in one for one in others):
            columns = {site: one[name] for site, one in sites.items()}
            if apart_in_units(columns) is not None:
                yield name


def times(column: SiteColumn, factor: float, offset: float) -> SiteColumn:
    assert column.quartiles is not None
    low, middle, high = (factor * one + offset for one in column.quartiles)
    import msgspec

    return msgspec.structs.replace(column, quartiles=(low, middle, high))


def found_of(sites: Sites, rng: np.random.Generator) -> Iterator[bool]:
    """Whether each measurement is found that one hospital has in another unit."""
    names = list(sites)
    for name in sites[names[0]]:
        columns = {site: one[name] for site, one in sites.items() if name in one}
        known = all(one.quartiles and one.quartiles[1] > 0 for one in columns.values())
        levels = max(len(one.levels) for one in columns.values())
        if not known or len(columns) < len(names) or 0 < levels <= 5:
            continue
        change = CONVERSIONS[rng.integers(len(CONVERSIONS))]
        site = names[rng.integers(len(names))]
        other = dict(columns) | {site: times(columns[site], change.factor, change.offset)}
        yield apart_in_units(other) is not None


def divided(rows: Rows, rng: np.random.Generator) -> dict[str, Rows]:
    parts = np.array_split(rng.permutation(len(rows)), rng.integers(3, 7))
    return {f"clinic {at}": [rows[i] for i in part] for at, part in enumerate(parts)}


def main(seeds: Annotated[int, typer.Option()] = 50) -> None:
    tables = {**TABLES, **FRESH}
    everything = {name: one.rows() for name, one in tables.items()} | {"heart": heart_rows()}
    rng = np.random.default_rng(0)
    divisions = columns = false = tried = hit = 0
    for name, rows in everything.items():
        mine = [0, 0, 0]
        for _ in range(seeds):
            sites = columns_of(divided(rows, rng))
            divisions, columns = divisions + 1, columns + len(next(iter(sites.values())))
            wrong = list(alarms(sites))
            mine[0] += len(wrong)
            caught = list(found_of(sites, rng))
            mine[1], mine[2] = mine[1] + len(caught), mine[2] + sum(caught)
            if wrong:
                print(name, wrong)
        false, tried, hit = false + mine[0], tried + mine[1], hit + mine[2]
        print(f"{name:24} {len(rows):6} rows: false {mine[0]}, found {mine[2]} of {mine[1]}")
    by_hospital: dict[str, Rows] = {}
    for row in heart_rows():
        by_hospital.setdefault(row.fields["hospital"], []).append(row)
    print("heart hospitals as they are:", list(alarms(columns_of(by_hospital))))
    print(f"{divisions} divisions, {columns} columns: {false} false alarms; {hit} of {tried} found")


if __name__ == "__main__":
    run_script(main)
