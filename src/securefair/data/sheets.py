"""Texts in CSV files that spreadsheets open: what begins like a formula is not run.

Names of levels, classes and columns come from rules that another hospital wrote. A spreadsheet runs
`=HYPERLINK(...)` in a cell and may send away the cells beside it, unless a ' stands before it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

_BEGINNINGS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"  # and their wide forms
_WITHIN = re.compile(r"(?<=.)([;\t]\s*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")
"""Where a spreadsheet that divides cells at ; or tabs takes the rest for a cell of its own."""
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d+)*|[.,]\d+)([eE][+-]?\d+)?\s*%?")


def guarded(text: str) -> str:
    """A text that no spreadsheet runs; numbers and single signs stay as they are."""
    runs = len(text) > 1 and text[0] in _BEGINNINGS and not _NUMBER.fullmatch(text)
    inside = _WITHIN.sub(r"\1'", text)
    return f"'{inside}" if runs else inside


def unguarded(text: str) -> str:
    """The text of which `guarded` made this one."""
    within = re.sub(_WITHIN.pattern.replace("(?=", "'(?="), r"\1", text)
    return next((one for one in (within[1:], within) if guarded(one) == text), text)


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Rows, headings included, as a CSV file. Every text is guarded; None is an empty cell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [guarded(cell) if isinstance(cell, str) else cell for cell in row] for row in rows
    )
    return text.getvalue()
