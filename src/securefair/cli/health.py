"""`securefair doctor`: what works here, what is missing, and how to get it."""

from __future__ import annotations

import typer

from securefair.cli.ending import EXIT_FAILED
from securefair.cli.options import JsonOption
from securefair.report.telling import say_json

MARKS = {
    "ok": ("ok", "green"),
    "missing": ("not there", "yellow"),
    "broken": ("BROKEN", "bold red"),
}


def doctor(json: JsonOption = False) -> None:
    """Look at versions, kernels, encryption, GPU and extras; exit 1 if something needed is broken.

    Example: securefair doctor
    """
    import logging

    from rich import box
    from rich.table import Table
    from rich.text import Text

    from securefair.cli.diagnosis import diagnose
    from securefair.report.screen import Screen

    log = logging.getLogger("securefair")
    level = log.level
    log.setLevel(logging.ERROR)  # what it would warn of is a finding
    try:
        diagnosis = diagnose()
    finally:
        log.setLevel(level)
    if json:
        say_json(diagnosis)
    else:
        table = Table(box=box.SIMPLE_HEAD, show_header=False, pad_edge=False)
        topic = ""
        for one in diagnosis.findings:
            mark, style = MARKS[one.status]
            text = Text(one.found)
            if one.hint:
                text.append(f"\n{one.hint}", style="dim")
            table.add_row(
                one.topic if one.topic != topic else "", one.name, Text(mark, style=style), text
            )
            topic = one.topic
        console = Screen()
        console.print(table)
        broken = [one.name for one in diagnosis.findings if one.required and one.status != "ok"]
        console.print(
            f"Something that is needed does not work: {', '.join(broken)}."
            if broken
            else "Everything that is needed works.",
        )
    if not diagnosis.healthy:
        raise typer.Exit(EXIT_FAILED)
