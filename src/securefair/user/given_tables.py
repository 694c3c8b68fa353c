"""Tables as they are named on a command line -> participants."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from securefair.config import ParticipantSection
from securefair.data import read_rows
from securefair.data.databases import DatabaseQuery, is_query
from securefair.errors import ConfigError, DataError


def named_table(table: Path | str) -> ParticipantSection:
    """A table as it stands on a command line: FILE, NAME=FILE, or NAME and the query of a database.

    Raises:
        ConfigError: it is none of these.
        DataError: what looks like a query names no table of a database.
    """
    named = re.match(r"^([^=:/?]+)=(?=duckdb:|[A-Za-z][\w+]*://)(.*)$", str(table), re.DOTALL)
    if named is not None:
        return ParticipantSection(
            name=named[1], data=str(DatabaseQuery.parse(named[2]) and named[2])
        )
    if (
        isinstance(table, str)
        and re.fullmatch(r"[^=/\\]+=|=.+", table)
        and not Path(table).exists()
    ):
        raise ConfigError(
            "a table needs a name and a file", where="--data", found=table, expected="NAME=FILE"
        )
    of_file = re.match(r"^([^=:/\\?]+)=(.+)$", str(table))
    if of_file is not None and not Path(table).exists():
        return ParticipantSection(name=of_file[1], file=Path(of_file[2]))
    if isinstance(table, str) and is_query(table):
        DatabaseQuery.parse(table)  # which refuses what is no query at all
        raise ConfigError(
            "a query needs a name for its hospital",
            where="--data",
            found=table[:40],
            hint=f"--data 'north={table[:20]}...'",
        )
    if Path(table).is_dir():
        raise ConfigError("a table is a file", where="--data", found=f"the folder {table}")
    return ParticipantSection(name=_stem(Path(table)), file=Path(table))


def check_column(tables: Sequence[Path | str], column: str) -> None:
    """See that every table has a column, before what looks at it is loaded.

    Raises:
        ConfigError, DataError: a table cannot be read, or has no such column.
    """
    for one in map(named_table, tables):
        rows = read_rows(one.source)
        if column not in rows.columns:
            raise DataError(
                "the table has no such column",
                where=f"participant {one.name}, {rows.source}",
                found=", ".join(rows.columns),
                expected=column,
            )


KEPT = 64
"""Features of an image, unless somebody says else."""


def image_column(
    name: str, architecture: str | None, weights: Path | None, features: int | None
) -> dict[str, object]:
    """The settings of a column of images, with the hash of its extractor's weights.

    Raises:
        ConfigError: there are no weights.
        DataError: the weights cannot be read.
        BackendUnavailableError: those that come with the extra `vision` are not installed.
    """
    from securefair.model.extractor import lite0_weights  # torch, which tables do not need
    from securefair.model.image_columns import LITE0, weights_digest

    architecture, features = architecture or LITE0, features or KEPT
    if weights is None and architecture != LITE0:
        raise ConfigError(
            "this network needs its weights", where="--weights", expected="a .safetensors file"
        )
    return {
        "name": name,
        "kind": "image",
        "architecture": architecture,
        "sha256": weights_digest(weights or lite0_weights()),
        "features": features,
    } | ({} if weights is None else {"weights": str(weights)})


def relative_to(one: ParticipantSection, back: Path) -> ParticipantSection:
    """The same with paths as they are seen from the project's folder."""
    found = one.in_folder(back)
    if found.file is None or (one.file is not None and one.file.is_absolute()):
        return one if one.file is not None else found
    return found.model_copy(update={"file": Path(os.path.normpath(found.file))})


def plain(one: ParticipantSection) -> dict[str, object]:
    """A participant as a configuration writes it."""
    return one.model_dump(mode="json", exclude_none=True)


def _stem(path: Path) -> str:
    """The name of a table without its endings: north of north.csv.gz."""
    return path.with_suffix("").stem if path.suffix == ".gz" else path.stem
