"""`securefair reproduce`: one experiment, or the list of all."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def reproduce(
    name: Annotated[str | None, typer.Argument(help="Of the experiment; see --list.")] = None,
    size: Annotated[
        str,
        typer.Option(help="smoke (seconds), cpu (minutes on two cores), paper (for a GPU)."),
    ] = "smoke",
    seeds: Annotated[int, typer.Option(min=1, help="Repeat with so many seeds.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results (default: runs/NAME-SIZE).")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder of data sets (default: SECUREFAIR_DATA).")
    ] = None,
    papers: Annotated[
        Path | None,
        typer.Option(help="Folder of the papers' tables as JSON (default: SECUREFAIR_PAPERS)."),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            help="Where networks train: cpu, cuda, cuda:1 (default: cuda for --size paper where "
            "torch has it, else cpu)."
        ),
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option(help="Share finished runs between experiments of one paper (default: none)."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with what --out already holds.")
    ] = False,
    list_all: Annotated[bool, typer.Option("--list", help="Name all experiments.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Run an experiment of the papers and put its numbers beside theirs.

    Example: securefair reproduce cffl-table1 --size cpu --seeds 3 --data DIR --papers DIR
    """
    from rich.console import Console

    from securefair.data.folder import data_folder
    from securefair.errors import ConfigError
    from securefair.papers.catalogue import experiment_named
    from securefair.papers.comparison import (
        compare,
        comparison_table,
        write_comparison,
        write_figure,
    )
    from securefair.papers.device import chosen_device
    from securefair.papers.reference import papers_folder
    from securefair.papers.running import compared_rows, finished_runs
    from securefair.report import show_progress

    if list_all or name is None:
        _list(json)
        return
    experiment = experiment_named(name)
    if size not in experiment.sizes:
        raise ConfigError(
            "there is no such size",
            where="--size",
            found=size,
            expected=", ".join(experiment.sizes) or "nothing: this is an illustration",
        )
    where = chosen_device(device, size)
    folder = out or Path("runs") / f"{experiment.name}-{size}"
    source = data_folder(data) if size != "smoke" and experiment.needs else None
    with show_progress(Console(stderr=True)) as progress:
        try:
            finished = finished_runs(
                experiment,
                size,
                seeds=seeds,
                data=source,
                out=folder,
                resume=resume,
                progress=progress,
                runs=runs,
                device=where,
            )
            rows = compared_rows(
                experiment,
                size,
                finished,
                seeds=seeds,
                data=source,
                papers=papers_folder(papers),
            )
        except KeyboardInterrupt:
            typer.echo(
                f"Stopped; every finished round is in {folder}. Add --resume to go on.", err=True
            )
            raise typer.Exit(130) from None
    comparison = compare(experiment, size, seeds, rows)
    printed = any(number.paper is not None for number in comparison.numbers)
    files = write_comparison(comparison, folder, bars=printed or experiment.draw is None)
    if experiment.draw is not None:
        files.append(write_figure(experiment.draw(finished, rows), folder / "figure.png"))
    if json:
        typer.echo((folder / "comparison.json").read_text(encoding="utf-8"), nl=False)
        return
    console = Console()
    console.print(comparison_table(comparison))
    for claim in comparison.claims:
        console.print(f"{'shown' if claim.holds else 'NOT shown'}: {claim.claim}")
    if papers_folder(papers) is None:
        console.print(
            "The paper's numbers are not at hand: name the folder of its tables with --papers."
        )
    console.print(f"Written: {', '.join(file.name for file in files)} in {folder}", soft_wrap=True)


def _list(json: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    from securefair.papers.catalogue import EXPERIMENTS

    if json:
        import msgspec

        rows = [
            {
                "name": e.name,
                "paper": e.paper,
                "item": e.item,
                "shows": e.shows,
                "needs": {size: list(e.files(size)) for size in e.sizes},
                "sizes": list(e.sizes),
                "differs": e.differs,
            }
            for e in EXPERIMENTS.values()
        ]
        typer.echo(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode())
        return
    table = Table(box=None, header_style="bold")
    for heading in ("name", "paper", "shows", "needs", "sizes"):
        table.add_column(heading)
    for e in EXPERIMENTS.values():
        needs = ", ".join(e.needs)
        if e.paper_needs is not None and e.paper_needs != e.needs:
            needs += f"; paper: {', '.join(e.paper_needs)}"
        table.add_row(e.name, f"{e.paper}, {e.item}", e.shows, needs, ", ".join(e.sizes))
    Console().print(table)
