"""Tables in a page of the documentation, between markers: `<!-- name -->` and `<!-- /name -->`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from securefair.errors import DataError
from securefair.report import write_text


def replace_tables(page: Path, tables: Mapping[str, str]) -> None:
    """Put each table between its markers.

    Raises:
        DataError: the page has no such markers, or several.
    """
    text = page.read_text()
    for name, table in tables.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
        text, count = re.subn(
            pattern, lambda m, t=table: f"{m[1]}\n{t}\n\n{m[2]}", text, flags=re.S
        )
        if count != 1:
            raise DataError("no single place for a table", where=str(page), found=name)
    write_text(page, text)
