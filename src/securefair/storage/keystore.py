"""Secrets at rest: one file of named secrets, encrypted and authenticated under a passphrase.

    header   magic and version | scrypt's log2 n, r, p | salt (16) | nonce (12)
    box      ChaCha20-Poly1305 over the entries; the header is authenticated with it

Key: scrypt (RFC 7914) of the passphrase, 32 bytes; by default n = 2^17, r = 8: 128 MiB and about
half a second a guess. Every writing draws a new nonce. A changed byte, header included, and a wrong
passphrase look alike: the file does not open.

An entry counts its uses, and may allow only so many. The count is on the disk before the secret is
handed out, so no crash and no second process makes one use too many. Somebody who can put an old
copy of the file back can set the count back as well: it protects against the peers that a key is
used with, not against its owner.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from pathlib import Path

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from securefair.errors import LedgerError, StorageError
from securefair.storage.files import locked_folder, read_private, write_private
from securefair.storage.secret import Secret, no_core_file

_MAGIC = b"SFKEYS\x00\x01"
_HEADER = struct.Struct("<8sBBB16s12s")
_KEY_BYTES = 32
_IDENTITY = "NAME.keys, which `securefair identity new` wrote"
_KIND = 6
"""Bytes of the magic before its version."""


class KeystoreCost(msgspec.Struct, frozen=True, kw_only=True):
    """What one guess at a passphrase costs: 128 r 2^log2_n bytes of memory.

    Raises:
        StorageError: out of range; a file that asks for gigabytes is refused before any work.
    """

    log2_n: int = 17
    r: int = 8
    p: int = 1

    def __post_init__(self) -> None:
        if not (1 <= self.log2_n <= 20 and 1 <= self.r <= 16 and 1 <= self.p <= 8):
            raise StorageError(
                "the cost of a passphrase is out of range",
                found=f"log2 n {self.log2_n}, r {self.r}, p {self.p}",
                expected="1 to 20, 1 to 16, 1 to 8",
            )


DEFAULT_COST = KeystoreCost()
"""Of a keystore whose maker says nothing else."""


class _Entry(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    secret: bytes
    uses: int
    max_uses: int | None

    def __repr__(self) -> str:
        return "_Entry(redacted)"


_Entries = dict[str, _Entry]


def check_keystore(path: Path, expected: str = _IDENTITY, hint: str | None = None) -> None:
    """See that a file begins as a keystore does, before anybody types a passphrase for it.

    Args:
        path: of the file.
        expected, hint: what it is called that should lie there, and what to do without one.

    Raises:
        StorageError: it is missing, cannot be read, or is something else.
    """
    try:
        # A pipe is not waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            start = file.read(_KIND)
    except OSError as error:
        raise StorageError(
            "the keystore cannot be read", where=str(path), found=error.strerror, hint=hint
        ) from error
    if start != _MAGIC[:_KIND]:
        raise StorageError(
            "this is not a keystore",
            where=str(path),
            found="another kind of file" if start else "an empty file",
            expected=expected,
            hint=hint,
        )


class Keystore:
    """A file of named secrets that a passphrase has opened. It prints nothing of them.

    The key that the passphrase gives is kept, so that entries can change; the secrets are read from
    the file whenever they are asked for. Several processes may use one file.
    """

    def __init__(self, path: Path, key: Secret, cost: KeystoreCost, salt: bytes) -> None:
        no_core_file()
        self.path = path
        self._key = key
        self._cost = cost
        self._salt = salt

    @classmethod
    def create(
        cls,
        path: Path,
        passphrase: Secret,
        *,
        cost: KeystoreCost | None = None,
        secrets: Mapping[str, Secret] | None = None,
        max_uses: int | None = None,
    ) -> Keystore:
        """A new file of mode 0600, whole or not there.

        Args:
            path: of the file, which must not exist.
            passphrase: that opens it.
            cost: of a guess at the passphrase.
            secrets: its first entries, by name; none by default.
            max_uses: of each of them, as for `put`.

        Raises:
            StorageError: the file exists, or cannot be written.
        """
        first = {name: _entry(secret, max_uses) for name, secret in (secrets or {}).items()}
        cost = DEFAULT_COST if cost is None else cost
        salt = Secret.random(16).reveal()
        store = cls(path, _derive(passphrase, cost, salt), cost, salt)
        with locked_folder(path.parent):
            if path.exists():
                raise StorageError(
                    "this file exists already",
                    where=str(path),
                    hint="Keys are never overwritten: choose another name, or remove it yourself",
                )
            store._write(first)
        return store

    @classmethod
    def open(cls, path: Path, passphrase: Secret) -> Keystore:
        """Open a file.

        Raises:
            StorageError: missing, readable by others, not a keystore, of a newer version, damaged,
                or the passphrase is wrong.
        """
        cost, salt, _, _ = _split(path, read_private(path, "the keystore"))
        store = cls(path, _derive(passphrase, cost, salt), cost, salt)
        store._read()
        return store

    def names(self) -> list[str]:
        """The names of all entries, sorted."""
        return sorted(self._read())

    def put(
        self, name: str, secret: Secret, *, max_uses: int | None = None, replace: bool = False
    ) -> None:
        """Add a secret.

        Args:
            name: of the entry.
            secret: what to keep.
            max_uses: how often `use` may hand it out, 0 or more; None: always.
            replace: take the place of an entry of that name, and begin to count at 0.

        Raises:
            StorageError: there is such an entry, or the file cannot be written.
        """
        added = _entry(secret, max_uses)
        with locked_folder(self.path.parent):
            entries = self._read()
            if name in entries and not replace:
                raise StorageError("there is such a key already", where=str(self.path), found=name)
            self._write({**entries, name: added})

    def get(self, name: str) -> Secret:
        """A secret, without counting a use: for keys that have no limit.

        Raises:
            StorageError: there is none, or its uses are limited.
        """
        if self.uses(name)[1] is not None:
            raise StorageError("the uses of this key are counted", where=str(self.path), found=name)
        return self.peek(name)

    def peek(self, name: str) -> Secret:
        """A secret, limited or not: for a caller that counts each use itself, by `use`.

        Raises:
            StorageError: there is none.
        """
        return Secret(self._entry(self._read(), name).secret)

    def use(self, name: str) -> Secret:
        """A secret, after its use was counted on the disk.

        Raises:
            LedgerError: it was used as often as it may be.
            StorageError: there is no such entry, or the file cannot be written.
        """
        with locked_folder(self.path.parent):
            entries = self._read()
            entry = self._entry(entries, name)
            if entry.max_uses is not None and entry.uses >= entry.max_uses:
                raise LedgerError(
                    "this key was used as often as it may be",
                    where=name,
                    found=entry.uses,
                    expected=f"at most {entry.max_uses}",
                    hint="Make a new key, and send its public part",
                )
            used = _Entry(entry.secret, entry.uses + 1, entry.max_uses)
            self._write({**entries, name: used})
        return Secret(entry.secret)

    def uses(self, name: str) -> tuple[int, int | None]:
        """How often a secret was handed out, and how often it may be.

        Raises:
            StorageError: there is no such entry.
        """
        entry = self._entry(self._read(), name)
        return entry.uses, entry.max_uses

    def delete(self, name: str) -> None:
        """Forget a secret; no error if it is not there.

        The old file is replaced, not overwritten: a disk may keep its blocks for some time, still
        encrypted under the passphrase.
        """
        with locked_folder(self.path.parent):
            entries = self._read()
            if entries.pop(name, None) is not None:
                self._write(entries)

    def change_passphrase(self, passphrase: Secret, *, cost: KeystoreCost | None = None) -> None:
        """Encrypt the entries under another passphrase. Copies of the old file keep the old one.

        Raises:
            StorageError: as `write_private`; then open the file anew, by the passphrase it has.
        """
        with locked_folder(self.path.parent):
            entries = self._read()
            self._cost = self._cost if cost is None else cost
            self._salt = Secret.random(16).reveal()
            self._key = _derive(passphrase, self._cost, self._salt)
            self._write(entries)

    def close(self) -> None:
        """Overwrite the key in memory; the object is of no use afterwards."""
        self._key.clear()

    def __repr__(self) -> str:
        """Where it is, not what is in it."""
        return f"Keystore({str(self.path)!r})"

    def _entry(self, entries: _Entries, name: str) -> _Entry:
        try:
            return entries[name]
        except KeyError:
            raise StorageError("there is no such key", where=str(self.path), found=name) from None

    def _read(self) -> _Entries:
        cost, salt, header, box = _split(self.path, read_private(self.path, "the keystore"))
        nonce = header[-12:]
        try:
            if (cost, salt) != (self._cost, self._salt) or not self._key:
                raise InvalidTag
            plain = ChaCha20Poly1305(self._key.reveal()).decrypt(nonce, box, header)
            return msgspec.msgpack.decode(plain, type=_Entries)
        except (InvalidTag, msgspec.MsgspecError) as error:
            raise StorageError(
                "the keystore does not open",
                where=str(self.path),
                hint="The passphrase is wrong, or the file was changed",
            ) from error

    def _write(self, entries: _Entries) -> None:
        nonce = Secret.random(12).reveal()
        cost = self._cost
        header = _HEADER.pack(_MAGIC, cost.log2_n, cost.r, cost.p, self._salt, nonce)
        plain = bytearray(msgspec.msgpack.encode(entries))
        box = ChaCha20Poly1305(self._key.reveal()).encrypt(nonce, bytes(plain), header)
        plain[:] = bytes(len(plain))
        write_private(self.path, header + box)


def _entry(secret: Secret, max_uses: int | None) -> _Entry:
    """An entry that was never used."""
    if max_uses is not None and not max_uses >= 0:
        raise StorageError("not a number of uses", found=max_uses, expected="0 or more")
    return _Entry(secret.reveal(), 0, max_uses)


def _derive(passphrase: Secret, cost: KeystoreCost, salt: bytes) -> Secret:
    """The key of a file, 32 bytes."""
    kdf = Scrypt(salt=salt, length=_KEY_BYTES, n=2**cost.log2_n, r=cost.r, p=cost.p)
    return Secret(kdf.derive(passphrase.reveal()))


def _split(path: Path, data: bytes) -> tuple[KeystoreCost, bytes, bytes, bytes]:
    """A file's cost, salt, header and box."""
    magic = data[: len(_MAGIC)]
    if magic[:-1] != _MAGIC[:-1] or len(data) < _HEADER.size:
        raise StorageError("this is not a keystore", where=str(path))
    if magic != _MAGIC:
        raise StorageError(
            "this keystore was written by another version of securefair",
            where=str(path),
            found=f"format {magic[-1]}",
            expected=f"format {_MAGIC[-1]}",
        )
    _, log2_n, r, p, salt, _ = _HEADER.unpack_from(data)
    header, box = data[: _HEADER.size], data[_HEADER.size :]
    return KeystoreCost(log2_n=log2_n, r=r, p=p), salt, header, box
