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
    table = Table(box=None, header_style="bold")
    table.add_column("name", no_wrap=True, min_width=max(len(e.name) for e in listed()))
    for heading in ("paper", "shows", "needs", "sizes", "seeds stored"):
        table.add_column(heading, overflow="fold")
    for e in listed():
        seeds = stored_seeds(e.name)
        table.add_row(
            e.name,
            f"{e.paper}, {e.item}",
            e.shows,
            e.needs_shown,
            ", ".join(e.sizes),
            str(seeds) if seeds else "",
        )
    Screen().print(table)
