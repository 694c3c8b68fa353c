"""Tables on a terminal, and what they call the stages of an exchange."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.table import Table
from rich.text import Text

ANSWER_STAGES = {
    "receive": "Check upload",
    "layers": "Expand, evaluate head",
    "linear1": "Linear 1",
    "linear2": "Linear 2",
    "conjugate": "Add conjugates",
    "square": "Square",
    "forms": "Multiply by forms",
    "join": "Join classes",
    "products": "Products",
    "add_blocks": "Add blocks",
    "relinearise": "Relinearise",
    "rescale": "Rescale",
    "sanitise": "Sanitise",
    "extract": "Extract",
}
"""Steps of an answer, as people read them."""


def rows_table(title: str, rows: Iterable[tuple[str, str]]) -> Table:
    """Two columns: what, how much."""
    table = plain_table(title)
    table.show_header = False
    table.add_column("")
    table.add_column("")
    for name, value in rows:
        table.add_row(Text(name), Text(value))
    return table


def plain_table(title: str) -> Table:
    """A table in the style of the run's summary, but tighter: 80 columns hold nine figures."""
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
