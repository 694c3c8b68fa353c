"""The first page of a report: what a ward physician asks of a run, answered from its records.

What was asked, whom it helped and how surely, how good predictions are and what models look at,
whether what is predicted comes true, and what it is not for. Of classes also how often each is
recognised, and what another threshold would do. Everything else stands behind it. All its words are
of `securefair.words`; what an outcome alone says stands there under its name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from securefair.config.columns import NumericColumn
from securefair.model.outcomes import StudyOutcome, outcome_named
from securefair.prediction import HospitalModel
from securefair.records import (
    AlgorithmResult,
    MetricResult,
    ParticipantResult,
    RunResult,
    VerdictResult,
)
from securefair.report.drawn import Drawn, drawn, plain
from securefair.report.scores import constant
from securefair.report.ward_classes import Recognised, probabilities, recognised, thresholds
from securefair.report.ward_looks import Looks, looks_of
from securefair.words import Words
from securefair.worth.verdict import FEW, LEAST

REACH = 1.96
"""Standard errors to either end of a 95 % interval."""


@dataclass(frozen=True)
class Heading:
    """Of a column: its text, and the class of its cells."""

    text: str
    style: str = ""


@dataclass(frozen=True)
class Helped:
    """One participant's row of the first table.

    Attributes:
        name: of the participant.
        cells: one for each heading but the first: how many were tested, of two classes how common
            the second one is, scores with 95 % intervals, and what the one verdict tells it.
    """

    name: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class FirstPage:
    """What the template shows.

    Attributes:
        asked: sentences.
        headings, rows: by participant.
        note: what the columns mean.
        classes: names; empty where none are told apart.
        recognised: the confusion matrix.
        pictures: what is predicted beside what was seen.
        of_first: whether these are of the first of several repetitions alone.
        thresholds: rows of text; of two classes only.
        looks: None where nobody could read them.
        cannot: sentences.
        glossary: sentences, each with the term in front of a colon.
    """

    asked: list[str]
    headings: list[Heading]
    rows: list[Helped]
    note: str
    classes: list[str]
    recognised: list[Recognised]
    pictures: list[Drawn]
    of_first: bool
    thresholds: list[tuple[str, ...]]
    looks: Looks | None
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
    figure, outcome = result.algorithms[result.algorithm], outcome_named(result.outcome)
    if not figure.metrics or (outcome.tells_classes and not figure.confusion):
        return None
    classes = _classes(result) if outcome.tells_classes else []
    said = _Said(result, words, outcome, label or words("ward.label"), classes)
    return FirstPage(
        asked=said.asked(named=label is not None),
        headings=said.headings(),
        rows=[said.row(one) for one in result.participants],
        note=said.note(),
        classes=classes,
        recognised=recognised(result, classes) if classes else [],
        pictures=drawn(
            [probabilities(figure.reliability, len(result.seeds))]
            if outcome.tells_classes and figure.reliability
            else [one for one in figure.pictures if not one.behind],
            words,
            label=said.label,
            plotted=said.plotted(),
        ),
        of_first=not outcome.tells_classes and len(result.seeds) > 1,
        thresholds=thresholds(result, words),
        looks=looks_of(
            models,
            outcome,
            words,
            class_name=classes[1] if len(classes) == 2 else "",
            label=words("ward.quoted", name=said.label) if label else said.label,
        ),
        cannot=said.cannot(models),
        glossary=_glossary(words, outcome, result.metric),
    )


TITLE = "title"


def _glossary(words: Words, outcome: StudyOutcome, metric: str) -> list[tuple[str, str]]:
    """Terms of this outcome, then those of every one."""
    own = words.under(f"glossary.{_kept_under(outcome)}")
    common = [key for key in words.under("glossary") if "." not in key and key != TITLE]
    keys = [*(f"{_kept_under(outcome)}.{key}" for key in own), *common]
    score = words.templates.get(f"scores.{metric}", metric)
    return [_term(words(f"glossary.{key}", score=score)) for key in keys]


def _kept_under(outcome: StudyOutcome) -> str:
    """Where words of an outcome stand: those that tell classes share theirs."""
    return "classes" if outcome.tells_classes else outcome.name


def _term(text: str) -> tuple[str, str]:
    """A term and what it means; whatever a language puts before its colon stays with the term."""
    term, _, meaning = text.partition(":")
    return f"{term}:", meaning.strip()


@dataclass(frozen=True)
class _Said:
    """What the page says of one run in one language."""

    result: RunResult
    words: Words
    outcome: StudyOutcome
    label: str
    classes: list[str]

    @property
    def two(self) -> bool:
        return len(self.classes) == 2

    @property
    def shown(self) -> tuple[str, ...]:
        """Scores of the table."""
        return self.outcome.on_ward or (self.outcome.headline,)

    def own_words(self, key: str, **values: object) -> str:
        """What is said of this outcome alone; empty where nothing is."""
        key = f"ward.{self.outcome.name}.{key}"
        if key not in self.words.templates:
            return ""
        quoted = self.words("ward.quoted", name=self.label)
        return self.words(key, label=quoted, **values)

    def asked(self, *, named: bool) -> list[str]:
        """What is predicted, on whom it was tested, how common it is."""
        words, people = self.words, self.result.participants
        if self.classes:
            each = [words("ward.quoted", name=one) for one in self.classes]
            listed, label = words.listing(each, either=True), words("ward.quoted", name=self.label)
            first = (
                words("ward.asked_of", label=label, classes=listed)
                if named
                else words("ward.asked", classes=listed)
            )
        else:
            first = self.own_words("asked") or words("ward.predicted_any", label=self.label)
        tested = words.count(sum(one.test_samples for one in people))
        names = words.listing([one.name for one in people])
        common = self._common()
        return [first, words("ward.tested", tested=tested, names=names), *([common] * bool(common))]

    def _common(self) -> str:
        if self.classes and not self.two:
            return self._common_each()
        shares = _prevalence(self.result)
        if not shares:
            return ""
        words = self.words
        least, most = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
        counts = np.array(list(self.result.class_counts.values()))
        values = {
            "share": words.percent(float(counts[:, 1].sum() / counts.sum())),
            "least": words.percent(shares[least]),
            "least_name": least,
            "most": words.percent(shares[most]),
            "most_name": most,
        }
        one = len(shares) == 1
        if self.classes:
            values["class_name"] = self.classes[1][:1].upper() + self.classes[1][1:]
            return words("ward.common_same" if one else "ward.common", **values)
        return self.own_words("common_same" if one else "common", **values)

    def _common_each(self) -> str:
        """How common each of several classes is; empty where counts are of other classes."""
        words, counts = self.words, np.array(list(self.result.class_counts.values()))
        if counts.shape[1:] != (len(self.classes),) or not counts.sum():
            return ""
        shares = [words.percent(one) for one in (counts.sum(axis=0) / counts.sum()).tolist()]
        named = zip((words("ward.quoted", name=one) for one in self.classes), shares, strict=True)
        return words("ward.common_each", shares=words.listing([" ".join(one) for one in named]))

    def headings(self) -> list[Heading]:
        """Of all columns of the table."""
        words, learned = self.words, self._verdict is not None
        return [
            Heading(words("table.participant")),
            Heading(words("table.tested"), "wide"),
            *([Heading(words("table.common"), "wide")] if self.two else []),
            *(Heading(words.templates.get(f"table.{one}", one)) for one in self.shown),
            *([Heading(words("table.helped"), "text")] if learned else []),
        ]

    @property
    def _figure(self) -> AlgorithmResult:
        return self.result.algorithms[self.result.algorithm]

    @property
    def _verdict(self) -> VerdictResult | None:
        return self._figure.verdict

    def row(self, one: ParticipantResult) -> Helped:
        """Of one participant."""
        words, verdict = self.words, self._verdict
        common = _prevalence(self.result).get(one.name)
        cells = [words.count(one.test_samples)]
        if self.two:
            cells.append("" if common is None else words.percent(common))
        cells += [self._score(score, one.name) for score in self.shown]
        if verdict is not None:
            told = verdict.hospitals[one.name].told
            cells.append(words(f"helped.{told}{'_range' * self._range_alone(one.name)}"))
        return Helped(name=one.name, cells=tuple(cells))

    def _range_alone(self, name: str) -> bool:
        """Whether it is told worse, and answers as well: the range that is said with them is worse.

        The verdict's score judges both at once; a reader of the table would see no loss in it.
        """
        verdict, outcome = self._verdict, self.outcome
        if verdict is None or verdict.hospitals[name].told != "worse" or not outcome.spreads:
            return False
        control = self.result.algorithms.get(verdict.control)
        before = {} if control is None else control.metrics
        for score in (one for one in self.shown if one not in outcome.described_by):
            here = self._figure.metrics[score].by_hospital[name]
            alone = before[score].by_hospital.get(name) if score in before else None
            if here is None or alone is None:
                return False
            loss = here - alone if score in outcome.lower_is_better else alone - here
            if loss > LEAST * abs(alone):
                return False
        return True

    def _score(self, score: str, name: str) -> str:
        metric, words = self._figure.metrics[score], self.words
        value, ends = metric.by_hospital[name], _ends(metric, name)
        share = score in self.outcome.as_shares

        if value is None:
            return ""
        # As many decimals for the ends as the value needs for three figures.
        digits = 0 if share else min(max(2 - math.floor(math.log10(abs(value) or 0.01)), 0), 4)

        def text(number: float) -> str:
            return words.decimal(100 * number if share else number, digits)

        shown = words.percent(value) if share else text(value)
        if ends is None:
            return shown
        ends = (ends[0], min(ends[1], 1.0)) if share else ends
        return f"{shown} ({words.span(text(ends[0]), text(ends[1]))})"

    def note(self) -> str:
        """What the columns of the table mean."""
        if self.two:
            return self.words("ward.recognised_note", class_name=self.classes[1])
        if self.classes:
            return ""
        spoiled = any(self._range_alone(one.name) for one in self.result.participants)
        said = [self.own_words("note"), self.own_words("worse_range") if spoiled else ""]
        return " ".join(filter(None, said))

    def plotted(self) -> str:
        """Whose probability a picture of classes is about."""
        if self.two:
            return self.words("ward.plotted_two", class_name=self.classes[1])
        return self.words("ward.plotted_more") if self.classes else ""

    def cannot(self, models: Sequence[HospitalModel]) -> list[str]:
        """Whom and what it is not for."""
        words = self.words
        fewest = min(one.test_samples for one in self.result.participants)
        ranges = [
            words(
                "ward.range",
                column=one.name,
                low=plain(one.low, words),
                high=plain(one.high, words),
            )
            for one in _columns(models)
            if isinstance(one, NumericColumn)
        ]
        said = [words("ward.cannot_care"), words("ward.cannot_elsewhere")]
        if ranges:
            said.append(words("ward.cannot_rules", ranges=", ".join(ranges)))
        said += [
            *([own] if (own := self.own_words("cannot")) else []),
            words("ward.cannot_small", number=words.count(fewest)),
            *([words("ward.cannot_few", number=words.count(FEW))] if fewest < FEW else []),
            words("ward.cannot_cause"),
        ]
        return said + constant(self.result, words)


def _columns(models: Sequence[HospitalModel]) -> Sequence[object]:
    table = models[0].record.table if models else None
    return () if table is None else table.columns


def _ends(metric: MetricResult, name: str) -> tuple[float, float] | None:
    """A 95 % interval, by standard errors where it is no share of patients."""
    value, error = metric.by_hospital[name], metric.se_by_hospital.get(name)
    if (told := metric.interval_by_hospital.get(name)) is not None:
        return told
    if value is None or not error:
        return None
    return value - REACH * error, value + REACH * error


def _classes(result: RunResult) -> list[str]:
    matrix = next(iter(result.algorithms[result.algorithm].confusion.values()))
    return list(result.classes) or [str(at) for at in range(len(matrix))]


def _prevalence(result: RunResult) -> dict[str, float]:
    """How common the second of two classes is, by participant."""
    return {
        name: counts[1] / sum(counts)
        for name, counts in result.class_counts.items()
        if len(counts) == 2 and sum(counts) > 0
    }
