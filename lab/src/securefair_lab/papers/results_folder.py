"""The folder of one reproduction: what it belongs to, and the files of its runs.

    experiment.json             what is run, and by which code
    runs/LABEL-KEY-sSEED.*      a run (`run.entry`), and where it was made (.origin.json)

Results of another experiment or of other code are never mixed in.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from securefair.errors import ConfigError, DataError
from securefair.report import read_json, write_json
from securefair.run import Entry
from securefair_lab.papers.experiment import Contender, Experiment, Size
from securefair_lab.papers.origin import Origin

FINGERPRINT = "experiment.json"
FORMAT = 2


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    """What a folder of runs belongs to.

    Attributes:
        format: of the folder.
        device: results differ in their last digits, and a snapshot belongs to its device.
        code: digest of the code that decides the results.
    """

    format: int
    experiment: str
    size: Size
    seeds: int
    device: str
    code: str

    @classmethod
    def of(cls, experiment: Experiment, size: Size, seeds: int, device: str) -> Fingerprint:
        """By the code of now."""
        return cls(
            format=FORMAT,
            experiment=experiment.name,
            size=size,
            seeds=seeds,
            device=device,
            code=experiment.code(size),
        )

    @property
    def words(self) -> str:
        """For a message; code is told apart from the rest."""
        return f"{self.experiment}, {self.size}, {self.seeds} seeds, {self.device}"


class _Format(msgspec.Struct, frozen=True):
    """What every version of a fingerprint may say."""

    format: int = 1


def read_fingerprint(folder: Path) -> Fingerprint:
    """Of a folder of results.

    Raises:
        DataError: it holds no reproduction, or one of another version of securefair.
    """
    path = folder / FINGERPRINT
    if not path.is_file():
        raise DataError(
            "this is no folder of a reproduction",
            where=str(folder),
            expected=f"a folder with {FINGERPRINT}",
            hint="Name the --out of `securefair reproduce`",
        )
    found = read_json(path, _Format).format
    if found != FORMAT:
        raise DataError(
            "the results are of another version of securefair",
            where=str(folder),
            found=f"format {found}",
            expected=f"format {FORMAT}",
            hint="Finish them with the version that began them, or choose another --out",
        )
    return read_json(path, Fingerprint)


def claim_folder(out: Path, mine: Fingerprint, *, resume: bool) -> None:
    """Make a folder this reproduction's own.

    Raises:
        ConfigError: it holds another one, results of other code, or this one and `resume` is off.
        DataError: it is of another version of securefair.
    """
    path = out / FINGERPRINT
    if path.exists():
        theirs = read_fingerprint(out)
        check_same(theirs, mine, out)
        if not resume:
            raise ConfigError(
                "the folder holds this experiment already",
                where=str(out),
                hint="Add --resume to go on with it, or choose another --out",
            )
    write_json(path, mine)


def check_same(theirs: Fingerprint, mine: Fingerprint, where: Path) -> None:
    """Refuse to mix results.

    Raises:
        ConfigError: of another experiment, or of other code.
    """
    if theirs.words != mine.words:
        raise ConfigError(
            "the folder holds another experiment",
            where=str(where),
            found=theirs.words,
            expected=mine.words,
            hint="Choose another --out",
        )
    if theirs.code != mine.code:
        raise ConfigError(
            "the folder holds results of other code: their numbers cannot be compared",
            where=str(where),
            found=f"code {theirs.code}",
            expected=f"code {mine.code}",
            hint="Use the version that made them, or choose another --out and run all again",
        )


def run_name(contender: Contender, seed: int) -> str:
    """Of the files of one run."""
    return f"{contender.label}-{contender.key}-s{seed}"


def entry_of(folder: Path, contender: Contender, seed: int) -> Entry:
    """What is known of one run.

    Raises:
        DataError: a file of it is damaged.
    """
    entry = Entry(folder / run_name(contender, seed))
    entry.load()
    return entry


def run_files(folder: Path, contender: Contender, seed: int) -> list[Path]:
    """Of one run, as far as they are there; its state is the last."""
    return [
        file
        for name in ("origin.json", "rounds.jsonl", "state")
        if (file := folder / f"{run_name(contender, seed)}.{name}").exists()
    ]


def add_origin(folder: Path, contender: Contender, seed: int, here: Origin) -> None:
    """Note that a run was made here, too: an interrupted one may have several origins."""
    known = origins_of(folder, contender, seed)
    if here not in known:
        write_json(_origin_file(folder, contender, seed), [*known, here])


def origins_of(folder: Path, contender: Contender, seed: int) -> Sequence[Origin]:
    """Where a run was made.

    Raises:
        DataError: the file is damaged.
    """
    path = _origin_file(folder, contender, seed)
    return read_json(path, list[Origin]) if path.exists() else []


def _origin_file(folder: Path, contender: Contender, seed: int) -> Path:
    return folder / f"{run_name(contender, seed)}.origin.json"
