"""What the first page of a report says of what models look at."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from securefair.model.outcomes import StudyOutcome
from securefair.prediction import HospitalModel
from securefair.prediction.effects import ColumnEffect, effects
from securefair.report.drawn import plain
from securefair.words import Words

MOST_EFFECTS = 8
"""Changes that the page lists, those that move predictions most."""


@dataclass(frozen=True)
class Looks:
    """What the models look at.

    Attributes:
        head, note: of the table.
        rows: a change, and what it does.
    """

    head: str
    note: str
    rows: list[tuple[str, str]]


def looks_of(
    models: Sequence[HospitalModel], outcome: StudyOutcome, words: Words, **named: str
) -> Looks | None:
    """Of each change what it does to predictions, over all models; the strongest first.

    Args:
        models: of all participants; may be empty.
        outcome: that they predict.
        words: of the language.
        named: what the note may name: `class_name`, `label`.
    """
    key = f"ward.effects.{outcome.effect}"
    if f"{key}.head" not in words.templates:
        return None
    found: dict[tuple[str, str, str, str], list[float]] = {}
    half = 1.0
    for model in models:
        half = _half_range(model)
        for one in effects(model):
            found.setdefault(_key(one, words), []).append(one.growth)
    if not found:
        return None
    strongest = sorted(found.items(), key=lambda item: -abs(statistics.median(item[1])))
    rows = []
    for (column, step, code, instead), each in strongest[:MOST_EFFECTS]:
        change = (
            words("ward.step", column=column, step=step)
            if step
            else words("ward.code", column=column, code=code, instead=instead)
        )
        values = outcome.effect_of(np.array([min(each), statistics.median(each), max(each)]), half)
        low, middle, high = (words.decimal(value, 2) for value in values.tolist())
        rows.append((change, middle if len(each) == 1 else f"{middle} ({words.span(low, high)})"))
    return Looks(words(f"{key}.head"), words(f"{key}.note", **named), rows)


def _half_range(model: HospitalModel) -> float:
    within = None if model.record.table is None else model.record.table.target.range
    low, high = within or (-1.0, 1.0)
    return (high - low) / 2


def _key(one: ColumnEffect, words: Words) -> tuple[str, str, str, str]:
    """A change that several hospitals' models share."""
    return one.column, "" if one.step is None else plain(one.step, words), one.code, one.instead
