"""What one column shows by itself: codes of missing values, slips, dates, identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from securefair.data.cells import NUMBER, Column, Table
from securefair.data.findings import Finding, Severity
from securefair.data.identifying import (
    are_dates,
    are_persons,
    are_record_numbers,
    heading_identifies,
)
from securefair.data.shape import MAX_LEVELS, Shape, far_from_all

MAYBE_MISSING = frozenset(
    (
        *(
            "unknown",
            "missing",
            "None",
            "none given",
            "not done",
            "n.d.",
            "unbekannt",
            "fehlt",
            "keine angabe",
        ),
        *("nicht erhoben", "inconnu", "manquant", "tbd"),
    )
)
"""Words that may be levels as well."""


_WITH_UNIT = re.compile(
    r"[<>]?\s*[+-]?\d+(?:[ '\u2019\xa0\u202f]\d{3})*(?:[.,]\d+)?\s*[^\d\s.,:;/-][^,;]{0,19}"
)


_TWO_NUMBERS = re.compile(r"\d+(?:[.,]\d+)?\s*[/|]\s*\d+(?:[.,]\d+)?")


def _with_units(texts: Sequence[str]) -> str:
    """The first of several numbers that stand before a unit; empty where most do not."""
    found = [
        text for text in texts if _WITH_UNIT.fullmatch(text) and not re.fullmatch(NUMBER, text)
    ]
    return found[0] if 3 * len(found) > len(texts) else ""


def column_findings(
    site: str,
    name: str,
    column: Column,
    shape: Shape,
    table: Table,
    *,
    is_label: bool,
    is_number: bool = False,
) -> Iterator[Finding]:
    """Sentinels, outliers, limits, stray texts, dates, identifiers, constants.

    Args:
        site: whose table.
        name: of the column.
        column: its cells.
        shape: what it looks like.
        table: that it stands in.
        is_label: whether its classes are predicted.
        is_number: whether its numbers are.
    """

    def finding(
        kind: str,
        message: str,
        remedy: str,
        row: int | None = None,
        values: Sequence[str] = (),
        severity: Severity = "warning",
    ) -> Finding:
        return Finding(
            site=site,
            column=name,
            line=None if row is None else table.line_of(row),
            kind=kind,
            message=message,
            remedy=remedy,
            values=tuple(values),
            severity=severity,
        )

    if not shape.present:
        yield finding("empty_column", "there is no value", "Leave the column out")
        return
    feature = not (is_label or is_number)
    if feature and heading_identifies(name, column.texts):
        yield finding(
            "identifier",
            "the heading names an identifier; the column is no feature",
            "Leave it out of the table: nobody else needs it",
        )
        return
    texts = [column.texts[at] for at in np.flatnonzero(shape.counted)[:50]]
    if are_dates(texts):
        yield finding(
            "date",
            f'the values are dates, such as "{texts[0]}"; the column is no feature',
            "Give a time span instead, such as an age or days since admission",
            values=texts[:1],
        )
        return
    if are_persons(texts):
        yield finding(
            "identifier",
            "the values look like names of persons; the column is no feature",
            "Leave it out of the table",
        )
        return
    kept = shape.counted
    if feature and shape.numeric and are_record_numbers(shape.values[kept], column.counts()[kept]):
        yield finding(
            "identifier",
            "the values are whole numbers that hardly repeat, as of patients or files; the column "
            "is no feature unless rules describe it",
            "Leave it out of the table, or describe it if it is a measurement",
        )
        return
    if not is_label and int(shape.counted.sum()) == 1 and shape.rows >= 2:
        yield finding(
            "constant_column",
            f'every patient has the same value, "{texts[0]}"',
            "It tells nothing here; keep it only if it differs elsewhere",
            values=texts[:1],
            severity="note",
        )
    for value, count in shape.sentinels.items():
        at = column.texts.index(value)
        yield finding(
            "sentinel",
            f'"{value}" stands {"once" if count == 1 else f"{count} times"} and looks like a code '
            "for a missing value",
            f'Say missing = ["{value}"] for this column, or correct the table',
            column.first(np.arange(column.different) == at),
            [value],
        )
    if is_number:
        far = far_from_all(shape.values, column.counts())
        near = shape.values[np.isfinite(shape.values) & ~far]
        for at in np.flatnonzero(far).tolist()[:3]:
            yield finding(
                "outlier",
                f'"{column.texts[at]}" is far from all other values, {near.min():g} to '
                f"{near.max():g}, and it is to be predicted: it spoils what is learnt, and the "
                "range",
                "Correct it if it is a slip; leave the row out if it is no patient, as a total is",
                column.first(np.arange(column.different) == at),
                [column.texts[at]],
            )
    for at in () if is_number else shape.outliers[:3]:
        yield finding(
            "outlier",
            f'"{column.texts[at]}" is far from all other values, {shape.low:g} to {shape.high:g}; '
            "a range that is inferred does not follow it, and the value is clipped",
            "Correct it if it is a slip, or write the range yourself",
            column.first(np.arange(column.different) == at),
            [column.texts[at]],
        )
    for at, often in shape.piled.items():
        yield finding(
            "piled",
            f'"{column.texts[at]}" stands {often} times, beyond all others or at their end: it may '
            "be a code for a missing value; it counts as a number",
            f'If it is a code, say missing = ["{column.texts[at]}"] for this column',
            column.first(np.arange(column.different) == at),
            [column.texts[at]],
        )
    if shape.parted is not None:
        below, above = shape.parted
        upper = shape.values >= above
        yield finding(
            "two_units",
            f"no value lies between {below:g} and {above:g}, and many on either side: there may be "
            "two units in one column",
            "Convert to one unit; nothing to do if the measurement is so",
            column.first(
                upper
                if 2 * int(column.counts()[upper].sum()) < shape.rows
                else shape.values <= below
            ),
            severity="grave",
        )
    negative = shape.values < 0
    few = int(column.counts()[negative].sum())
    positive = shape.values[shape.values > 0]
    if shape.numeric and 0 < few <= max(1, shape.rows // 50) and len(positive) >= 10:
        least = float(np.nanmin(np.abs(shape.values[negative])))
        if (shape.values >= 0).sum() == len(positive) and least > np.min(positive) / 10:
            yield finding(
                "negative",
                f'"{column.texts[int(np.flatnonzero(negative)[0])]}" is below 0, where all others '
                "are above",
                "Correct the sign, or the table",
                column.first(negative),
                [column.texts[int(np.flatnonzero(negative)[0])]],
            )
    if shape.limits.any():
        row = column.first(shape.limits)
        text = column.texts[int(column.codes[row])]
        yield finding(
            "censored",
            f'"{text}" is a limit; it counts as the limit itself',
            "Nothing to do, or write what your laboratory recommends instead",
            row,
            [text],
            "note",
        )
    for at in np.flatnonzero(shape.counted).tolist()[: MAX_LEVELS + 1]:
        text = column.texts[at]
        if text in MAYBE_MISSING or text.casefold() in MAYBE_MISSING:
            yield finding(
                "missing_word",
                f'"{text}" may mean that a value is missing; it counts as a level of its own',
                f'If it does, say missing = ["{text}"] in [table] (--missing of securefair new)',
                column.first(np.arange(column.different) == at),
                [text],
            )
    if "-" in column.texts and not shape.counted[column.texts.index("-")]:
        others = [column.texts[at] for at in np.flatnonzero(shape.counted)]
        if all(set(one) <= set("+()") for one in others):
            yield finding(
                "sign_as_missing",
                '"-" counts as missing; beside "+" it may mean negative',
                'If it does, give missing in [table] without "-"',
                column.first(np.array([text == "-" for text in column.texts])),
                ["-"],
                "grave",
            )
    beside = _with_units(texts) if len(column.texts) > MAX_LEVELS else ""
    if beside:
        yield finding(
            "unit_in_cell",
            f'values such as "{beside}" hold a number and a text; the column is no feature',
            "Write the number alone, with nothing between thousands, and the unit into the heading",
            values=[beside],
        )
    pairs = [text for text in texts if _TWO_NUMBERS.fullmatch(text)]
    if len(column.texts) > MAX_LEVELS and 2 * len(pairs) > len(texts):
        yield finding(
            "two_numbers_in_cell",
            f'values such as "{pairs[0]}" hold two numbers; the column is no feature',
            "Give each a column of its own",
            values=pairs[:1],
        )
    if shape.stray.any():
        row = column.first(shape.stray)
        text = column.texts[int(column.codes[row])]
        yield finding(
            "not_a_number",
            f'"{text}" stands among numbers',
            f'Correct it; if it is a code of a missing value, say missing = ["{text}"] in [table] '
            "(--missing of securefair new)",
            row,
            [text],
        )
