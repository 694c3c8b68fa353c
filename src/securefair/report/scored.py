"""A page of scores for a browser: tables and pictures of one model or of several, of the same
patients. It serves a kept model on another year and peers' models on one's own patients alike.
"""

from __future__ import annotations

from collections.abc import Sequence

from securefair.prediction.evaluation import ModelEvaluation
from securefair.report.drawn import drawn
from securefair.report.pages import rendered
from securefair.report.score_pages import Pages, score_tables
from securefair.words import Words, words_of


def scored_page(
    pages: Pages,
    *,
    title: str,
    notes: Sequence[str],
    words: Words,
    label: str | None = None,
    recorded: Sequence[str] = (),
) -> str:
    """The page.

    Args:
        pages: by model, of the same patients; none where there are no scores.
        title: of the page.
        notes: what a reader must know, below.
        words: of the language.
        label: the column that is predicted, if it has a name.
        recorded: what was found in the table, in English.
    """
    said = [words.translation(one) for one in recorded]
    english = [one for one, whole in zip(recorded, said, strict=True) if one == whole]
    translated = [one for one in said if one not in english]
    named = {"label": label or words("ward.label"), "plotted": words("page_of_scores.plotted")}
    return rendered(
        "scored.html.j2",
        words=words,
        title=title,
        tables=score_tables(pages, words) if pages else [],
        drawn={model: drawn(page.pictures, words, **named) for model, page in pages.items()},
        notes=[*translated, *notes],
        found=english,
        heat=[],
    )


def evaluated_page(
    found: ModelEvaluation, table: str, *, label: str | None = None, words: Words | None = None
) -> str:
    """Of a kept model on patients whose outcome is known.

    Args:
        found: its scores.
        table: name of what these patients were read from.
        label: the column that is predicted.
        words: of the language.
    """
    words = words or words_of().about("hospitals")
    notes = []
    if found.outside:
        notes.append(words("page_of_scores.outside", patients=words.count(found.outside)))
    if found.filled:
        notes.append(words("page_of_scores.filled", patients=words.count(found.filled)))
    return scored_page(
        {} if found.page is None else {found.hospital: found.page},
        title=words("page_of_scores.title", hospital=found.hospital, table=table),
        notes=notes,
        words=words,
        label=label,
        recorded=found.warnings,
    )
