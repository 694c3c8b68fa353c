"""The first page of a report: what a ward physician asks of a run, answered from its records.

What was asked, whom it helped and how surely, how often models recognise each class, whether their
probabilities come true, and what the page cannot say. Everything else stands after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from securefair.records import MetricResult, ParticipantResult, Reliability, RunResult
from securefair.report.scores import titles_of
from securefair.report.wording import THIN, Nouns, algorithm_name, count, listing
from securefair.worth.interval import wilson

SURE = 2.0
"""Standard errors from which a difference is called one."""

YES, WORSE, UNCLEAR = "yes", "made it worse", "unclear"


@dataclass(frozen=True)
class Helped:
    """One participant's row of the first table.

    Attributes:
        name: of the participant.
        tested: how many test samples.
        accuracy, sensitivity, specificity: with 95 % intervals, as text; the last two empty for
            more than two classes.
        helped: `YES`, `WORSE` or `UNCLEAR`; empty where nobody collaborated.
    """

    name: str
    tested: int
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
        helped: the same for whom it helped.
        rows: by participant.
        two: whether there are two classes, so that sensitivity and specificity are of one of them.
        classes: names.
        recognised: the confusion matrix.
        dots: the calibration plot.
        plotted: whose probability it is about.
        cannot: sentences.
    """

    asked: list[str]
    helped: list[str]
    rows: list[Helped]
    two: bool
    classes: list[str]
    recognised: list[Recognised]
    dots: list[Dot]
    plotted: str
    cannot: list[str]


def first_page(result: RunResult, nouns: Nouns, label: str | None) -> FirstPage | None:
    """The page; None where the run kept no models, so that there is nothing to say.

    Args:
        result: of the run.
        nouns: for participants and samples.
        label: the column that is predicted, if it has a name.
    """
    figure = result.algorithms[result.algorithm]
    if not figure.metrics or not figure.confusion:
        return None
    classes = _classes(result)
    two = len(classes) == 2
    rows = [_row(result, one, two=two) for one in result.participants]
    return FirstPage(
        asked=_asked(result, nouns, label, classes),
        helped=_helped(result, rows, nouns),
        rows=rows,
        two=two,
        classes=classes,
        recognised=_recognised(result, classes),
        dots=[_dot(one, nouns, len(result.seeds)) for one in figure.reliability],
        plotted=f"class {classes[1]}" if two else "the class that is most probable",
        cannot=_cannot(result, rows, nouns),
    )


def _classes(result: RunResult) -> list[str]:
    matrix = next(iter(result.algorithms[result.algorithm].confusion.values()))
    return list(result.classes) or [str(at) for at in range(len(matrix))]


def _asked(result: RunResult, nouns: Nouns, label: str | None, classes: Sequence[str]) -> list[str]:
    of = "which class" if label is None else f"which class of {label}"
    tested = sum(one.test_samples for one in result.participants)
    people = listing([one.name for one in result.participants])
    quoted = "\N{LEFT DOUBLE QUOTATION MARK}{}\N{RIGHT DOUBLE QUOTATION MARK}"
    named = listing([quoted.format(one) for one in classes])
    return [
        f"The models were asked {of} a {nouns.sample} is of: {named}.",
        f"They were tested on {count(tested)} {nouns.samples} of {people}, whom no model had seen.",
    ]


def _row(result: RunResult, one: ParticipantResult, *, two: bool) -> Helped:
    figure = result.algorithms[result.algorithm]

    def cell(score: str) -> str:
        metric = figure.metrics[score]
        return _share(metric.by_hospital[one.name], metric.interval_by_hospital.get(one.name))

    return Helped(
        name=one.name,
        tested=one.test_samples,
        accuracy=cell("accuracy"),
        sensitivity=cell("sensitivity") if two else "",
        specificity=cell("specificity") if two else "",
        helped=_verdict(figure.gain_over_best_control.get(result.metric), one.name),
    )


def _verdict(gain: MetricResult | None, name: str) -> str:
    """What a gain over the best model alone is, where it is more than chance."""
    if gain is None:
        return ""
    value, error = gain.by_hospital.get(name), gain.se_by_hospital.get(name)
    if value is None or error is None or abs(value) < SURE * error or value == 0:
        return UNCLEAR
    return YES if value > 0 else WORSE


def _helped(result: RunResult, rows: Sequence[Helped], nouns: Nouns) -> list[str]:
    figure = result.algorithms[result.algorithm]
    if figure.best_control is None:
        return [
            f"Nobody learned from anybody: these are models that each {nouns.participant} "
            "can have alone."
        ]
    names = {
        word: [row.name for row in rows if row.helped == word] for word in (YES, WORSE, UNCLEAR)
    }
    control = algorithm_name(figure.best_control)
    score = titles_of(result)[result.metric].lower()
    said = [
        f"Every {nouns.participant} could have a model without the others. The best of these "
        f"({control}) is what the models are compared with, by {score}.",
    ]
    if names[YES]:
        said.append(f"It helped {listing(names[YES])}.")
    if names[WORSE]:
        said.append(f"It made predictions worse at {listing(names[WORSE])}.")
    if names[UNCLEAR]:
        said.append(
            f"At {listing(names[UNCLEAR])} the difference is within chance: too few "
            f"{nouns.samples} to tell, or there is none."
        )
    return said


def _recognised(result: RunResult, classes: Sequence[str]) -> list[Recognised]:
    confusion = result.algorithms[result.algorithm].confusion
    total = np.sum([np.array(matrix) for matrix in confusion.values()], axis=0)
    rows = []
    for name, counts in zip(classes, total.tolist(), strict=True):
        samples = sum(counts)
        cells = tuple(f"{100 * one / samples:.0f}" if samples else "" for one in counts)
        rows.append(Recognised(name=name, cells=cells, samples=samples // len(result.seeds)))
    return rows


def _dot(one: Reliability, nouns: Nouns, seeds: int) -> Dot:
    low, high = wilson(one.observed, max(1, one.samples // seeds))  # seeds repeat patients
    return Dot(
        x=100 * one.predicted,
        y=100 * (1 - one.observed),
        low=100 * (1 - low),
        high=100 * (1 - high),
        label=f"predicted {100 * one.predicted:.0f} %, came true for {100 * one.observed:.0f} % of "
        f"{count(one.samples)} {nouns.samples}",
    )


def _cannot(result: RunResult, rows: Sequence[Helped], nouns: Nouns) -> list[str]:
    fewest = min(row.tested for row in rows)
    said = [
        f"How good the models are elsewhere or later: all test {nouns.samples} come from the same "
        f"{nouns.participants} and the same time as those for training.",
        "Whether care gets better: nobody was treated by it. It is a result of research, no "
        "medical device.",
        f"Small differences: the smallest {nouns.participant} was tested on {count(fewest)} "
        f"{nouns.samples}. What so few leave open stands in brackets (95{THIN}% interval).",
        "Causes: a value that predicts an outcome need not bring it about.",
    ]
    figure = result.algorithms[result.algorithm]
    if figure.nearly_constant:
        said.append(
            f"The model of {listing(figure.nearly_constant)} says one class of nearly every "
            f"{nouns.sample}: there it tells nothing."
        )
    return said


def _share(mean: float | None, interval: tuple[float, float] | None) -> str:
    if mean is None:
        return ""
    shown = f"{100 * mean:.0f}{THIN}%"
    if interval is None:
        return shown
    low, high = (f"{100 * end:.0f}" for end in interval)
    return f"{shown} ({low}\u2013{high})"
