"""A student on disk, and how often its key has opened something.

The file is a keystore with one entry: keys, plan and the linear map from released numbers to
logits. The map depends on the patients' features, the features themselves are not kept.
"""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn, Protocol, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.circuit.schedule import Schedule
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.keys import PublicKeys
from securefair.errors import EncryptionError, LedgerError, StorageError
from securefair.model.reconstruction import Reconstructor
from securefair.storage import Keystore, KeystoreCost, Secret, unlock

Array = NDArray[np.float64]
T = TypeVar("T")

SAVED_FORMAT = 11
ENTRY = "student"

MAX_OPENINGS = 64
"""Answers that one key opens by default. Key recovery through what a student does with opened
values takes some hundred rounds at 5 to 11 bits each (docs/threat-model.md)."""


class NeverPickled:
    """A side of an exchange, whose keys and account `save` keeps and nothing else."""

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refused: a copy would hold secrets in the clear, or an account that begins again.

        Raises:
            StorageError: always.
        """
        raise StorageError(
            "this is not pickled or copied, since secrets would lie in the clear",
            where=type(self).__name__,
            hint="save(path, passphrase) keeps it encrypted, load brings it back",
        )


class LogitMap(msgspec.Struct, frozen=True, kw_only=True):
    """The linear map of a `Reconstructor`, as numbers that can be saved.

    Attributes:
        operator: (B, q) float64, row by row.
        row_scale: (q,) by which the rows of a student's basis were scaled.
        unexplained: expected share of the logits' variance that stays unknown.
    """

    samples: int
    operator: bytes
    row_scale: bytes
    unexplained: float

    @classmethod
    def of(cls, found: Reconstructor, row_scale: Array | None = None) -> LogitMap:
        """The map of a reconstructor."""
        scale = np.ones(found.operator.shape[1]) if row_scale is None else row_scale
        return cls(
            samples=len(found.operator),
            operator=found.operator.astype("<f8").tobytes(),
            row_scale=scale.astype("<f8").tobytes(),
            unexplained=found.unexplained,
        )

    def apply(self, released: Array) -> tuple[Array, Array, float]:
        """Released numbers (q, M) -> the same unscaled, logits (B, M), and the unknown share."""
        scale = np.frombuffer(self.row_scale, dtype="<f8")
        operator = np.frombuffer(self.operator, dtype="<f8").reshape(self.samples, -1)
        unscaled: Array = released / scale[:, None]
        logits: Array = operator @ unscaled
        return unscaled, logits, self.unexplained

    def __repr__(self) -> str:
        return f"LogitMap({self.samples} samples)"


class _Format(msgspec.Struct, frozen=True):
    """What every version of a saved student or teacher says."""

    format: int


class SavedStudent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that opening an answer needs."""

    format: int
    spec: ExchangeSpec
    schedule: Schedule
    backend: str
    seed: bytes
    secret: bytes
    public_key: bytes
    evaluation_keys: bytes
    reconstruction: LogitMap | None
    asked: bytes | None  # check of the last request

    def __repr__(self) -> str:
        """Secrets never print."""
        return "SavedStudent(redacted)"


class Openings(Protocol):
    """How often a key may still open something."""

    @property
    def most(self) -> int | None:
        """The limit of a new key."""

    @property
    def left(self) -> int | None:
        """Openings that are left; None for any number."""

    def count(self) -> None:
        """Count one, before it happens.

        Raises:
            LedgerError: none is left.
        """


class CountedOpenings:
    """A count in memory."""

    def __init__(self, most: int | None) -> None:
        self.most = most
        self._opened = 0

    @property
    def left(self) -> int | None:
        """Openings that are left."""
        return None if self.most is None else self.most - self._opened

    def count(self) -> None:
        """Count one opening."""
        if self.most is not None and self._opened >= self.most:
            raise LedgerError(
                "this key has opened as many answers as it may",
                found=self._opened,
                expected=f"at most {self.most}",
                hint="Student.rotate makes new keys; then request again",
            )
        self._opened += 1


class StoredOpenings:
    """A count in the keystore, which all processes that loaded the student share."""

    def __init__(self, keystore: Keystore) -> None:
        self._keystore = keystore
        self._most = keystore.uses(ENTRY)[1]

    @property
    def most(self) -> int | None:
        """The limit of a new key."""
        return self._most

    @property
    def left(self) -> int | None:
        """Openings that are left."""
        used, most = self._keystore.uses(ENTRY)
        return None if most is None else most - used

    def count(self) -> None:
        """Count one opening, on the disk."""
        self._keystore.use(ENTRY)


def write_student(
    path: Path, passphrase: Secret, state: SavedStudent, left: int | None, cost: KeystoreCost | None
) -> None:
    """A new keystore that holds the student and the openings that are left."""
    secrets = {ENTRY: Secret(bytearray(msgspec.msgpack.encode(state)))}
    Keystore.create(path, passphrase, cost=cost, secrets=secrets, max_uses=left).close()


def read_student(path: Path, passphrase: Secret) -> tuple[Keystore, SavedStudent]:
    """The keystore, and the student in it; reading it counts no opening.

    Raises:
        StorageError: it holds no student, or one of another version.
    """
    keystore = Keystore.open(path, passphrase)
    return keystore, decoded(keystore, SavedStudent, SAVED_FORMAT, party=ENTRY)


def decoded(keystore: Keystore, kind: type[T], version: int, *, party: str) -> T:
    """What a keystore says of a student or teacher.

    Args:
        keystore: an open one.
        kind: what it should hold.
        version: of its format.
        party: "student" or "teacher", which names the entry.

    Raises:
        StorageError: it holds something else, or another version's.
    """
    where = keystore.path
    if party not in keystore.names():
        raise StorageError(f"this keystore holds no {party}", where=str(where))
    written = keystore.peek(party)
    try:
        found = msgspec.msgpack.decode(written.reveal(), type=_Format).format
        if found != version:
            raise StorageError(
                f"this {party} was saved by another version of securefair",
                where=str(where),
                found=f"format {found}",
                expected=f"format {version}",
                hint=f"Open it with the version that saved it, or make a new {party}",
            )
        return msgspec.msgpack.decode(written.reveal(), type=kind)
    except msgspec.MsgspecError as error:
        raise StorageError(f"this keystore holds no {party}", where=str(where)) from error


def path_of(given: object, where: str = "path") -> Path:
    """Where something lies.

    Raises:
        StorageError: it is no path.
    """
    if not isinstance(given, str | Path):
        raise StorageError(
            "this is no path", where=where, found=type(given).__name__, expected="text, or a Path"
        )
    return Path(given)


def unlocked(
    passphrase: str | Secret | None, file: str | Path | None, *, new: bool = False
) -> Secret:
    """The passphrase of a student's or teacher's file, as `storage.unlock` finds it."""
    if not isinstance(passphrase, str | Secret | None):
        raise StorageError(
            "a passphrase is text", where="passphrase", found=type(passphrase).__name__
        )
    place = None if file is None else path_of(file, "passphrase_file")
    return unlock(passphrase, file=place, new=new)


def exported_keys(keys: Secret) -> tuple[PublicKeys, Secret]:
    """What `Student.export_keys` gave: public keys and the secret one.

    Raises:
        EncryptionError: it is something else.
    """
    try:
        encryption, evaluation, secret = msgspec.msgpack.decode(
            keys.reveal(), type=tuple[bytes, bytes, bytes]
        )
    except msgspec.DecodeError as error:
        raise EncryptionError("these are no exported keys") from error
    return PublicKeys.read(encryption, evaluation), Secret(secret)
