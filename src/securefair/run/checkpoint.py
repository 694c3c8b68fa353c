"""What a run has finished so far, on disk, so that a later process can go on with it.

A run writes into `OUT/unfinished/`, and removes that folder when its results are written:

    config.toml                      the resolved configuration
    checkpoint.json                  what the run depends on besides: its data and software
    seed-S.ALGORITHM.*               how far an algorithm of a seed has come (`run.entry`)

Participants that exchange bytes have their stores there, as sites have, and their keys in them:
this process has everybody's data besides. Folders are for their owner only, and go with the run.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from securefair.collaboration.kinds import toml_of
from securefair.config import RunConfig, load_config, parse_config
from securefair.data import ParticipantData
from securefair.errors import ConfigError, DataError
from securefair.report import read_json, write_json, write_text
from securefair.run.entry import Entry

if TYPE_CHECKING:
    from securefair.model.heads import Head

FOLDER = "unfinished"
FORMAT = 7


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    """What a run depends on besides its configuration.

    Attributes:
        format: format of the checkpoint.
        data: digest of every participant's samples, by seed.
        models: digest of the models that everyone starts from; empty where they are drawn.
        versions: versions of the software.
    """

    format: int
    data: dict[str, str]
    models: str
    versions: dict[str, str]


class _Format(msgspec.Struct, frozen=True):
    """What every version of a fingerprint says."""

    format: int


@dataclass(eq=False)
class Checkpoint:
    """The unfinished part of one folder of results."""

    folder: Path
    resumed: bool

    @classmethod
    def begin(
        cls,
        out: Path,
        settings: str,
        data: Mapping[int, Sequence[ParticipantData]],
        models: Mapping[str, Head] | None,
        versions: Mapping[str, str],
    ) -> Checkpoint:
        """Start a checkpoint in a folder of results, dropping an older one.

        Args:
            out: folder of the results.
            settings: the resolved configuration as a file (`toml_of`).
            data: of everyone, by seed.
            models: that everyone starts from; None: as the configuration says.
            versions: versions of the software.

        Raises:
            OSError: the folder cannot be written.
        """
        folder = out / FOLDER
        shutil.rmtree(folder, ignore_errors=True)
        fingerprint = Fingerprint(
            format=FORMAT,
            data=_digests(data),
            models=_digest_of_models(models),
            versions=dict(versions),
        )
        write_json(folder / "checkpoint.json", fingerprint)
        write_text(folder / "config.toml", settings)  # last: whoever sees it sees all
        return cls(folder, resumed=False)

    @classmethod
    def resume(
        cls,
        out: Path,
        settings: str,
        data: Mapping[int, Sequence[ParticipantData]],
        models: Mapping[str, Head] | None,
        versions: Mapping[str, str],
    ) -> Checkpoint:
        """Take up the checkpoint of an interrupted run; arguments as of `begin`.

        Raises:
            ConfigError: there is none, or it is of other settings.
            DataError: it is damaged, or of another version of its format; or data or models are not
                what they were.
        """
        del versions  # they may change: states say themselves whether they fit
        folder = out / FOLDER
        unfinished_config(out)  # which says so if there is none
        known = _fingerprint(folder)
        if known.models != _digest_of_models(models):
            raise DataError(
                "the models changed since the run was interrupted: going on would mix two runs",
                where=str(folder),
                hint="Begin anew with the models of now",
            )
        if known.data != _digests(data):
            raise DataError(
                "the data changed since the run was interrupted: going on would mix two runs",
                where=str(folder),
                hint="Run again from the start: securefair run with --restart",
            )
        path = folder / "config.toml"  # one of an earlier version holds more keys
        known_config = parse_config(path.read_text("utf-8"), source=str(path))
        if toml_of(known_config) != settings:
            raise ConfigError(
                "the run that was interrupted has other settings",
                where=str(folder),
                hint="Call it with the same settings, or begin anew in another folder",
            )
        return cls(folder, resumed=True)

    def entry(self, seed: int, algorithm: str) -> Entry:
        """What is known of one algorithm of one seed.

        Raises:
            DataError: a file is damaged.
        """
        entry = Entry(self.folder / f"seed-{seed}.{algorithm}")
        entry.load()
        return entry

    def remove(self) -> None:
        """The results are written, or there will be none: nothing is left to go on with."""
        shutil.rmtree(self.folder)
        out = self.folder.parent
        if not any(out.iterdir()):
            out.rmdir()


def unfinished_config(out: Path) -> RunConfig:
    """The configuration of the interrupted run in a folder of results.

    Raises:
        ConfigError: there is no interrupted run.
    """
    path = out / FOLDER / "config.toml"
    if not path.exists():
        finished = (out / "metrics.json").exists()
        raise ConfigError(
            "there is no interrupted run in this folder",
            where=str(out),
            found="a finished run" if finished else "nothing to go on with",
            hint=f"Its report: securefair report {out}" if finished else "Name the folder of a run",
        )
    return load_config(path)


def is_unfinished(out: Path) -> bool:
    """Whether a folder of results holds an interrupted run."""
    return (out / FOLDER / "config.toml").exists()


def _fingerprint(folder: Path) -> Fingerprint:
    path = folder / "checkpoint.json"
    found = read_json(path, _Format).format if path.exists() else "one without a checkpoint.json"
    if found != FORMAT:
        raise DataError(
            "the checkpoint is of another version of securefair",
            where=str(folder),
            found=f"format {found}",
            expected=f"format {FORMAT}",
            hint="Finish it with the version that began it, or begin anew: securefair run with "
            "--restart",
        )
    return read_json(path, Fingerprint)


def _digests(data: Mapping[int, Sequence[ParticipantData]]) -> dict[str, str]:
    return {str(seed): _digest(everyone) for seed, everyone in data.items()}


def _digest(everyone: Sequence[ParticipantData]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for own in everyone:
        digest.update(repr((own.name, own.train.classes)).encode())
        for one in (*own.earlier, own):
            for part in (one.train, one.test):
                for array in (part.features, part.labels):
                    digest.update(repr((array.shape, array.dtype.str)).encode())
                    digest.update(array.tobytes())
    return digest.hexdigest()


def _digest_of_models(models: Mapping[str, Head] | None) -> str:
    from securefair.collaboration.state import encode_state  # torch, which few runs bring

    digest = hashlib.blake2b(digest_size=16)
    for name, model in sorted((models or {}).items()):
        digest.update(repr((name, type(model).__name__)).encode())
        digest.update(encode_state(dict(model.state_dict())))
    return digest.hexdigest() if models else ""
