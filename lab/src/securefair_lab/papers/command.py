"""`securefair reproduce`: one experiment or all, a shard, the merging of shards, or the list."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from securefair.report import say


def reproduce(
    name: Annotated[
        str | None, typer.Argument(help="Of the experiment, see --list; or: all, merge.")
    ] = None,
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            help="With merge: the folders of the shards; with --verify: more experiments."
        ),
    ] = None,
    size: Annotated[
        str,
        typer.Option(
            help="smoke (seconds), cpu (minutes to days: see --hours), paper (for a GPU)."
        ),
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
    shard: Annotated[
        str | None,
        typer.Option(help="Run only part I/N of all runs, such as 3/16; merge puts them together."),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            help="A comparison.json: say which of its numbers repeat, and what is not the same."
        ),
    ] = None,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Only say of stored results (all, or those named) whether they repeat in --out: "
            "a folder of runs, a run's own, or its comparison.json.",
        ),
    ] = False,
    hours: Annotated[
        bool, typer.Option("--hours", help="Only estimate how long it takes here.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with what --out already holds.")
    ] = False,
    list_all: Annotated[bool, typer.Option("--list", help="Name all experiments.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Run an experiment of the papers and put its numbers beside theirs.

    Example: securefair reproduce cffl-table1 --size cpu --seeds 3 --data DIR --papers DIR
    """
    if verify:
        from securefair_lab.papers.verifying import verify as tell_verified

        tell_verified([*filter(None, [name]), *map(str, folders or [])], out, json=json)
        return
    if list_all or name is None:
        from securefair_lab.papers.listing import print_list

        print_list(json=json)
        return
    from securefair.errors import ConfigError
    from securefair_lab.papers.everything import everything
    from securefair_lab.papers.reference import papers_folder, printed_rows
    from securefair_lab.papers.reproduction import (
        Asked,
        conclude,
        merged,
        part,
        read_against,
        whole,
    )

    if name != "merge" and folders:
        raise ConfigError(
            "one experiment at a time", found=" ".join([name, *map(str, folders)]), expected=name
        )
    if hours or name == "all":
        everything(
            None if name == "all" else name,
            size,
            seeds,
            out=out,
            data=data,
            device=device,
            papers=papers_folder(papers),
            hours=hours,
        )
        return
    beside = None
    # Before hours of training; a shard compares nothing.
    tables = None if shard is not None else papers_folder(papers)
    if name == "merge":
        asked, finished = merged(folders or [], out, data)
        if against is not None:
            beside = read_against(against, asked.experiment, asked.size)
    else:
        asked = Asked.of(name, size, seeds, out=out, data=data, device=device, runs=runs)
        if against is not None:
            beside = read_against(against, asked.experiment, asked.size)
        printed_rows(asked.experiment, tables)  # refuses a folder without the paper's table
        try:
            if shard is not None:
                say(part(asked, shard, resume=resume), err=True)
                return
            finished = whole(asked, resume=resume)
        except KeyboardInterrupt:
            say(f"Stopped; every finished run is in {asked.out}. Add --resume to go on.", err=True)
            raise typer.Exit(130) from None
    conclude(asked, finished, tables, against=beside, json=json)
