"""Headings of a table beside the names of agreed columns: the same but for case, or a likely slip.

Whoever exports a year later may write `Age` for `age`. Where one heading alone can be meant it is
taken, and a note says so; where several can, or none, nothing is guessed.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from securefair.data.cells import Note, Table
from securefair.data.identifier_words import unaccented
from securefair.errors import DataError

_ELIDED = re.compile(r"\b(?:d|l|qu|dell|nell|all|un)['\u2019]")
"""Articles and the like of French and Italian that end in an apostrophe."""


def under_agreed_names(table: Table, names: Sequence[str]) -> Table:
    """The table with its headings as agreed, where they differ in case or separators only.

    Args:
        table: as it was read.
        names: of the columns that are wanted.

    Returns:
        The same rows; each column that was renamed has a note. What two headings could mean, and
        what none could, is left as it is, so that whoever needs the column refuses it.
    """
    taken = {
        near[0]: name
        for name in names
        if name not in table.columns and len(near := _alike(name, table.columns, names)) == 1
    }
    if not taken:
        return table
    columns = {taken.get(heading, heading): one for heading, one in table.columns.items()}
    notes = tuple(
        Note(
            column=name,
            line=None,
            kind="heading",
            message=f'it was read from the column "{heading}"',
            remedy=f'If that is another measurement, rename it; otherwise write "{name}"',
        )
        for heading, name in taken.items()
    )
    return replace(table, columns=columns, notes=(*table.notes, *notes))


def meant(name: str, headings: Iterable[str]) -> str | None:
    """A hint at the heading that whoever wrote `name` may have meant; None where none is near."""
    known = list(headings)
    alike = [one for one in known if _key(one) == _key(name)]
    alike = alike or [one for one in known if are_alike(one, name)]
    by_key = {_key(one): one for one in known}
    near = alike or [by_key[one] for one in difflib.get_close_matches(_key(name), by_key, n=1)]
    return f"Did you mean {' or '.join(near)}" if near else None


def are_alike(one: str, other: str) -> bool:
    """Whether headings differ in case, accents, spaces, signs and elided articles only: Mode
    d'entrée and MODE ENTREE."""
    return _letters(one) == _letters(other)


def _letters(name: str) -> str:
    plain = _ELIDED.sub("", unaccented(name).casefold())
    return re.sub(r"[\W_]", "", plain) or name


def check_known(table: Table, names: Sequence[str], whose: str = "") -> None:
    """Refuse a table without the label, or without a column beside it.

    Args:
        table: of patients.
        names: of columns that say what is known of them, the label first.
        whose: table it is, for messages.

    Raises:
        DataError: one is not there; says which one may be meant.
    """
    for name in names:
        if name not in table.columns:
            raise DataError(
                "the label is not a column of the table"
                if name == names[0]
                else "a column beside the label is not in the table",
                where=f"{whose}, {table.source}" if whose else table.source,
                found=", ".join(table.columns),
                expected=name,
                hint=meant(name, table.columns),
            )


def _alike(name: str, headings: Mapping[str, object], names: Sequence[str]) -> list[str]:
    """Headings that no agreed column has, and that are this name but for case or separators."""
    wanted = set(names)
    if sum(_key(one) == _key(name) for one in wanted) > 1:
        return []
    return [one for one in headings if one not in wanted and _key(one) == _key(name)]


def _key(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name.casefold()).strip()
