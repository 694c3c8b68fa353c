"""What a run has finished so far, on disk, so that a later process can go on with it.

A run writes into `OUT/unfinished/`, and removes that folder when its results are written:

    config.toml                      the resolved configuration
    checkpoint.json                  what the run depends on besides: its data and software
    seed-S.ALGORITHM.*               how far an algorithm of a seed has come (`run.entry`)
    finished                         stands there once the run has come to its end

Participants that exchange bytes have their stores there, as sites have, and their keys in them:
this process has everybody's data besides. Folders are for their owner only, and go with the run.
"""

from __future__ import annotations

import contextlib
import hashlib
import shlex
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from securefair.collaboration.kinds import toml_of
from securefair.config import RunConfig, load_config, parse_config
from securefair.data import ParticipantData
from securefair.errors import ConfigError, DataError, SecureFairError
from securefair.report import read_json, write_json, write_text
from securefair.run.entry import HEARD, Entry

if TYPE_CHECKING:
    from securefair.model.heads import Head

FOLDER = "unfinished"
FORMAT = 7

FINISHED = "finished"
"""File in it of a run that came to its end."""

DERIVED = frozenset({"distillation.q"})
"""Keys that follow from the data where a call does not give them."""


ONCE = {"run.metric": "log_loss"}
"""Defaults that 0.2.0 wrote down, and that say what is meant where nothing is said."""


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
        _drop(folder)
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
        path = folder / "config.toml"  # one of 0.2.0 has other keys
        began = toml_of(parse_config(path.read_text("utf-8"), source=str(path)))
        other = {
            key: (before, now)
            for key, (before, now) in _differing(began, settings).items()
            if now is not None or ONCE.get(key, now) != before
        }
        # First, as other seeds and parts bring other samples; but a key that follows from data.
        if set(other) - DERIVED:
            raise _other_settings(folder, other)
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
                hint="Bring the data that it began with, or begin anew in another folder",
            )
        if other:
            raise _other_settings(folder, other)
        return cls(folder, resumed=True)

    def entry(self, seed: int, algorithm: str) -> Entry:
        """What is known of one algorithm of one seed.

        Raises:
            DataError: a file is damaged.
        """
        entry = Entry(self.folder / f"seed-{seed}.{algorithm}")
        entry.load()
        return entry

    def heard(self, seed: int, algorithm: str) -> Path:
        """File of one byte for each round of an algorithm that callbacks have heard of."""
        return self.folder / f"seed-{seed}.{algorithm}.{HEARD}"

    def finish(self) -> None:
        """Mark that the run has come to its end, and waits for its results to be written only."""
        with contextlib.suppress(OSError):  # a full disk must not cost the results
            write_text(self.folder / FINISHED, "")

    def remove(self) -> None:
        """The results are written, or there will be none: nothing is left to go on with."""
        _drop(self.folder)
        out = self.folder.parent
        if not any(out.iterdir()):
            out.rmdir()


def _drop(folder: Path) -> None:
    """Remove what checkpoints write, and the folder too unless it holds what is not theirs."""
    written = [
        folder / "config.toml",  # first: without it nobody goes on with the rest
        folder / FINISHED,
        *folder.glob("seed-[0-9]*.*"),
        *folder.glob(".*.tmp"),  # a process was killed as it wrote
        folder / "checkpoint.json",
    ]
    for path in written:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


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


def resume_command(out: Path) -> str:
    """The command that goes on with the interrupted run in a folder, as a shell takes it."""
    trusts = False
    with contextlib.suppress(SecureFairError):  # of another version, or damaged: resume says so
        trusts = unfinished_config(out).needs_trust
    return f"securefair resume {shlex.quote(str(out))}{' --trust' * trusts}"


def is_unfinished(out: Path) -> bool:
    """Whether a folder of results holds an interrupted run."""
    return (out / FOLDER / "config.toml").exists()


def is_finished(out: Path) -> bool:
    """Whether a folder holds a finished run, whatever its version."""
    return (out / "metrics.json").exists() and (out / "config.toml").exists()


def is_run(out: Path) -> bool:
    """Whether a folder is one of a run, finished or not: only its files may be replaced."""
    if is_unfinished(out) or is_finished(out):
        return True
    # What a crash may leave of a beginning, or of the end.
    begun = out / FOLDER
    left = [one.name for one in begun.iterdir()] if begun.is_dir() else None
    return left is not None and (
        "checkpoint.json" in left
        or ([one.name for one in out.iterdir()] == [FOLDER] and all(map(_is_part, left)))
    )


def _is_part(name: str) -> bool:
    return name.startswith(".") and name.endswith(".tmp")


def is_interrupted(out: Path) -> bool:
    """Whether the run that is unfinished there has not come to its end."""
    return is_unfinished(out) and not (out / FOLDER / FINISHED).exists()


def _differing(began: str, now: str) -> dict[str, tuple[object, object]]:
    """Keys of two files that differ, with both values."""
    first, second = (_flat(tomllib.loads(text)) for text in (began, now))
    return {
        key: (first.get(key), second.get(key))
        for key in sorted(first | second)
        if first.get(key) != second.get(key)
    }


def _flat(table: Mapping[str, object], above: str = "") -> dict[str, object]:
    """Values by dotted keys."""
    found: dict[str, object] = {}
    for key, value in table.items():
        found |= _flat(value, f"{above}{key}.") if isinstance(value, dict) else {above + key: value}
    return found


def _other_settings(folder: Path, other: Mapping[str, tuple[object, object]]) -> ConfigError:
    return ConfigError(
        "the run that was interrupted has other settings",
        where=str(folder),
        found=", ".join(f"{key} {now}" for key, (_, now) in other.items()),
        expected=", ".join(f"{key} {began}" for key, (began, _) in other.items()),
        hint="Call it with the same settings, or begin anew in another folder",
    )


def _fingerprint(folder: Path) -> Fingerprint:
    path = folder / "checkpoint.json"
    found = read_json(path, _Format).format if path.exists() else "one without a checkpoint.json"
    if found != FORMAT:
        raise DataError(
            "the checkpoint is of another version of securefair",
            where=str(folder),
            found=f"format {found}",
            expected=f"format {FORMAT}",
            hint="Finish it with the version that began it, or begin anew in another folder",
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
