"""Say in stored results that a later run gave every number to the digit, and what made that run.

    python bench/stamp_results.py RUNS
    python bench/stamp_results.py RUNS --codes CODES.json

RUNS has one folder an experiment, as `securefair reproduce all --out` leaves them. A run that
differs in one number, claim or seed stamps nothing. CODES.json gives digests by name, for runs of
code that counted its digest in another way: those that today's rule gives for that code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer
from page import run_script

from securefair.report import read_json, write_json
from securefair_lab.papers.comparison import Comparison
from securefair_lab.papers.stored import FOLDER, stored_names


def stamped(stored: Comparison, run: Comparison, code: str | None = None) -> Comparison:
    """The stored result, which says what made the run if that gave the same."""
    alike = ("experiment", "size", "seeds", "numbers", "claims")
    if any(getattr(stored, name) != getattr(run, name) for name in alike):
        return stored
    made = [msgspec.structs.replace(one, code=code or one.code) for one in run.origins]
    return msgspec.structs.replace(stored, again=made)


def main(runs: Path, codes: Annotated[Path | None, typer.Option()] = None) -> None:
    """Stamp all that repeat."""
    digests = read_json(codes, dict[str, str]) if codes is not None else {}
    for name in stored_names():
        path, file = FOLDER / f"{name}.json", runs / name / "comparison.json"
        if not file.is_file():
            continue
        stored = read_json(path, Comparison)
        found = stamped(stored, read_json(file, Comparison), digests.get(name))
        if found != stored:
            write_json(path, found)
            print(name)


if __name__ == "__main__":
    run_script(main)
