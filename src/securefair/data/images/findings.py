"""What hospitals should look at in the images that their tables name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from securefair.data.cells import Table
from securefair.data.findings import Finding
from securefair.data.shared_rows import COPIED, ENOUGH_COLUMNS, pairs_of


class Pictures(NamedTuple):
    """The images of one column of a table.

    Attributes:
        table: at least one row.
        column: its name.
        digests: SHA-256 of the file of each different text of the column, (K,); "" of what cannot
            be read, which is left to the run, which stops.
    """

    table: Table
    column: str
    digests: Sequence[str]

    @property
    def by_row(self) -> NDArray[np.str_]:
        """The digest of each row, (B,)."""
        result: NDArray[np.str_] = np.array(self.digests)[self.table.columns[self.column].codes]
        return result


def pictures_of(table: Table, name: str) -> Pictures:
    """The images that a column names, each file read once."""
    digests = []
    for text in table.columns[name].texts:
        path = table.folder / text
        readable = text and path.is_file()
        digests.append(hashlib.sha256(path.read_bytes()).hexdigest() if readable else "")
    return Pictures(table, name, digests)


def image_findings(site: str, pictures: Pictures) -> Iterator[Finding]:
    """Rows of one hospital that show the same picture."""
    table, rows = pictures.table, pictures.by_row
    _, first = np.unique(rows, return_index=True)
    again = rows != ""
    again[first] = False
    count = int(again.sum())
    if count:
        yield Finding(
            site=site,
            column=pictures.column,
            line=table.line_of(int(np.flatnonzero(again)[0])),
            kind="duplicate_images",
            message=f"{'1 row shows' if count == 1 else f'{count} rows show'} the same picture as "
            "another row; in a test part they make a model look better than it is",
            remedy="Keep one row an image. Several images of one patient have the same effect, and "
            "nobody can see it in the files",
        )


def shared_images(everyone: Mapping[str, Pictures]) -> Iterator[Finding]:
    """Pictures that two hospitals have; one finding a pair of tables, in the smaller one.

    Args:
        everyone: by site.
    """
    rows = {site: pictures.by_row for site, pictures in everyone.items()}
    for first, second in pairs_of({site: len(one) for site, one in rows.items()}):
        shared = np.isin(rows[second], rows[first]) & (rows[second] != "")
        count = int(shared.sum())
        if not count:
            continue
        pictures = everyone[second]
        yield Finding(
            site=second,
            column=pictures.column,
            line=pictures.table.line_of(int(np.flatnonzero(shared)[0])),
            kind="shared_images",
            message=f"{count} of {len(shared)} rows show{'s' * (count == 1)} a picture that "
            f"{first} has as well: where one hospital trains on it and another tests on it, "
            "results look better than they are",
            remedy="Keep every picture in one table",
            severity="grave" if count >= min(ENOUGH_COLUMNS, COPIED * len(shared)) else "warning",
        )
