"""Results of a run on the terminal, when they are computed or found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from securefair.report.telling import say_json

if TYPE_CHECKING:
    from securefair.config import RunConfig
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
    return found.outcome if same and ours else None


def tell(
    outcome: Outcome,
    config: RunConfig,
    folder: Path,
    quiet: bool,
    json: bool,
    *,
    note: str | None = None,
) -> None:
    """Show results, a note below them, and where they are."""
    from securefair.report import summary
    from securefair.report.screen import Screen

    if json:
        say_json(outcome.result)
        return
    console = Screen(quiet=quiet)
    console.print(
        summary(
            outcome.result,
            ledger=outcome.ledger,
            traffic=outcome.traffic,
            source=config.data.source,
            smaller=None if outcome.smaller is None else outcome.smaller.result,
        )
    )
    for problem in outcome.problems:
        console.print(problem, style="yellow")
    if note is not None:
        console.print(note, style="yellow", soft_wrap=True)
    name = "report.html" if config.report.html else "metrics.json"
    Screen().print(f"Results: {folder / name}", soft_wrap=True)
