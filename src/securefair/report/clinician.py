"""The first page of a report: what a ward physician asks of a run, answered from its records.

What was asked, whom it helped and how surely, how often models recognise each class and what they
look at, whether probabilities come true, what another threshold would do, and what it is not for.
Everything else stands behind it. All its words are of `securefair.words`.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from securefair.config.columns import NumericColumn
from securefair.prediction import HospitalModel
from securefair.prediction.effects import ColumnEffect, effects
from securefair.records import ParticipantResult, Reliability, RunResult
from securefair.report.scores import constant
from securefair.words import MINUS, Words
from securefair.worth.interval import wilson

MOST_EFFECTS = 8
"""Changes that the page lists, those that move the odds most."""


@dataclass(frozen=True)
class Helped:
    """One participant's row of the first table.

    Attributes:
        name: of the participant.
        tested: how many test samples.
        common: how common the second class is among all its samples; empty for more than two.
        accuracy, sensitivity, specificity: with 95 % intervals, as text; the last two empty for
            more than two classes.
        helped: what it is told by the one verdict; empty where nobody collaborated.
    """

    name: str
    tested: int
    common: str
    accuracy: str
    sensitivity: str
    specificity: str
    helped: str


@dataclass(frozen=True)
class Recognised:
    """One true class of the confusion matrix, all participants together.

    Attributes:
        name: of the class.
        cells: of a hundred samples of this class, how many the models take for each class.
        samples: tested, over all repetitions.
    """

    name: str
    cells: tuple[str, ...]
    samples: int


@dataclass(frozen=True)
class Dot:
    """One mark of the calibration plot, in percent of its box, y downwards."""

    x: float
    y: float
    low: float
    high: float
    label: str


@dataclass(frozen=True)
class FirstPage:
    """What the template shows.

    Attributes:
        asked: sentences.
        rows: by participant.
        two: whether there are two classes, so that sensitivity and specificity are of one of them.
        classes: names.
        recognised: the confusion matrix.
        dots: the calibration plot.
        plotted: whose probability it is about.
        thresholds: rows of text; empty for more than two classes.
        looks: rows of a change and of what it does to the odds; empty where nobody could read them.
        cannot: sentences.
        glossary: sentences, each with the term in front of a colon.
    """

    asked: list[str]
    rows: list[Helped]
    two: bool
    classes: list[str]
    recognised: list[Recognised]
    dots: list[Dot]
    plotted: str
    thresholds: list[tuple[str, ...]]
    looks: list[tuple[str, str]]
    cannot: list[str]
    glossary: list[tuple[str, str]]


def first_page(
    result: RunResult, words: Words, label: str | None, models: Sequence[HospitalModel] = ()
) -> FirstPage | None:
    """The page; None where the run kept no models, so that there is nothing to say.

    Args:
        result: of the run.
        words: of the language, about these participants.
        label: the column that is predicted, if it has a name.
        models: of the first repetition, where they were kept.
    """
    figure = result.algorithms[result.algorithm]
    if not figure.metrics or not figure.confusion:
        return None
    classes = _classes(result)
    two = len(classes) == 2
    return FirstPage(
        asked=_asked(result, words, label, classes),
        rows=[_row(result, one, words, two=two) for one in result.participants],
        two=two,
        classes=classes,
        recognised=_recognised(result, classes),
        dots=[_dot(one, words, len(result.seeds)) for one in figure.reliability],
        plotted=words("ward.plotted_two", class_name=classes[1])
        if two
        else words("ward.plotted_more"),
        thresholds=_thresholds(result, words),
        looks=_looks(models, words),
        cannot=_cannot(result, words, models),
        glossary=[
            _term(words(f"glossary.{key}")) for key in words.under("glossary") if key != TITLE
        ],
    )


TITLE = "title"


def _term(text: str) -> tuple[str, str]:
    """A term and what it means; whatever a language puts before its colon stays with the term."""
    term, _, meaning = text.partition(":")
    return f"{term}:", meaning.strip()


def _classes(result: RunResult) -> list[str]:
    matrix = next(iter(result.algorithms[result.algorithm].confusion.values()))
    return list(result.classes) or [str(at) for at in range(len(matrix))]


def _asked(result: RunResult, words: Words, label: str | None, classes: Sequence[str]) -> list[str]:
    named = words.listing([words("ward.quoted", name=one) for one in classes])
    tested = sum(one.test_samples for one in result.participants)
    people = words.listing([one.name for one in result.participants])
    said = [
        words("ward.asked", classes=named)
        if label is None
        else words("ward.asked_of", label=label, classes=named),
        words("ward.tested", tested=words.count(tested), names=people),
    ]
    shares = _prevalence(result)
    if len(classes) == 2 and shares:
        least, most = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
        counts = np.array(list(result.class_counts.values()))
        key = "ward.common_same" if len(shares) == 1 else "ward.common"
        said.append(
            words(
                key,
                class_name=classes[1][:1].upper() + classes[1][1:],
                share=words.percent(float(counts[:, 1].sum() / counts.sum())),
                least=words.percent(shares[least]),
                least_name=least,
                most=words.percent(shares[most]),
                most_name=most,
            )
        )
    return said


def _prevalence(result: RunResult) -> dict[str, float]:
    """How common the second of two classes is, by participant."""
    return {
        name: counts[1] / sum(counts)
        for name, counts in result.class_counts.items()
        if len(counts) == 2 and sum(counts) > 0
    }


def _row(result: RunResult, one: ParticipantResult, words: Words, *, two: bool) -> Helped:
    figure = result.algorithms[result.algorithm]
    common = _prevalence(result).get(one.name)

    def cell(score: str) -> str:
        metric = figure.metrics[score]
        share, interval = metric.by_hospital[one.name], metric.interval_by_hospital.get(one.name)
        if share is None:
            return ""
        if interval is None:
            return words.percent(share)
        low, high = (words.decimal(100 * end, 0) for end in interval)
        return f"{words.percent(share)} ({low}\u2013{high})"

    return Helped(
        name=one.name,
        tested=one.test_samples,
        common="" if common is None else words.percent(common),
        accuracy=cell("accuracy"),
        sensitivity=cell("sensitivity") if two else "",
        specificity=cell("specificity") if two else "",
        helped=""
        if figure.verdict is None
        else words(f"helped.{figure.verdict.hospitals[one.name].told}"),
    )


def _recognised(result: RunResult, classes: Sequence[str]) -> list[Recognised]:
    confusion = result.algorithms[result.algorithm].confusion
    total = np.sum([np.array(matrix) for matrix in confusion.values()], axis=0)
    rows = []
    for name, counts in zip(classes, total.tolist(), strict=True):
        samples: int = sum(counts)
        cells = tuple(f"{100 * one / samples:.0f}" if samples else "" for one in counts)
        rows.append(Recognised(name=name, cells=cells, samples=samples // len(result.seeds)))
    return rows


def _dot(one: Reliability, words: Words, seeds: int) -> Dot:
    low, high = wilson(one.observed, max(1, one.samples // seeds))  # seeds repeat patients
    return Dot(
        x=100 * one.predicted,
        y=100 * (1 - one.observed),
        low=100 * (1 - low),
        high=100 * (1 - high),
        label=words(
            "ward.dot",
            predicted=words.percent(one.predicted),
            observed=words.percent(one.observed),
            number=words.count(one.samples),
        ),
    )


def _thresholds(result: RunResult, words: Words) -> list[tuple[str, ...]]:
    def shown(share: float | None) -> str:
        return "" if share is None else words.percent(share)

    return [
        (
            words.percent(one.threshold),
            shown(one.sensitivity),
            shown(one.specificity),
            shown(one.right),
        )
        for one in result.algorithms[result.algorithm].thresholds
    ]


def _looks(models: Sequence[HospitalModel], words: Words) -> list[tuple[str, str]]:
    """Of each change the odds that it multiplies, over all models; the strongest first."""
    found: dict[tuple[str, str, str, str], list[float]] = {}
    for model in models:
        for one in effects(model):
            found.setdefault(_key(one, words), []).append(one.log_odds)
    strongest = sorted(found.items(), key=lambda item: -abs(statistics.median(item[1])))
    rows = []
    for (column, step, code, instead), each in strongest[:MOST_EFFECTS]:
        change = (
            words("ward.step", column=column, step=step)
            if step
            else words("ward.code", column=column, code=code, instead=instead)
        )
        low, middle, high = (
            words.decimal(math.exp(value), 2)
            for value in (min(each), statistics.median(each), max(each))
        )
        rows.append((change, middle if len(each) == 1 else f"{middle} ({low}\u2013{high})"))
    return rows


def _key(one: ColumnEffect, words: Words) -> tuple[str, str, str, str]:
    """A change that several hospitals' models share."""
    return one.column, "" if one.step is None else _number(one.step, words), one.code, one.instead


def _number(value: float, words: Words) -> str:
    return f"{value:g}".replace(".", words("numbers.decimal")).replace("-", MINUS)


def _cannot(result: RunResult, words: Words, models: Sequence[HospitalModel]) -> list[str]:
    fewest = min(one.test_samples for one in result.participants)
    table = models[0].record.table if models else None
    ranges = [
        words(
            "ward.range",
            column=one.name,
            low=_number(one.low, words),
            high=_number(one.high, words),
        )
        for one in (() if table is None else table.columns)
        if isinstance(one, NumericColumn)
    ]
    said = [words("ward.cannot_care"), words("ward.cannot_elsewhere")]
    if ranges:
        said.append(words("ward.cannot_rules", ranges=", ".join(ranges)))
    said += [
        words("ward.cannot_small", number=words.count(fewest)),
        words("ward.cannot_cause"),
    ]
    return said + constant(result, words)
