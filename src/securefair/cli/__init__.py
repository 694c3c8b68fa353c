"""The command line: one module per family of commands, heavy imports inside each command.

`ending` says how all of them end, `options` holds what they share.
"""

from typing import Annotated

import typer

from securefair.cli.budget import budget
from securefair.cli.ending import Commands
from securefair.cli.exporting import export
from securefair.cli.extensions import extensions
from securefair.cli.health import doctor
from securefair.cli.identity import app as identity_app
from securefair.cli.predicting import evaluate, predict, show
from securefair.cli.project import app as project_app
from securefair.cli.reading import compare, report
from securefair.cli.rehearsal import rehearse
from securefair.cli.relay import app as relay_app
from securefair.cli.running import demo, renew, resume, run
from securefair.cli.site import app as site_app
from securefair.cli.site import audit_app, refit
from securefair.cli.starting import check, config, new
from securefair.profiling.commands import app as profile_app
from securefair.profiling.plan_command import plan
from securefair.report.telling import say

__all__ = ["app", "main"]

app = typer.Typer(
    name="securefair",
    cls=Commands,
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


STARTING, RUNNING, READING = "Start", "Run", "Read results"
USING, MEASURING = "Use the model", "Plan and measure"
DEPLOYING = "Between hospitals"

for _panel, _commands in (
    (STARTING, (new, check, config, doctor)),
    (RUNNING, (demo, run, resume, renew)),
    (READING, (report, compare, budget)),
    (USING, (predict, evaluate, show, export)),
    (DEPLOYING, (rehearse, refit)),
    (MEASURING, (plan, *extensions())),
):
    for _command in _commands:
        app.command(rich_help_panel=_panel)(_command)

# Families with sub-commands of their own.
app.add_typer(profile_app, rich_help_panel=MEASURING)
for _family in (identity_app, project_app, site_app, audit_app, relay_app):
    app.add_typer(_family, rich_help_panel=DEPLOYING)


def main() -> None:
    """Entry point: expected errors become one line on stderr, never a traceback."""
    app()
