"""Pages of scores (`worth.page`) as tables of texts: the same for terminals and for HTML.

Whoever has several models of the same patients shows them side by side: rows of models, columns of
scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from securefair.model.outcomes import outcome_named
from securefair.words import Words
from securefair.worth.page import CALIBRATION, INTERCEPT, SLOPE, GroupPage, ScoreEstimate, ScorePage

Pages = Mapping[str, ScorePage]
"""By the name of a model, of the same patients."""

MOST_CURVES = 4
"""Models beside each other in a decision curve."""


@dataclass(frozen=True)
class ScoreTable:
    """A table: headings of columns, and rows of cells; the first cell names the row.

    Attributes:
        title: above it.
        headings: one a column.
        rows: as long as `headings`.
        note: below it; empty for none.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def score_tables(pages: Pages, words: Words) -> list[ScoreTable]:
    """All tables of some models' pages: scores, decision curve, groups.

    Args:
        pages: of at least one model, all of the same patients and outcome.
        words: of the language.
    """
    return [
        _scores(pages, words),
        *_curves(pages, words),
        *_groups(pages, words),
    ]


def shown_scores(page: ScorePage) -> list[str]:
    """Names of the scores that a table has room for, the most wanted first."""
    outcome = outcome_named(page.outcome)
    own = outcome.shown or tuple(outcome.scores)
    return [name for name in (*own[:2], *CALIBRATION, *own[2:]) if name in page.scores]


def estimate_text(found: ScoreEstimate | None, words: Words) -> str:
    """A score and its standard error: "0.812 ± 0.031"."""
    if found is None or found.mean is None:
        return words("page_of_scores.undefined")
    return words.with_error(found.mean, found.se)


def _titles(names: Sequence[str], pages: Pages, words: Words) -> list[str]:
    own = outcome_named(next(iter(pages.values())).outcome).scores
    english = {**own, **CALIBRATION}
    return [words.templates.get(f"titles.{name}", english[name]) for name in names]


def _scores(pages: Pages, words: Words) -> ScoreTable:
    first = next(iter(pages.values()))
    names = _names(pages)
    rows = []
    for model, page in pages.items():
        rows.append([model, *(estimate_text(page.scores.get(one), words) for one in names)])
        if page.recalibrated:
            rows.append(
                [
                    words("page_of_scores.recalibrated"),
                    *(estimate_text(page.recalibrated.get(one), words) for one in names),
                ]
            )
    counts = words.listing([words.count(one) for one in first.counts])
    people = words.count(first.patients)
    title = words("page_of_scores.of_patients", patients=people)
    if first.counts:
        title = words("page_of_scores.of_classes", patients=people, counts=counts)
    return ScoreTable(
        title,
        [words("page_of_scores.model"), *_titles(names, pages, words)],
        rows,
        " ".join(_notes(pages, names, words)),
    )


def _names(pages: Pages) -> list[str]:
    """Of the scores that a table shows: not of those that no page has."""
    return [
        name
        for name in shown_scores(next(iter(pages.values())))
        if any(_defined(page.scores.get(name)) for page in pages.values())
    ]


def _defined(found: ScoreEstimate | None) -> bool:
    return found is not None and found.mean is not None


def _notes(pages: Pages, names: Sequence[str], words: Words) -> Iterator[str]:
    """Of what the table shows, and of nothing else."""
    outcome = outcome_named(next(iter(pages.values())).outcome)
    yield words("page_of_scores.note")
    shown = [page.scores[name] for page in pages.values() for name in names if name in page.scores]
    if any(_defined(one) and one.se is None for one in shown):
        yield words("page_of_scores.no_error")
    if any(page.recalibrated for page in pages.values()):
        by_shares = outcome.tells_classes
        yield words("page_of_scores.moved_classes" if by_shares else "page_of_scores.moved")
    if SLOPE in names:
        yield words("page_of_scores.slope")
    if INTERCEPT in names:
        yield words("page_of_scores.intercept")
    explained = words.under("page_of_scores.explained")
    yield from (explained[name] for name in names if name in explained)


def _curves(pages: Pages, words: Words) -> Iterator[ScoreTable]:
    shown = dict(list(pages.items())[:MOST_CURVES])
    curves = [page.decision_curve for page in shown.values()]
    if not all(curves):
        return
    rows = [
        [
            words.percent(points[0].threshold),
            words.decimal(points[0].treat_all),
            *(estimate_text(one.benefit, words) for one in points),
        ]
        for points in zip(*curves, strict=True)
    ]
    yield ScoreTable(
        words("page_of_scores.curve"),
        [words("page_of_scores.threshold"), words("page_of_scores.treat_all"), *shown],
        rows,
        words("page_of_scores.curve_note"),
    )


def _groups(pages: Pages, words: Words) -> Iterator[ScoreTable]:
    first = next(iter(pages.values()))
    names = _names(pages)
    for column, groups in first.groups.items():
        rows = [
            [
                words("page_of_scores.group", group=shown, patients=words.count(found.patients)),
                model,
                *_cells(found, names, words),
            ]
            for group in groups
            for shown in (words.name(group, "groups"),)
            for model, page in pages.items()
            for found in (page.groups[column][group],)
        ]
        yield ScoreTable(
            words("page_of_scores.by", column=column),
            [
                words("page_of_scores.of_group"),
                words("page_of_scores.model"),
                *_titles(names, pages, words),
            ],
            rows,
        )


def _cells(found: GroupPage, names: Sequence[str], words: Words) -> list[str]:
    if not found.scores:
        return [words("page_of_scores.too_few"), *("" for _ in names[1:])]
    return [estimate_text(found.scores.get(one), words) for one in names]
