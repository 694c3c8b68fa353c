"""What `securefair evaluate` found, as tables on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from securefair.prediction.card import interval, positive, shown_of
from securefair.prediction.evaluation import ModelEvaluation
from securefair.report.fitting import FittingTable, TableColumn
from securefair.report.score_pages import Pages, ScoreTable, score_tables, shown_scores
from securefair.words import words_of


def evaluation_report(found: ModelEvaluation) -> RenderableType:
    """Scores and confusion matrix, for `rich.console.Console.print`."""
    later = () if found.page is None else shown_scores(found.page)
    shown = [one for one in shown_of(found) if one[0] not in later]
    values = [found.scores[name] for name, _, _ in shown]
    texts = [
        "undefined" if value is None else form.format(value)
        for value, (_, _, form) in zip(values, shown, strict=True)
    ]
    parts: list[RenderableType] = []
    if shown:
        table = FittingTable(
            f"Model of {found.hospital} on {found.patients} patients",
            [
                TableColumn("Score", [title for _, title, _ in shown], numbers=False),
                TableColumn("Value", texts),
                TableColumn("95 % interval", [interval(found, name) for name, _, _ in shown]),
            ],
        )
        parts.append(table)
    if found.classes:
        parts.append(_confusion(found))
    parts += [Text(line) for line in (positive(found),) if line]
    if found.page is not None:
        parts += [Text(), *pages_report({found.hospital: found.page})]
    if found.outside:
        parts.append(
            Text(
                f"Note: {_patients(found.outside)} values outside the range of the training "
                "patients; values beyond the agreed range of a column count as its nearer end.",
                style="yellow",
            )
        )
    if found.filled:
        parts.append(
            Text(
                f"Note: {_patients(found.filled)} a value that the model does not know; "
                "something else stood in (see the warnings).",
                style="yellow",
            )
        )
    return Group(*parts)


def _patients(count: int) -> str:
    return "1 patient has" if count == 1 else f"{count} patients have"


def _confusion(found: ModelEvaluation) -> FittingTable:
    return FittingTable(
        "True class by row, predicted class by column",
        [
            TableColumn("True", list(found.classes), numbers=False),
            *(
                TableColumn(name, [str(row[at]) for row in found.confusion])
                for at, name in enumerate(found.classes)
            ),
        ],
    )


def pages_report(pages: Pages) -> Sequence[RenderableType]:
    """Pages of scores of the same patients, by model."""
    return [part for table in score_tables(pages, words_of()) for part in fitting(table)]


def fitting(table: ScoreTable) -> list[RenderableType]:
    """The last columns are left out first where a terminal is narrow."""
    columns = [
        TableColumn(
            heading.replace(" ", "\n"),
            [row[at] for row in table.rows],
            numbers=at > 0,
            dispensable=max(0, at - 2),
        )
        for at, heading in enumerate(table.headings)
    ]
    parts: list[RenderableType] = [FittingTable(table.title, columns, continued=True)]
    return [*parts, Text(table.note, style="dim"), Text()] if table.note else parts
