"""The command line: `securefair demo`, `run CONFIG`, `plan`, `profile`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from securefair.profiling.commands import app as profile_app
from securefair.profiling.plan_command import plan

if TYPE_CHECKING:
    from securefair.config import RunConfig

EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130


class _Commands(TyperGroup):
    """All commands, those of sub-commands included, end alike on expected errors."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with _errors():
            return super().invoke(ctx)


app = typer.Typer(
    name="securefair",
    cls=_Commands,
    help="Hospitals improve their models together without showing each other patients or models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

OutOption = Annotated[
    Path | None, typer.Option("--out", help="Folder for the results (default: runs/NAME).")
]
SeedsOption = Annotated[
    int | None, typer.Option("--seeds", min=1, help="Repeat with so many seeds: 0, 1, ...")
]
BackendOption = Annotated[
    str | None, typer.Option("--backend", help="Encryption engine, instead of the config's.")
]
RoundsOption = Annotated[
    int | None, typer.Option("--rounds", min=1, help="Protocol rounds, instead of the config's.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


@app.command()
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


@app.command()
def run(
    config: Annotated[Path, typer.Argument(help="TOML file; the demo's is a template.")],
    out: OutOption = None,
    seeds: SeedsOption = None,
    rounds: RoundsOption = None,
    backend: BackendOption = None,
    json: JsonOption = False,
) -> None:
    """Run the collaboration that a configuration file describes.

    Example: securefair run my-hospitals.toml --out runs/mine
    """
    from securefair.config import load_config

    _run(load_config(config), out, seeds, rounds, backend, json)


@app.command()
def config() -> None:
    """Print the demo's configuration, a commented template for your own.

    Example: securefair config > my-hospitals.toml
    """
    from importlib import resources

    typer.echo(resources.files("securefair").joinpath("demo.toml").read_text("utf-8"), nl=False)


app.command()(plan)
app.add_typer(profile_app)


def main() -> None:
    """Entry point: expected errors become one line on stderr, never a traceback."""
    app()


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
    _check_writable(folder)
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


def _check_writable(folder: Path) -> None:
    """Find out before a long run, not after it, and leave nothing behind."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        problem = f"{existing} is not a folder"
    elif not os.access(existing, os.W_OK | os.X_OK):
        problem = f"{existing} does not permit it"
    else:
        return
    _stop(f"cannot write to {folder}: {problem}. Choose another folder with --out")


@contextmanager
def _errors() -> Iterator[None]:
    from securefair.errors import SecureFairError

    try:
        yield
    except SecureFairError as error:
        _stop(str(error))
    except KeyboardInterrupt:
        typer.echo("securefair: Interrupted.", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    except OSError as error:
        _stop(f"{error.filename or 'system'}: {error.strerror}")


def _stop(message: str) -> NoReturn:
    typer.echo(f"securefair: {message}", err=True)
    raise typer.Exit(EXIT_USAGE)


if __name__ == "__main__":
    main()
