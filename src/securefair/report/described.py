"""Table 1 as rows of text: the same for terminals, CSV and HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from securefair.collaboration.described import Described, DescribedRow
from securefair.data.sheets import csv_text
from securefair.report.pages import rendered
from securefair.words import Words, words_of

DASH = "\u2013"

Line = tuple[str, ...]
"""What it is, of all, and of each hospital that is shown."""


def described_lines(found: Described, hospitals: Sequence[str], words: Words) -> list[Line]:
    """The table, a heading first.

    Args:
        found: table 1.
        hospitals: whose own columns are shown.
        words: of the language.
    """
    totals = {"": found.patients} | {name: found.by_hospital[name] for name in hospitals}
    lines: list[Line] = [
        ("", words("described.together"), *hospitals),
        (words("described.patients"), *map(words.count, totals.values())),
    ]
    by_variable: dict[str, dict[str, DescribedRow]] = {}
    for row in found.rows:
        if row.figure in ("level", "missing", "others"):
            ours = row.variable == found.strata_of
            level = words.name(row.level, "strata") if ours else row.level
            label = words(_KEYS[row.figure], variable=row.variable, level=level)
            if row.figure == "missing" and not any((row.together, *row.by_hospital.values())):
                continue
            lines.append((label, *(_share(_of(row, name), totals[name], words) for name in totals)))
            continue
        figures = by_variable.setdefault(row.variable, {})
        figures[row.figure] = row
        if row.figure == "q75":
            lines += _of_measurement(row.variable, figures, list(totals), words)
    return lines


_KEYS: Mapping[str, str] = {
    "level": "described.level",
    "missing": "described.missing",
    "others": "described.others",
}


def described_csv(found: Described, hospital: str) -> str:
    """Figures of all and of one hospital, a row each, unrounded; empty where not told."""
    rows: list[list[object]] = [
        ["variable", "figure", "level", "all", hospital],
        ["", "patients", "", found.patients, found.by_hospital[hospital]],
    ]
    for row in found.rows:
        cells = ["" if one is None else f"{one:.6g}" for one in (row.together, _of(row, hospital))]
        rows.append([row.variable, row.figure, row.level, *cells])
    return csv_text(rows)


def described_page(found: Described, hospital: str, name: str, words: Words | None = None) -> str:
    """A page for one hospital: its own column beside all."""
    words = words or words_of()
    return rendered(
        "described.html.j2",
        words=words,
        title=words("described.title", name=name),
        lines=described_lines(found, [hospital], words),
        notes=described_notes(found, words),
        heat=[],
    )


def described_notes(found: Described, words: Words) -> list[str]:
    """What a reader must know of the figures."""
    said = [
        words("described.rule", hospitals=words.count(found.hospitals)),
        words("described.ranges"),
    ]
    if found.filled:
        said.append(words("described.filled", names=words.listing(found.filled)))
    if found.first_rows:
        said.append(words("described.first_rows"))
    return said


def _of(row: DescribedRow, name: str) -> float | None:
    return row.by_hospital[name] if name else row.together


def _share(value: float | None, total: int, words: Words) -> str:
    if value is None:
        return words("described.hidden")
    return f"{words.count(round(value))} ({words.decimal(100 * value / total, 1)})"


def _of_measurement(
    variable: str, figures: Mapping[str, DescribedRow], names: Sequence[str], words: Words
) -> list[Line]:
    def shown(name: str, main: str, *others: str) -> str:
        values = [_of(figures[key], name) for key in (main, *others)]
        if all(one is None for one in values):
            return words("described.hidden")
        digits = _digits(values)
        first, *rest = ["?" if one is None else words.decimal(one, digits) for one in values]
        return f"{first} ({DASH.join(rest)})"

    return [
        (
            words("described.mean", variable=variable),
            *(shown(name, "mean", "sd") for name in names),
        ),
        (
            words("described.median", variable=variable),
            *(shown(name, "median", "q25", "q75") for name in names),
        ),
    ]


def _digits(values: Sequence[float | None]) -> int:
    largest = max((abs(one) for one in values if one is not None), default=0.0)
    return 1 if largest >= 10 else 2
