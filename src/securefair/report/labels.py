"""Wide tables of a page -> tables that a phone shows row by row, every number with its heading."""

from __future__ import annotations

import re

FEW = 4
"""Columns that fit the width of a phone."""

_TABLE = re.compile(r"<table>(.*?)</table>", re.DOTALL)
_HEADING = re.compile(r'<th scope="col"[^>]*>(.*?)</th>', re.DOTALL)
_ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
_SPREAD = re.compile("[ \u00a0]\u00b1[ \u00a0]")


def stacked_tables(page: str) -> str:
    """The page, in which each cell of a table of many columns names its heading.

    Such tables get the class "stacked", and a number may break before its "±". Tables with a class
    of their own stay.

    Args:
        page: as our templates write it: names are escaped, so that no tag in it is a name's.
    """
    return _TABLE.sub(lambda found: _stacked(found[1]), page)


def _stacked(table: str) -> str:
    names = [re.sub(r"<[^>]*>", "", one) for one in _HEADING.findall(table)]
    if len(names) <= FEW:
        return f"<table>{table}</table>"
    head, _, rest = table.partition("</thead>")

    def labelled(row: re.Match[str]) -> str:
        left = iter(names[1:])
        return re.sub(r"<td\b", lambda _: f'<td data-label="{next(left, "")}"', row[0])

    rows = _SPREAD.sub(" \u00b1\u00a0", _ROW.sub(labelled, rest))
    return f'<table class="stacked">{head}</thead>{rows}</table>'
