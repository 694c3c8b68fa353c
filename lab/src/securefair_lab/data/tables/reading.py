"""Compressed tables of the folder of data sets, read by their public rules."""

from __future__ import annotations

from pathlib import Path

from securefair.data import Samples, TableSpec, encode, read_rows


def read_samples(path: Path, spec: TableSpec) -> Samples:
    """Features (B, d) in [-1, 1] and labels of a compressed table.

    Raises:
        DataError: as `read_rows` and `table.encode`.
    """
    return encode(read_rows(path), spec)
