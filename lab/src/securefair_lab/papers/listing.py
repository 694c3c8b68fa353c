"""`securefair reproduce --list`: every experiment, and what is stored of it.

The list is a file, `listing.json`: experiments are made of algorithms, networks and data, whose
code takes seconds to load. `written` makes it of them; a test compares.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from rich.table import Table

from securefair.report import Screen, read_json, say_json
from securefair_lab.papers.stored import stored_seeds

if TYPE_CHECKING:
    from securefair_lab.papers.experiment import Experiment

FILE = Path(__file__).with_suffix(".json")

WIDE = 140
"""Characters of a terminal from which on all columns can be read: words broken cannot."""
MORE = ("needs", "sizes", "seeds stored")


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """What is told of an experiment.

    Attributes:
        name, paper, item, shows, differs, sizes: as of `Experiment`.
        needs: files of the data folder, by size.
    """

    name: str
    paper: str
    item: str
    shows: str
    needs: dict[str, tuple[str, ...]]
    sizes: tuple[str, ...]
    differs: str

    @property
    def needs_shown(self) -> str:
        """In one cell of a table."""
        own = {size: ", ".join(files) for size, files in self.needs.items() if size != "smoke"}
        cpu, paper = own.get("cpu"), own.get("paper")
        if cpu is None or paper is None:
            return cpu or paper or ""
        return cpu if cpu == paper else f"{cpu}; paper: {paper}"


def written(experiments: Iterable[Experiment]) -> bytes:
    """The file of these experiments."""
    rows = (
        Listed(
            name=e.name,
            paper=e.paper,
            item=e.item,
            shows=e.shows,
            needs={size: e.files(size) for size in e.sizes},
            sizes=e.sizes,
            differs=e.differs,
        )
        for e in experiments
    )
    return b"[\n" + b",\n".join(map(msgspec.json.encode, rows)) + b"\n]\n"


@cache
def listed() -> tuple[Listed, ...]:
    """All experiments in their order."""
    return read_json(FILE, tuple[Listed, ...])


def print_list(*, json: bool) -> None:
    """Name all experiments on standard output."""
    if json:
        rows = [msgspec.structs.asdict(e) | {"seeds": stored_seeds(e.name)} for e in listed()]
        say_json(rows, indent=2)
        return
    screen = Screen()
    wide = screen.width >= WIDE
    table = Table(box=None, header_style="bold")
    table.add_column("name", no_wrap=True, min_width=max(len(e.name) for e in listed()))
    for heading in (*(("paper",) if wide else ()), "shows", *(MORE if wide else ())):
        table.add_column(heading, overflow="fold")
    for e in listed():
        seeds = str(stored_seeds(e.name) or "")
        more = (e.needs_shown, ", ".join(e.sizes), seeds)
        paper = f"{e.paper}, {e.item}"
        table.add_row(e.name, *((paper, e.shows, *more) if wide else (e.shows,)))
    screen.print(table)
    if not wide:
        screen.print(f"With --json, or {WIDE} characters wide: paper, {', '.join(MORE)}.")
