"""`securefair describe`: who the patients of all hospitals are, without showing one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from securefair.cli.options import ForceOption, JsonOption, LanguageOption, TrustOption
from securefair.cli.trust import check_trusted
from securefair.report.telling import say, say_json

LEDGER = "described.json"


def describe(
    config: Annotated[Path, typer.Argument(help="TOML file; `securefair new` writes one.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for a page and a CSV file of each hospital."),
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Tell what differs from an earlier description; the ledger counts it."
        ),
    ] = False,
    language: LanguageOption = "en",
    force: ForceOption = False,
    trust: TrustOption = False,
    json: JsonOption = False,
) -> None:
    """Table 1 of all hospitals together, by sums under masks: three hospitals or more.

    Counts, means, standard deviations, quartiles and missing values by the agreed rules. A cell is
    told where every hospital has three patients or more in it. Nothing is predicted.

    What each hospital told is noted in described.json beside the configuration: by other rules, of
    other patients or with other hospitals, none takes part a second time unless --again says so.

    Example: securefair describe my-hospitals/config.toml --out table1
    """
    from rich.text import Text

    from securefair.config import load_config
    from securefair.prediction.folder import folder_name
    from securefair.report import check_new_folder, write_text, written_together
    from securefair.report.described import (
        described_csv,
        described_lines,
        described_notes,
        described_page,
    )
    from securefair.report.fitting import FittingTable, TableColumn
    from securefair.report.screen import Screen
    from securefair.run.describing import describe_config
    from securefair.words import words_of

    written = words_of(language.lower())
    loaded = load_config(config)
    check_trusted(loaded, trust=trust)
    if out is not None:
        check_new_folder(out, force=force)
    found = describe_config(loaded, ledger=config.parent / LEDGER, again=again)
    names = list(found.by_hospital)
    if out is not None:
        with written_together(out) as place:
            for name in names:
                page = described_page(found, name, loaded.run.name, written)
                write_text(place / f"{folder_name(name)}.html", page)
                write_text(place / f"{folder_name(name)}.csv", described_csv(found, name))
    if json:
        say_json(found)
        return
    words = words_of()
    head, *lines = described_lines(found, names, words)
    console = Screen()
    console.print(
        FittingTable(
            words("described.title", name=loaded.run.name),
            [
                TableColumn(
                    title, [line[at] for line in lines], numbers=at > 0, dispensable=max(0, at - 1)
                )
                for at, title in enumerate(head)
            ],
            hidden="Not shown, as the terminal is too narrow (--out writes a page of each):",
        )
    )
    for note in described_notes(found, words):
        console.print(Text(note, style="dim"))
    if out is not None:
        say(f"\n{out}")
