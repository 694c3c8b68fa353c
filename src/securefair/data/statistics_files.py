"""Files of SPSS, SAS and Stata as text cells; needs pyreadstat.

Codes that such a file names, as 1 "male" and 2 "female", are read as these names: two hospitals
that count differently mean the same by them. Values that the file itself calls missing are missing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from securefair.data.arrow_tables import read_frame
from securefair.data.cells import Note, Table
from securefair.errors import DataError

READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
"""The function of pyreadstat that reads a kind of file, by the ending of its name."""


def read_statistics(path: Path, missing: Collection[str] = ()) -> Table:
    """A file of SPSS (.sav, .zsav, .por), Stata (.dta) or SAS (.sas7bdat, .xpt).

    A column whose every value has a name of its own in the file holds these names; otherwise it
    holds the values, and a note says so. Names that SAS keeps in a catalogue beside are not read.
    `missing` as of `decimal_commas.table_of_columns`.

    Raises:
        DataError: pyreadstat is not installed, it is no such file, or a column holds something that
            no rule of a table reads.
    """
    try:
        import pyreadstat
    except ImportError as error:
        raise DataError(
            "files of SPSS, SAS and Stata need pyreadstat",
            where=path.name,
            hint="pip install 'securefair[statistics]', or export the table as CSV",
        ) from error
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise DataError("cannot read the table", where=str(path), found=error.strerror) from error
    try:
        frame, facts = getattr(pyreadstat, READERS[path.suffix.lower()])(str(path))
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError) as error:
        raise DataError(
            "not a file of SPSS, SAS or Stata, or a damaged one", where=str(path), found=str(error)
        ) from error
    notes = []
    for name in frame.columns:
        named = facts.variable_value_labels.get(name, {})
        if named:
            frame[name], note = _with_names(frame[name], str(name), named)
            notes += [] if note is None else [note]
    table = read_frame(frame, source=path.name, missing=missing)
    return replace(table, notes=(*notes, *table.notes))


def _with_names(cells: Any, column: str, named: Mapping[Any, str]) -> tuple[Any, Note | None]:
    """A column with the names of its values, and what is to be said of it."""
    present = cells.dropna()
    values = set(present.unique().tolist())
    names = [named[one] for one in sorted(values & set(named), key=str)]
    bare = sorted(values - set(named), key=str)
    if not bare and len(set(names)) == len(names):
        return cells.map(named, na_action="ignore").astype(object), None
    if not names:
        return cells, None
    first = next(one for one in named if one in values)
    some = f"{bare[0]:g} has none" if bare and isinstance(bare[0], int | float) else "not all do"
    return cells, Note(
        column,
        None,
        "names of values",
        f'some values have names in the file, such as {first:g} "{named[first]}", and {some}: the '
        "values were read"
        if isinstance(first, int | float)
        else f'some values have names in the file, such as "{named[first]}", and {some}: the '
        "values were read",
        "If it is a code of a missing value, say missing for this column; otherwise name all",
    )
