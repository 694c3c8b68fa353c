"""What a hospital should look at in the images that its table names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from securefair.data.cells import Table
from securefair.data.findings import Finding


def image_findings(site: str, table: Table, name: str) -> Iterator[Finding]:
    """Rows that show the same picture; files that cannot be read are left to the run, which stops.

    Args:
        site: its name.
        table: at least one row.
        name: of the column with paths.
    """
    column = table.columns[name]
    _, first = np.unique(column.codes, return_index=True)
    seen: set[str] = set()
    repeated: list[int] = []
    for at, text in enumerate(column.texts):
        path = table.folder / text
        if not text or not path.is_file():
            continue
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if digest in seen:
            repeated.append(int(first[at]))
        seen.add(digest)
        again = np.flatnonzero(column.codes == at)[1:]
        repeated += again.tolist()
    if repeated:
        yield Finding(
            site=site,
            column=name,
            line=table.line_of(min(repeated)),
            kind="duplicate_images",
            message=f"{len(repeated)} rows show the same picture as another row; in a test part "
            "they make a model look better than it is",
            remedy="Keep one row an image. Several images of one patient have the same effect, and "
            "nobody can see it in the files",
        )
