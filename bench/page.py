"""Tables in a page of the documentation, between markers: `<!-- name -->` and `<!-- /name -->`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from securefair.errors import DataError, SecureFairError
from securefair.report import write_text

PageOption = Annotated[
    Path | None,
    typer.Option(exists=True, dir_okay=False, help="Page whose tables are replaced."),
]
"""Refused before anything is measured where there is no such page."""


def run_script(main: Callable[..., Any]) -> None:
    """Run a script's command; what is expected to go wrong ends it with a line, not a traceback."""
    try:
        typer.run(main)
    except SecureFairError as error:
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")


def replace_tables(page: Path, tables: Mapping[str, str]) -> None:
    """Put each table between its markers, or leave the page as it is.

    Raises:
        DataError: the page cannot be read, or has no such markers, or several.
    """
    try:
        text = page.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError("the page cannot be read", where=str(page), found=str(error)) from error
    for name, table in tables.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
        text, count = re.subn(
            pattern, lambda m, t=table: f"{m[1]}\n{t}\n\n{m[2]}", text, flags=re.S
        )
        if count != 1:
            raise DataError(
                "no single place for a table",
                where=str(page),
                found=f"{count} places",
                expected=f"<!-- {name} --> and <!-- /{name} --> once, on lines of their own",
            )
    write_text(page, text)
