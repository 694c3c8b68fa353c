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

LEAST_CHARACTERS = 8
"""Of a passphrase that is set anew, as NIST SP 800-63B asks at least: a guess at a keystore costs
half a second, and to try all that have three letters takes hours."""


def unlock(
    passphrase: str | Secret | None = None,
    *,
    file: Path | None = None,
    credential: str = CREDENTIAL,
    environ: Mapping[str, str] | None = None,
    ask: Callable[[], str] | None = None,
    new: bool = False,
) -> Secret:
    """A passphrase from the first of these places that was given.

    Args:
        passphrase: itself.
        file: a file that only its owner may read; a line break at its end does not count.
        credential: name of a credential that systemd keeps for this service.
        environ: in which `CREDENTIALS_DIRECTORY` is looked up; None: of this process.
        ask: asks a person; the last resort, for a terminal.
        new: it is to lock something from now on, so it must be long enough; what is locked already
            opens with whatever it was locked with.

    Raises:
        StorageError: none was given, it is empty, too short to be set anew, or others may read the
            file.
    """
    found, where = _found(passphrase, file, credential, environ, ask)
    return _checked(found, where, new)


def _found(
    passphrase: str | Secret | None,
    file: Path | None,
    credential: str,
    environ: Mapping[str, str] | None,
    ask: Callable[[], str] | None,
) -> tuple[bytes, str]:
    """The bytes of a passphrase, and where they came from."""
    if isinstance(passphrase, Secret):
        return passphrase.reveal(), "passphrase"
    if passphrase is not None:
        return _encoded(passphrase), "passphrase"
    if file is not None:
        return _line(read_private(file, "the passphrase file")), str(file)
    folder = (os.environ if environ is None else environ).get(CREDENTIALS_DIRECTORY)
    if folder is not None and (Path(folder) / credential).exists():
        path = Path(folder) / credential
        try:  # systemd guards the folder; the file's mode differs between its versions
            return _line(path.read_bytes()), str(path)
        except OSError as error:
            raise StorageError(
                "a credential cannot be read", where=str(path), found=error.strerror
            ) from error
    if ask is not None:
        return _encoded(ask()), "passphrase"
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


def _checked(value: bytes, where: str, new: bool) -> Secret:
    if not value or len(value) > MAX_BYTES:
        raise StorageError(
            "this cannot be a passphrase",
            where=where,
            found=f"{len(value)} bytes",
            expected=f"1 to {MAX_BYTES} bytes",
        )
    length = len(value.decode("utf-8", "replace"))
    if new and length < LEAST_CHARACTERS:
        raise StorageError(
            "this passphrase is too short to be set",
            where=where,
            found=f"{length} characters",
            expected=f"at least {LEAST_CHARACTERS}",
            hint="Four or five words that nobody would put together are easy to keep",
        )
    return Secret(value)
