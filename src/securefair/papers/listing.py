"""`securefair reproduce --list`: every experiment, and what is stored of it."""

from __future__ import annotations

from rich.table import Table

from securefair.papers.catalogue import EXPERIMENTS
from securefair.papers.stored import stored_seeds
from securefair.report.screen import Screen
from securefair.report.telling import say_json


def print_list(*, json: bool) -> None:
    """Name all experiments on standard output."""
    if json:
        rows = [
            {
                "name": e.name,
                "paper": e.paper,
                "item": e.item,
                "shows": e.shows,
                "needs": {size: list(e.files(size)) for size in e.sizes},
                "sizes": list(e.sizes),
                "differs": e.differs,
                "seeds": stored_seeds(e.name),
            }
            for e in EXPERIMENTS.values()
        ]
        say_json(rows, indent=2)
        return
    table = Table(box=None, header_style="bold")
    for heading in ("name", "paper", "shows", "needs", "sizes", "seeds stored"):
        table.add_column(heading)
    for e in EXPERIMENTS.values():
        needs = ", ".join(e.needs)
        if e.paper_needs is not None and e.paper_needs != e.needs:
            needs += f"; paper: {', '.join(e.paper_needs)}"
        seeds = stored_seeds(e.name)
        table.add_row(
            e.name,
            f"{e.paper}, {e.item}",
            e.shows,
            needs,
            ", ".join(e.sizes),
            str(seeds) if seeds else "",
        )
    Screen().print(table)
