"""Compressed tables of the folder of data sets, read by their public rules."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from securefair.data.dataset import Samples
from securefair.data.rows import Row, parse_rows
from securefair.data.table import TableSpec, encode
from securefair.errors import DataError


def read_compressed_rows(path: Path) -> list[Row]:
    """The records of a gzip-compressed CSV file in UTF-8.

    Raises:
        DataError: the file cannot be read or is no such table.
    """
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
            return parse_rows(lines, source=path.name)
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise DataError(
            "cannot read the table", where=str(path), found=str(error), expected="a .csv.gz file"
        ) from error


def read_samples(path: Path, spec: TableSpec) -> Samples:
    """Features (B, d) in [-1, 1] and labels of a compressed table.

    Raises:
        DataError: as `read_compressed_rows` and `table.encode`.
    """
    return encode(read_compressed_rows(path), spec)
