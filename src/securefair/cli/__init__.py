"""The command line: one module per family of commands, heavy imports inside each command.

`ending` says how all of them end, `options` holds what they share. A start makes the one command
that was asked for (`on_demand`).
"""

import atexit
import gc
import sys
from typing import Annotated, Any, cast

import typer

from securefair.cli.ending import Commands
from securefair.cli.on_demand import CommandsOnDemand
from securefair.config.extensions import COMMANDS
from securefair.report.telling import say

__all__ = ["app", "main"]

START, RUN, READ = "Start", "Run", "Read results"
USE, MEASURE = "Use the model", "Plan and measure"
DEPLOY = "Between hospitals"

PLACES = {
    "new": (START, "securefair.cli.starting:new"),
    "check": (START, "securefair.cli.starting:check"),
    "config": (START, "securefair.cli.starting:config"),
    "describe": (START, "securefair.cli.describing:describe"),
    "validate": (RUN, "securefair.cli.validating:validate"),
    "doctor": (START, "securefair.cli.health:doctor"),
    "demo": (RUN, "securefair.cli.running:demo"),
    "run": (RUN, "securefair.cli.running:run"),
    "resume": (RUN, "securefair.cli.running:resume"),
    "renew": (RUN, "securefair.cli.running:renew"),
    "report": (READ, "securefair.cli.reading:report"),
    "budget": (READ, "securefair.cli.budget:budget"),
    "predict": (USE, "securefair.cli.predicting:predict"),
    "evaluate": (USE, "securefair.cli.predicting:evaluate"),
    "show": (USE, "securefair.cli.predicting:show"),
    "export": (USE, "securefair.cli.exporting:export"),
    "rehearse": (DEPLOY, "securefair.cli.rehearsal:rehearse"),
    "refit": (DEPLOY, "securefair.cli.site:refit"),
    "plan": (MEASURE, "securefair.profiling.plan_command:plan"),
    # Families with sub-commands of their own.
    "profile": (MEASURE, "securefair.cli.profiles:app"),
    "identity": (DEPLOY, "securefair.cli.identity:app"),
    "project": (DEPLOY, "securefair.cli.project:app"),
    "site": (DEPLOY, "securefair.cli.site:app"),
    "audit": (DEPLOY, "securefair.cli.site:audit_app"),
    "flare": (DEPLOY, "securefair.cli.relay:app"),
}
"""Panel of the help and place of every command; extensions bring more (`extensions`)."""


class _Securefair(Commands):
    """All commands, each made when it is needed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast(
            "dict[str, Any]", CommandsOnDemand(PLACES, MEASURE, COMMANDS)
        )  # never written


app = typer.Typer(
    name="securefair",
    cls=_Securefair,
    help="Hospitals improve their models together without showing each other patients or models.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            say(version("securefair"))
        except PackageNotFoundError:
            say("not installed: runs from its source folder")
        raise typer.Exit


VersionOption = Annotated[
    bool,
    typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit."),
]


@app.callback()
def options(version: VersionOption = False) -> None:
    """Hospitals improve their models together without showing each other patients or models."""


def main() -> None:
    """Entry point: expected errors become one line on stderr, never a traceback."""
    # Libraries make half a million objects that stay. To look through all of them, again and again
    # as they become more, is a tenth of a start with torch; and again at the end, of a short one.
    # What a command makes later is looked through as it comes, five thousand objects at a time.
    gc.set_threshold(5_000)
    atexit.register(_leave)
    app()


def _leave() -> None:
    """Let the process end without a last look through what it made.

    But for a library that reports whatever is left as leaked, on the terminal.
    """
    if "duckdb" not in sys.modules:
        gc.freeze()
