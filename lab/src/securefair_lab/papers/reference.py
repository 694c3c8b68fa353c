"""What the papers print: their tables as JSON, in a folder that the user names.

The tables are not part of the package. A run without them still says what it found.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from securefair.errors import ConfigError, DataError
from securefair_lab.papers.experiment import Experiment, Fields

PAPERS_VARIABLE = "SECUREFAIR_PAPERS"


def papers_folder(given: Path | None) -> Path | None:
    """The folder of <paper>.json files: the argument, or the environment's; None for neither.

    Raises:
        ConfigError: what is named is no folder.
    """
    named = str(given) if given is not None else os.environ.get(PAPERS_VARIABLE, "")
    if not named:
        return None
    if not Path(named).is_dir():
        raise ConfigError(
            "not a folder",
            where="--papers" if given is not None else PAPERS_VARIABLE,
            found=named,
        )
    return Path(named)


def printed_rows(experiment: Experiment, folder: Path | None) -> list[Mapping[str, Any]]:
    """The rows of the experiment's table; empty without a folder or a printed table.

    Raises:
        DataError: the paper's file is missing or has no such table.
    """
    if folder is None or experiment.reference is None:
        return []
    path = folder / f"{experiment.paper}.json"
    try:
        tables: Sequence[Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["tables"]
        return list(next(t for t in tables if t["id"] == experiment.reference)["rows"])
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
        raise DataError(
            f"the paper's file has no table {experiment.reference}",
            where=str(path),
            found=str(error) or type(error).__name__,
            hint=f"Name the folder of the papers' tables with --papers or {PAPERS_VARIABLE}",
        ) from error


def printed(rows: Sequence[Mapping[str, Any]], fields: Fields) -> dict[str, float]:
    """The numbers of the row that agrees with all fields; empty if none or several do.

    Accuracies of single participants are called P1, P2, ...
    """
    found = [row for row in rows if all(row.get(key) == value for key, value in fields.items())]
    if len(found) != 1:
        return {}
    each = {f"P{n}": value for n, value in enumerate(found[0].get("per_participant", ()), start=1)}
    return {
        name: float(value)
        for name, value in {**each, **found[0]["metrics"]}.items()
        if isinstance(value, int | float)
    }
