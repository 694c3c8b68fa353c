"""`securefair compare` and `bundle`: finished runs side by side, and one for a publication."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from securefair.profiling.options import ForceOption, JsonOption
from securefair.report import say, say_json


def compare(
    folders: Annotated[list[Path], typer.Argument(help="Folders of finished runs, two or more.")],
    html: Annotated[
        Path | None, typer.Option("--html", help="File for the comparison as one HTML page.")
    ] = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Put finished runs side by side: scores, gains, traffic, time and disclosure.

    Example: securefair compare runs/demo runs/mine --html comparison.html
    """
    from rich.text import Text

    from securefair.report import FittingTable, Screen, TableColumn, check_new_file
    from securefair_lab.runs.comparing import (
        compare_runs,
        comparison_rows,
        headline_of,
        verdicts,
        write_comparison,
    )

    if html is not None:
        check_new_file(html, force=force, endings=(".html", ".htm"))
    comparison = compare_runs(folders)
    if html is not None:
        write_comparison(comparison, html)
    if json:
        say_json(comparison)
        return
    headings, rows = comparison_rows(comparison)
    columns = [
        # On a narrow terminal the columns on the right go first, the names never.
        TableColumn(
            heading.replace(" ", "\n", 1),
            [row[at] for row in rows],
            numbers=at > 1,
            dispensable=max(0, at - 3),
        )
        for at, heading in enumerate(headings)
    ]
    console = Screen()
    for sentence in verdicts(comparison):
        console.print(Text(sentence))
    title = f"Runs ({headline_of(comparison)} in %, gains in points)"
    console.print(FittingTable(title, columns))
    for caution in comparison.cautions:
        console.print(Text(f"Note: {caution}", style="yellow"))
    if html is not None:
        console.print(f"Page: {html}", soft_wrap=True)


def bundle(
    folder: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder or .zip file (default: export in the run's folder)."),
    ] = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Bundle a run for a publication: configuration, versions, seeds, scores by seed, LaTeX tables.

    It holds no patients.

    Example: securefair bundle runs/mine --out mine.zip
    """
    from securefair.errors import DataError
    from securefair.report import check_new_file, check_writable
    from securefair.run import read_run
    from securefair_lab.runs.bundle import write_bundle

    run = read_run(folder)
    target = out or folder / "export"
    if target.suffix == ".zip":
        check_new_file(target, force=force)
    elif out is not None and target.suffix[1:].isalpha() and not target.is_dir():
        raise DataError(
            "a bundle is a folder, or one file that ends in .zip", where="--out", found=target
        )
    check_writable(target.parent)
    files = write_bundle(run, target)
    if json:
        say_json({"out": str(target), "files": files})
        return
    say(f"{target}: {', '.join(files)}")
