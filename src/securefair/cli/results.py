"""Results of a run on the terminal, when they are computed or found."""

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
    """What a run of just these settings, by this version, left in a folder; None: of another."""
    from securefair.collaboration.kinds import toml_of
    from securefair.errors import SecureFairError
    from securefair.prediction.versions import versions
    from securefair.run.folder import read_run

    try:
        found = read_run(folder)
    except SecureFairError:  # damaged, or of another version
        return None
    same = toml_of(found.config) == toml_of(config)
    ours = found.versions.get("securefair") == versions()["securefair"]
    return found if same and ours else None


def tell(
    result: RunResult,
    folder: Path,
    quiet: bool,
    json: bool,
    *,
    ledger: Sequence[LedgerRow],
    traffic: Sequence[TrafficRow],
    smaller: RunResult | None,
    source: str,
    note: str | None = None,
) -> None:
    """Show results, a note below them, and where they are.

    Args:
        result, ledger, traffic, source, smaller: see `report.summary`.
        folder: where they are written.
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
    name = "report.html" if (folder / "report.html").exists() else "metrics.json"
    Screen().print(f"Results: {folder / name}", soft_wrap=True)
