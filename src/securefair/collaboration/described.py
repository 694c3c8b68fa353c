"""Table 1 as hospitals have it that described their patients together, whatever kind let them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class DescribedRow(msgspec.Struct, frozen=True, kw_only=True):
    """One figure.

    Attributes:
        variable: the column, or the outcome.
        figure: "mean", "sd", "q25", "median", "q75" of a measurement, which of all hospitals
            together follow from groups, so roughly; "level" of a level;
            "missing"; "others", levels that are not told apart.
        level: of a count.
        together: over all hospitals; None where it may not be told.
        by_hospital: of each hospital's own patients, which stays there.
    """

    variable: str
    figure: str
    level: str
    together: float | None
    by_hospital: dict[str, float | None]


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """Table 1, as one hospital has it; where all are in one place, with everybody's own figures.

    Attributes:
        patients: of all hospitals.
        by_hospital: patients of each.
        hospitals: that have three patients or more in a cell that is told.
        rows: figures.
        filled: variables whose missing values count as their hospital's median, as how many there
            are may not be told.
        first_rows: whether rows name their patients, of whom each counts once, by the first one.
        strata_of: the outcome, where its levels are no codes of a table but names of parts, such as
            whether an event came; empty elsewhere.
        numbers: that each hospital opened, of sums over the others, as ledgers count them.
        bits: that one of them may tell.
    """

    patients: int
    by_hospital: dict[str, int]
    hospitals: int
    rows: list[DescribedRow]
    filled: list[str]
    first_rows: bool = False
    strata_of: str = ""
    numbers: int
    bits: int


def beside_each_other(tables: Sequence[Described]) -> Described:
    """Tables of all hospitals, at least one, in one place."""
    first = tables[0]
    rows = [
        msgspec.structs.replace(
            row, by_hospital={k: v for one in tables for k, v in one.rows[at].by_hospital.items()}
        )
        for at, row in enumerate(first.rows)
    ]
    people = {name: count for one in tables for name, count in one.by_hospital.items()}
    named = any(one.first_rows for one in tables)
    return msgspec.structs.replace(first, rows=rows, by_hospital=people, first_rows=named)
