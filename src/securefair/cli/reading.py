"""`securefair report`: what a finished run says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from securefair.cli.ending import stop
from securefair.cli.options import ForceOption, JsonOption, LanguageOption
from securefair.cli.results import tell


def report(
    folder: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for report.html (default: the run's).")
    ] = None,
    language: LanguageOption = "en",
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Build the report of a finished run again, from its files alone, and show its summary.

    Example: securefair report runs/demo
    """
    from securefair.report import check_new_file
    from securefair.report.html import file_name
    from securefair.run.folder import read_run, write_page

    outcome = read_run(folder)
    language = language.lower()
    if out is not None and out.suffix in (".html", ".htm") and not out.exists():
        stop(f"{out}: the report goes into a folder, as {file_name(language)}")
    if out is not None:
        check_new_file(
            out / file_name(language), force=force or (out.is_dir() and out.samefile(folder))
        )
    page = write_page(outcome, out or folder, language=language)
    tell(
        outcome.result,
        f"Report: {page}",
        json=json,
        ledger=outcome.ledger,
        traffic=outcome.traffic,
        smaller=None if outcome.smaller is None else outcome.smaller.result,
        source=outcome.config.data.source,
    )
