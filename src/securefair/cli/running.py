"""`securefair demo` and `run`: a configuration in, a folder of results out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from securefair.cli.ending import stop
from securefair.cli.options import (
    BackendOption,
    JsonOption,
    OutOption,
    RoundsOption,
    SeedsOption,
)

if TYPE_CHECKING:
    from securefair.config import RunConfig


def demo(
    out: OutOption = None,
    seeds: SeedsOption = None,
    rounds: RoundsOption = None,
    backend: BackendOption = None,
    json: JsonOption = False,
) -> None:
    """Four real hospitals improve a heart-disease model together, under encryption.

    Example: securefair demo --out runs/demo
    """
    from securefair.config import demo_config

    _run(demo_config(), out, seeds, rounds, backend, json)


def run(
    config: Annotated[Path, typer.Argument(help="TOML file; `securefair new` writes one.")],
    out: OutOption = None,
    seeds: SeedsOption = None,
    rounds: RoundsOption = None,
    backend: BackendOption = None,
    json: JsonOption = False,
) -> None:
    """Run the collaboration that a configuration file describes.

    Example: securefair run my-hospitals/config.toml --out runs/mine
    """
    from securefair.config import load_config

    _run(load_config(config), out, seeds, rounds, backend, json)


def _run(
    config: RunConfig,
    out: Path | None,
    seeds: int | None,
    rounds: int | None,
    backend: str | None,
    json: bool,
) -> None:
    import msgspec
    from rich.console import Console

    from securefair.config import override
    from securefair.experiment import run_experiment, write_outcome
    from securefair.report import show_progress, summary
    from securefair.threads import set_threads

    changes: dict[str, object] = {}
    if seeds is not None:
        changes["run.seeds"] = list(range(seeds))
    if rounds is not None:
        changes["training.rounds"] = rounds
    if backend is not None:
        changes["encryption.backend"] = backend
    if changes:
        config = override(config, changes, source="command line")
    folder = out or (config.run.out or Path("runs")) / config.run.name
    check_writable(folder)
    # On heads of this size threads mostly wait for each other.
    set_threads(1)
    console = Console(stderr=json)
    with show_progress(console) as progress:
        outcome = run_experiment(config, progress)
    write_outcome(outcome, config, folder)
    if json:
        typer.echo(msgspec.json.encode(outcome.result).decode())
        return
    console.print(
        summary(outcome.result, ledger=outcome.ledger, traffic=outcome.traffic, config=config)
    )
    for problem in outcome.problems:
        console.print(problem, style="yellow", markup=False)
    name = "report.html" if config.report.html else "metrics.json"
    console.print(f"Results: {folder / name}", markup=False, soft_wrap=True)


def check_writable(folder: Path) -> None:
    """Find out before a long run, not after it, and leave nothing behind."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        problem = f"{existing} is not a folder"
    elif not os.access(existing, os.W_OK | os.X_OK):
        problem = f"{existing} does not permit it"
    else:
        return
    stop(f"cannot write to {folder}: {problem}. Choose another folder with --out")
