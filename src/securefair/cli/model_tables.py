"""What `securefair evaluate` found, as tables on a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from securefair.prediction.card import SHOWN, interval, positive
from securefair.prediction.evaluation import ModelEvaluation
from securefair.report.fitting import FittingTable, TableColumn


def evaluation_report(found: ModelEvaluation) -> RenderableType:
    """Scores and confusion matrix, for `rich.console.Console.print`."""
    values = [found.scores[name] for name, _, _ in SHOWN]
    texts = [
        "undefined" if value is None else form.format(value)
        for value, (_, _, form) in zip(values, SHOWN, strict=True)
    ]
    parts: list[RenderableType] = [
        FittingTable(
            f"Model of {found.hospital} on {found.patients} patients",
            [
                TableColumn("Score", [title for _, title, _ in SHOWN], numbers=False),
                TableColumn("Value", texts),
                TableColumn("95 % interval", [interval(found, name) for name, _, _ in SHOWN]),
            ],
        ),
        FittingTable(
            "True class by row, predicted class by column",
            [
                TableColumn("True", list(found.classes), numbers=False),
                *(
                    TableColumn(name, [str(row[at]) for row in found.confusion])
                    for at, name in enumerate(found.classes)
                ),
            ],
        ),
    ]
    parts += [Text(line) for line in (positive(found),) if line]
    if found.outside:
        parts.append(
            Text(
                f"Note: {found.outside} patients have values outside the range of the training "
                "patients; values beyond the agreed range of a column count as its nearer end.",
                style="yellow",
            )
        )
    if found.filled:
        parts.append(
            Text(
                f"Note: {found.filled} patients have a value that the model does not know; "
                "something else stood in (see the warnings).",
                style="yellow",
            )
        )
    return Group(*parts)
