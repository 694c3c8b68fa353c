"""A hospital's model as a folder that only its owner reads.

    model.json           what a prediction needs besides weights (`record`)
    model.safetensors    the weights (`model.stored`)
    extractor-*          the weights of the network that looks at images, where there are any
    card.json, card.md   what the model is, and what it is not (`card`)
    estimates.csv        ratios or differences with intervals, where coefficients have some

Nothing in it is code, and nothing in it is run when it is read.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from securefair.errors import DataError, SecureFairError
from securefair.model.stored import from_bytes, to_bytes
from securefair.prediction.card import ModelCard, markdown
from securefair.prediction.effects import ESTIMATES, ColumnEstimate, estimates_csv
from securefair.prediction.hospital_model import HospitalModel
from securefair.prediction.record import FORMAT, ModelRecord, plain_section, read_section
from securefair.storage.files import PRIVATE_FOLDER, write_private

T = TypeVar("T")

MODELS = "models"
"""Folder of a run that holds a folder for each participant (`securefair.prediction`)."""

RECORD, WEIGHTS, CARD = "model.json", "model.safetensors", "card.json"
MARKDOWN = "card.md"


def folder_name(hospital: str) -> str:
    """The name of a hospital's folder: its own name, but for what no file can be called."""
    safe = "".join(
        f"%{ord(letter):02X}" if letter in "/\\%" or not letter.isprintable() else letter
        for letter in hospital
    )
    return f"%2E{safe[1:]}" if safe.startswith(".") else safe


def save_model(
    model: HospitalModel, folder: Path, *, card: ModelCard, estimates: Sequence[ColumnEstimate] = ()
) -> None:
    """Write the folder; the record, which says that the rest is there, comes last.

    Raises:
        StorageError: the folder cannot be written.
        OSError: it cannot be made.
    """
    folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    weights = to_bytes(model.function)
    record = msgspec.structs.replace(model.record, weights=_digest(weights))
    write_private(folder / WEIGHTS, weights)
    for digest, path in model.extractors.items():
        _keep_extractor(path, folder / _extractor_name(digest), digest)
    write_private(folder / CARD, _json(card))
    write_private(folder / MARKDOWN, markdown(card).encode())
    if estimates:
        told = estimates_csv({model.record.hospital: estimates})
        write_private(folder / ESTIMATES, told.encode())
    plain = msgspec.json.decode(_json(record))
    sealed = msgspec.structs.replace(record, digest=_digest_of_record(plain))
    write_private(folder / RECORD, _json(sealed))


def remove_model(folder: Path) -> None:
    """Remove a stored model, and its folder unless it holds what is not the model's.

    Raises:
        OSError: the folder cannot be written.
    """
    if not (folder / RECORD).is_file():
        return
    (folder / RECORD).unlink()  # first: it says that the rest is there
    for name in (WEIGHTS, CARD, MARKDOWN, ESTIMATES):
        (folder / name).unlink(missing_ok=True)
    for path in folder.glob(_extractor_name("*")):
        path.unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()


def load_model(folder: Path | str) -> HospitalModel:
    """The model in a folder that a finished run left, such as `runs/demo/models/north`.

    Raises:
        DataError: there is none, a file is damaged, or it is of another version of securefair.
    """
    if not isinstance(folder, str | Path):
        raise DataError(
            "a model is named by its folder",
            where="folder",
            found=type(folder).__name__,
            expected="a path, such as RUN/models/HOSPITAL",
        )
    folder = Path(folder)
    record = _record(folder)
    weights = _read(folder / WEIGHTS)
    if _digest(weights) != record.weights:
        raise DataError(
            "the weights are not those that the model was stored with", where=str(folder / WEIGHTS)
        )
    images = () if record.table is None else record.table.images
    extractors = {rule.sha256: folder / _extractor_name(rule.sha256) for rule in images}
    return HospitalModel(record, from_bytes(weights, where=str(folder / WEIGHTS)), extractors)


def load_card(folder: Path | str) -> ModelCard:
    """The card of a stored model.

    Raises:
        DataError: it is missing or damaged.
    """
    path = Path(folder) / CARD
    return _decoded(_read(path), ModelCard, path)


def _extractor_name(digest: str) -> str:
    return f"extractor-{digest[:16]}.weights"


def _keep_extractor(path: Path, target: Path, digest: str) -> None:
    """Put the weights of an extractor beside the model: its own are not those of another day."""
    if target.exists() and _digest(_read(target)) == digest:
        return
    content = _read(path)
    if _digest(content) != digest:
        raise DataError(
            "the weights of the extractor were changed", where=str(path), expected=digest
        )
    write_private(target, content)


def _record(folder: Path) -> ModelRecord:
    if not (folder / RECORD).exists():
        raise DataError(
            "this is no folder of a model",
            where=str(folder),
            found=_instead(folder),
            expected=f"a folder with {RECORD}, such as RUN/models/HOSPITAL",
        )
    data = _read(folder / RECORD)
    plain = _decoded(data, dict[str, Any], folder / RECORD)
    version = plain.get("format")
    if version != FORMAT:
        raise DataError(
            "the model was stored by another version of securefair",
            where=str(folder / RECORD),
            found=version,
            expected=FORMAT,
        )
    if plain.get("digest") != _digest_of_record(plain):
        raise DataError(
            "the record of the model was changed after it was stored",
            where=str(folder / RECORD),
            hint="Restore the file from a backup, or run the collaboration again",
        )
    return _decoded(data, ModelRecord, folder / RECORD)


def _digest_of_record(plain: Mapping[str, Any]) -> str:
    """SHA-256 of a record as JSON with sorted keys, but for the digest itself."""
    said = {key: value for key, value in plain.items() if key != "digest"}
    return _digest(msgspec.json.encode(said, order="sorted"))


def _instead(folder: Path) -> str:
    """What a wrong folder is, for the hint of an error."""
    for models, text in (
        (folder / "models", "a run with models of {}"),
        (folder / "results" / "models", "a site; in results/models: {}"),
        (folder, "models of {}"),
        (folder.parent, "nothing; beside it: {}"),
    ):
        if models.name == "models" and models.is_dir():
            return text.format(", ".join(sorted(path.name for path in models.iterdir())))
    if folder.name in (RECORD, WEIGHTS) and folder.is_file():
        return f"a file of the model; its folder is {folder.parent}"
    if (folder / "metrics.json").exists():
        return "a run that kept no models"
    return "a folder" if folder.is_dir() else "a file" if folder.exists() else "nothing"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(
            "the model cannot be read", where=str(path), found=error.strerror
        ) from error


def _decoded(data: bytes, kind: type[T], path: Path) -> T:
    try:
        return msgspec.json.decode(data, type=kind, dec_hook=read_section)
    except (msgspec.MsgspecError, SecureFairError) as error:
        raise DataError(
            "this is not the record it should be", where=str(path), found=str(error)
        ) from error


def _json(record: object) -> bytes:
    plain = msgspec.json.encode(record, enc_hook=plain_section)
    return msgspec.json.format(plain, indent=2) + b"\n"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
