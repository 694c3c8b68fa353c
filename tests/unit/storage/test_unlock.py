"""Where a passphrase comes from."""

import pytest

from securefair.errors import StorageError
from securefair.storage import Secret, unlock


def test_every_place_gives_the_same_passphrase(tmp_path):
    file = tmp_path / "passphrase"
    file.touch(mode=0o600)
    file.write_text("gehe\N{LATIN SMALL LETTER I WITH DIAERESIS}m\n", encoding="utf-8")
    (tmp_path / "securefair-passphrase").write_bytes(file.read_bytes())
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    typed = "gehei\N{COMBINING DIAERESIS}m"  # the other way to write the letter
    found = [
        unlock(typed),
        unlock(Secret("gehe\xefm".encode())),
        unlock(file=file),
        unlock(environ=environ),
        unlock(environ={}, ask=lambda: typed),
    ]
    assert all(secret == found[0] for secret in found)


def test_the_first_place_wins(tmp_path):
    (tmp_path / "securefair-passphrase").write_text("credential")
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    assert unlock("given", environ=environ) == Secret(b"given")
    assert unlock(environ=environ, ask=lambda: "asked") == Secret(b"credential")
    assert unlock(environ=environ, credential="other", ask=lambda: "asked") == Secret(b"asked")


def test_refusals_name_the_place_and_never_the_passphrase(tmp_path):
    with pytest.raises(StorageError, match="LoadCredentialEncrypted"):
        unlock(environ={})
    with pytest.raises(StorageError, match="0 bytes"):
        unlock("")
    with pytest.raises(StorageError, match="5000 bytes") as refused:
        unlock("canary" + "x" * 4994)
    assert "canary" not in str(refused.value)
    file = tmp_path / "open"
    file.write_text("canary")
    file.chmod(0o640)
    with pytest.raises(StorageError, match="chmod 600") as refused:
        unlock(file=file)
    assert "canary" not in str(refused.value)
    with pytest.raises(StorageError, match="cannot be read"):
        unlock(file=tmp_path / "none")


def test_random_bytes_serve_as_a_passphrase(tmp_path):
    file = tmp_path / "random"
    file.touch(mode=0o600)
    file.write_bytes(b"\xff\xfe\x00\n")
    assert unlock(file=file) == Secret(b"\xff\xfe\x00")


def test_a_passphrase_that_is_set_is_long_enough_and_old_ones_open_as_they_are(tmp_path):
    with pytest.raises(
        StorageError, match=r"too short to be set.*7 characters.*at least 8"
    ) as refused:
        unlock("gehe\xefm!", new=True)  # eight bytes, and seven characters
    assert "gehe" not in str(refused.value)
    assert unlock("gehe\xefm!") == Secret("gehe\xefm!".encode())
    assert unlock("gehe\xefm!!", new=True) == Secret("gehe\xefm!!".encode())
