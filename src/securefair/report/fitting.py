"""Tables for terminals of any width: what does not fit is left out, never cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from securefair.errors import printable

_UNLIMITED = 10_000


@dataclass(frozen=True)
class TableColumn:
    """One column, from its heading to its footer.

    Attributes:
        heading: may have several lines, which keeps a column of numbers narrow.
        cells: one a row.
        footer: below them; empty for none.
        numbers: aligned to the right.
        dispensable: columns of a higher number are left out first; 0 stays in any case.
    """

    heading: str
    cells: Sequence[str | Text]
    footer: str = ""
    numbers: bool = True
    dispensable: int = 0


@dataclass(frozen=True)
class FittingTable:
    """A table that shows as many of its columns as the terminal is wide enough for.

    Attributes:
        title: above it.
        columns: from the left.
        note, mark: a line below it where a cell that is shown holds the mark; empty for none.
        hidden: begins a line below it that names columns that do not fit; empty for no such line.
        continued: whether columns that do not fit follow in a table of their own instead, which
            begins with the first column as well.
    """

    title: str
    columns: Sequence[TableColumn]
    note: str = ""
    mark: str = ""
    hidden: str = ""
    continued: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Without the most dispensable columns, until what remains fits."""
        for most in sorted({column.dispensable for column in self.columns}, reverse=True):
            shown = [one for one in self.columns if one.dispensable <= most]
            table = self._table(shown)
            unlimited = options.update(max_width=_UNLIMITED)
            if Measurement.get(console, unlimited, table).maximum <= options.max_width:
                break
        if self.title:
            yield Text(self.title, style="bold")
            yield Text()
        yield table
        if self.note and any(self.mark in str(cell) for one in shown for cell in one.cells):
            yield Text(self.note, style="dim")
        left_out = [one for one in self.columns if one not in shown]
        if self.hidden and left_out:
            names = ", ".join(one.heading for one in left_out)
            yield Text(printable(f"{self.hidden} {names}"), style="dim")
        yield Text()
        if self.continued and left_out:
            rest = [replace(one, dispensable=at) for at, one in enumerate(left_out)]
            yield replace(self, title="", columns=[self.columns[0], *rest])

    def _table(self, columns: Sequence[TableColumn]) -> Table:
        table = Table(
            box=box.SIMPLE,
            collapse_padding=True,
            show_edge=False,
            pad_edge=False,
            show_footer=any(column.footer for column in columns),
        )
        for column in columns:
            table.add_column(
                Text(printable(column.heading)),
                footer=Text(column.footer),
                justify="right" if column.numbers else "left",
                vertical="bottom",
            )
        rows: list[tuple[RenderableType, ...]] = list(
            zip(*([_text(cell) for cell in column.cells] for column in columns), strict=True)
        )
        for row in rows:
            table.add_row(*row)
        return table


def _text(cell: str | Text) -> Text:
    """Names come from outside and are no markup."""
    return cell if isinstance(cell, Text) else Text(printable(cell))
