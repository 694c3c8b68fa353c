"""Results of a run on the terminal: computed, found, or reported again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from securefair.report.telling import say_json

if TYPE_CHECKING:
    from securefair.config import RunConfig
    from securefair.records import LedgerRow, RunResult, TrafficRow
    from securefair.run.results import Outcome


def finished(folder: Path, config: RunConfig) -> Outcome | None:
    """What a run of just these settings, by this version, left in a folder; None: of another, or
    one that was begun after it is unfinished.
    """
    from securefair.collaboration.kinds import toml_of
    from securefair.errors import SecureFairError
    from securefair.prediction.versions import versions
    from securefair.run.checkpoint import is_unfinished
    from securefair.run.folder import read_run

    if is_unfinished(folder):
        return None
    try:
        found = read_run(folder)
    except SecureFairError:  # damaged, or of another version
        return None
    same = toml_of(found.config) == toml_of(config)
    ours = found.versions.get("securefair") == versions()["securefair"]
    return found if same and ours else None


def tell(
    result: RunResult,
    where: str,
    *,
    quiet: bool = False,
    json: bool = False,
    ledger: Sequence[LedgerRow],
    traffic: Sequence[TrafficRow],
    smaller: RunResult | None,
    source: str,
    note: str | None = None,
) -> None:
    """Show results, a note below them, and where they are.

    Args:
        result, ledger, traffic, source, smaller: see `report.summary`.
        where: a line that says where they are.
        quiet, json: options of the commands.
        note: what else to say.
    """
    from securefair.report import summary
    from securefair.report.facts import problem_lines
    from securefair.report.screen import Screen

    if json:
        say_json(result)
        return
    console = Screen(quiet=quiet)
    console.print(summary(result, ledger=ledger, traffic=traffic, source=source, smaller=smaller))
    for problem in problem_lines(result):
        console.print(problem, style="yellow")
    if note is not None:
        console.print(note, style="yellow", soft_wrap=True)
    Screen().print(where, soft_wrap=True)


def results_in(folder: Path) -> str:
    """The line that says where a run's results are."""
    name = "report.html" if (folder / "report.html").exists() else "metrics.json"
    return f"Results: {folder / name}"
