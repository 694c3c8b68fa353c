"""Where a passphrase comes from, so that a restart needs no keyboard."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path

from securefair.errors import StorageError
from securefair.storage.files import read_private
from securefair.storage.secret import Secret

CREDENTIAL = "securefair-passphrase"
"""Name of the credential: `LoadCredentialEncrypted=securefair-passphrase` in a unit."""

CREDENTIALS_DIRECTORY = "CREDENTIALS_DIRECTORY"
"""Variable in which systemd names the folder of a service's credentials."""

MAX_BYTES = 4096


def unlock(
    passphrase: str | Secret | None = None,
    *,
    file: Path | None = None,
    credential: str = CREDENTIAL,
    environ: Mapping[str, str] | None = None,
    ask: Callable[[], str] | None = None,
) -> Secret:
    """A passphrase from the first of these places that was given.

    Args:
        passphrase: itself.
        file: a file that only its owner may read; a line break at its end does not count.
        credential: name of a credential that systemd keeps for this service.
        environ: in which `CREDENTIALS_DIRECTORY` is looked up; None: of this process.
        ask: asks a person; the last resort, for a terminal.

    Raises:
        StorageError: none was given, it is empty, or others may read the file.
    """
    if isinstance(passphrase, Secret):
        return _checked(passphrase.reveal(), "passphrase")
    if passphrase is not None:
        return _checked(_encoded(passphrase), "passphrase")
    if file is not None:
        return _checked(_line(read_private(file, "the passphrase file")), str(file))
    folder = (os.environ if environ is None else environ).get(CREDENTIALS_DIRECTORY)
    if folder is not None and (Path(folder) / credential).exists():
        path = Path(folder) / credential
        try:  # systemd guards the folder; the file's mode differs between its versions
            return _checked(_line(path.read_bytes()), str(path))
        except OSError as error:
            raise StorageError(
                "a credential cannot be read", where=str(path), found=error.strerror
            ) from error
    if ask is not None:
        return _checked(_encoded(ask()), "passphrase")
    raise StorageError(
        "no passphrase was given",
        expected=f"a passphrase, a passphrase file, or the credential {credential}",
        hint="A service gets it from systemd: LoadCredentialEncrypted=" + credential,
    )


def _encoded(passphrase: str) -> bytes:
    """The same bytes from every keyboard: Unicode has two ways to write an accented letter."""
    return unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass")


def _line(content: bytes) -> bytes:
    line = content.removesuffix(b"\n").removesuffix(b"\r")
    try:
        return _encoded(line.decode("utf-8"))
    except UnicodeDecodeError:  # random bytes serve as well
        return line


def _checked(value: bytes, where: str) -> Secret:
    if not value or len(value) > MAX_BYTES:
        raise StorageError(
            "this cannot be a passphrase",
            where=where,
            found=f"{len(value)} bytes",
            expected=f"1 to {MAX_BYTES} bytes",
        )
    return Secret(value)
