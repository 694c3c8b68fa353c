"""Ratios and differences with their intervals as rows of text, alone beside together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from securefair.prediction.effects import ColumnEstimate
from securefair.words import Words


class EstimateRow(NamedTuple):
    """One change of one column at one hospital; each cell an estimate with its 95 % interval."""

    hospital: str
    change: str
    alone: str
    together: str


def estimate_rows(
    estimates: Mapping[str, Sequence[ColumnEstimate]], words: Words
) -> list[EstimateRow]:
    """All of them, in the order of hospitals and columns."""
    rows = []
    for hospital, each in estimates.items():
        by_change: dict[str, list[str]] = {}
        for one in each:
            by_change.setdefault(_change(one, words), []).append(_cell(one, words))
        rows += [EstimateRow(hospital, change, *cells) for change, cells in by_change.items()]
    return rows


def _change(one: ColumnEstimate, words: Words) -> str:
    if one.step is None:
        return words("ward.code", column=one.column, code=one.code, instead=one.instead)
    return words("ward.step", column=one.column, step=words.figure(f"{one.step:g}"))


def _cell(one: ColumnEstimate, words: Words) -> str:
    value, low, high = (words.decimal(each, 2) for each in (one.value, one.low_95, one.high_95))
    return f"{value} ({low} {words('estimates.to')} {high})"
