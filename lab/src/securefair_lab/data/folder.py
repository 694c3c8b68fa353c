"""The folder of data sets that are too large for the package, and what is put into it."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from lzma import LZMAError
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from securefair.errors import ConfigError, DataError

DATA_VARIABLE = "SECUREFAIR_DATA"
"""The environment variable that names the folder where no argument does."""


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """A file, or a folder of files, that a loader reads.

    Args:
        name: path below the folder of data sets.
        origin: where its contents come from; docs/data.md has the format and the terms.
    """

    name: str
    origin: str

    def find(self, folder: Path) -> Path:
        """Its path.

        Raises:
            DataError: it is not there; says what to put where.
        """
        path = folder / self.name
        if not path.exists():
            raise DataError(
                "a data set is not there",
                where=str(path),
                hint=f"Put {self.name} there ({self.origin}; format: docs/data.md)",
            )
        return path


def data_folder(given: Path | None = None, environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of data sets: the argument, or else the environment variable's.

    Args:
        given: what the user named (`--data DIR`), or None.
        environ: where SECUREFAIR_DATA is looked up.

    Raises:
        ConfigError: neither names a folder, or what they name is none.
    """
    named = str(given) if given is not None else environ.get(DATA_VARIABLE, "")
    if not named:
        raise ConfigError(
            "no folder of data sets",
            where="--data",
            hint=f"Name it with --data DIR or {DATA_VARIABLE}; docs/data.md says what goes in",
        )
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise ConfigError(
            "not a folder",
            where="--data" if given is not None else DATA_VARIABLE,
            found=named,
            hint="docs/data.md says what belongs in the folder of data sets",
        )
    return folder


def read_arrays(path: Path, *names: str) -> tuple[NDArray[Any], ...]:
    """Named arrays of an .npz file, in the order asked for; nothing is ever unpickled.

    Raises:
        DataError: the file is damaged, or lacks an array.
    """
    try:
        # Given a path, numpy forgets to close a file that is no archive.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            missing = [name for name in names if name not in arrays.files]
            if missing:
                raise DataError(
                    "the file lacks arrays",
                    where=str(path),
                    found=", ".join(arrays.files),
                    expected=", ".join(names),
                )
            return tuple(arrays[name] for name in names)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, LZMAError) as error:
        raise DataError(
            "cannot read the arrays", where=str(path), found=str(error), expected="an .npz file"
        ) from error
