"""The guide's tables of CYCle's gains say what the stored results say."""

from __future__ import annotations

from pathlib import Path

import pytest

from securefair.papers.comparison import ComparedNumber, Comparison
from securefair.papers.stored import stored_result

GUIDE = Path(__file__).parents[3] / "docs" / "reproduction.md"
HEADING = "| split | method | MCG | CGS | least gain |"
IN_ORDER = ("cycle-figure3", "cycle-figure4", "cycle-table10", "cycle-table6")


def printed_tables() -> list[list[list[str]]]:
    """The cells of all tables with that heading, headings left out."""
    lines = GUIDE.read_text(encoding="utf-8").splitlines()
    tables = []
    for start, line in enumerate(lines):
        if line.startswith(HEADING):
            rows = []
            for row in lines[start + 2 :]:
                if not row.startswith("|"):
                    break
                rows.append([cell.strip() for cell in row.strip("|").split("|")])
            tables.append(rows)
    return tables


def cell(number: ComparedNumber, seeds: int) -> str:
    spread = f" ± {number.spread:.2f}" if seeds > 1 else ""
    paper = f" ({number.paper:.2f})" if number.paper is not None else ""
    return f"{number.ours:.2f}{spread}{paper}"


def stored_rows(stored: Comparison) -> list[list[str]]:
    """The same cells of a stored result; controls have no row."""
    rows: dict[tuple[str, str], list[str]] = {}
    for number in stored.numbers:
        fields = number.fields
        told = fields.get("alignment") or fields.get("links")
        name = f"{fields['method']}, {told}" if told else str(fields["method"])
        if number.metric in ("MCG", "CGS", "least gain") and name != "Standalone":
            row = rows.setdefault((str(fields["split"]), name), [str(fields["split"]), name])
            row.append(cell(number, stored.seeds))
            if number.metric == "least gain" and stored.seeds > 1:
                row.append(f"{min(number.each):.2f}")
    return list(rows.values())


@pytest.mark.parametrize(("place", "name"), list(enumerate(IN_ORDER)))
def test_gains_are_printed_as_they_are_stored(place: int, name: str) -> None:
    tables = printed_tables()
    assert len(tables) == len(IN_ORDER)
    assert tables[place] == stored_rows(stored_result(name))
