"""Keys at rest: nothing readable, nothing changed unnoticed, uses counted before they happen."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from securefair.errors import LedgerError, StorageError
from securefair.storage import Keystore, KeystoreCost, Secret, files
from securefair.storage.keystore import check_keystore
from support.examples import examples

CHEAP = KeystoreCost(log2_n=4)
PASSPHRASE, NEW = Secret(b"correct horse"), Secret(b"new")
CANARY = b"canary of thirty-two bytes here!"


@pytest.fixture
def path(tmp_path):
    keys = Keystore.create(tmp_path / "keys", PASSPHRASE, cost=CHEAP)
    keys.put("secret", Secret(CANARY))
    return tmp_path / "keys"


def test_a_secret_comes_back_and_is_not_in_the_file(path):
    assert Keystore.open(path, PASSPHRASE).get("secret") == Secret(CANARY)
    assert path.stat().st_mode & 0o777 == 0o600
    content = path.read_bytes()
    assert CANARY not in content
    assert b"secret" not in content
    assert [entry.name for entry in path.parent.iterdir()] == ["keys"]


def test_a_wrong_passphrase_opens_nothing(path):
    with pytest.raises(StorageError, match="passphrase is wrong") as refused:
        Keystore.open(path, Secret(b"wrong horse"))
    assert "horse" not in str(refused.value)


def test_every_changed_byte_is_noticed(path):
    content = path.read_bytes()
    for at in range(len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(StorageError):
            Keystore.open(path, PASSPHRASE)
    for size in range(len(content)):
        path.write_bytes(content[:size])
        with pytest.raises(StorageError):
            Keystore.open(path, PASSPHRASE)


def test_a_file_that_asks_for_gigabytes_is_refused_before_any_work(path):
    content = bytearray(path.read_bytes())
    content[8] = 40
    path.write_bytes(content)
    with pytest.raises(StorageError, match="out of range"):
        Keystore.open(path, PASSPHRASE)


def test_files_that_others_can_read_are_refused(path):
    path.chmod(0o644)
    with pytest.raises(StorageError, match="chmod 600"):
        Keystore.open(path, PASSPHRASE)


def test_keys_are_never_overwritten(path):
    with pytest.raises(StorageError, match="exists already"):
        Keystore.create(path, PASSPHRASE, cost=CHEAP)
    keys = Keystore.open(path, PASSPHRASE)
    with pytest.raises(StorageError, match="such a key already"):
        keys.put("secret", Secret(b"other"))
    keys.put("secret", Secret(b"other"), replace=True)
    assert keys.get("secret") == Secret(b"other")
    keys.delete("secret")
    keys.delete("secret")
    assert keys.names() == []
    with pytest.raises(StorageError, match="no such key"):
        keys.get("secret")


def test_uses_are_counted_and_limited_over_openings_of_the_file(path):
    Keystore.open(path, PASSPHRASE).put("counted", Secret(b"x"), max_uses=3)
    for used in range(3):
        keys = Keystore.open(path, PASSPHRASE)
        assert keys.uses("counted") == (used, 3)
        assert keys.use("counted") == Secret(b"x")
    with pytest.raises(LedgerError, match="as often as it may be"):
        keys.use("counted")
    with pytest.raises(StorageError, match="counted"):
        keys.get("counted")


USE = """
import sys
from pathlib import Path
from securefair.errors import LedgerError
from securefair.storage import Keystore, Secret
keys = Keystore.open(Path(sys.argv[1]), Secret(b"correct horse"))
used = 0
try:
    while True:
        keys.use("counted")
        used += 1
except LedgerError:
    print(used)
"""


def test_processes_share_one_count(path):
    Keystore.open(path, PASSPHRASE).put("counted", Secret(b"x"), max_uses=25)
    command = [sys.executable, "-c", USE, str(path)]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sum(int(child.communicate(timeout=60)[0]) for child in children) == 25


def test_a_changed_passphrase_is_the_only_one(path):
    keys = Keystore.open(path, PASSPHRASE)
    keys.change_passphrase(Secret(b"new"))
    assert keys.get("secret") == Secret(CANARY)
    assert Keystore.open(path, Secret(b"new")).get("secret") == Secret(CANARY)
    with pytest.raises(StorageError, match="passphrase is wrong"):
        Keystore.open(path, PASSPHRASE)


@pytest.mark.parametrize(("fails", "opens"), [("fsync", PASSPHRASE), ("sync_folder", NEW)])
def test_a_change_that_fails_leaves_one_passphrase_that_opens(path, monkeypatch, fails, opens):
    """The old one, but where only the folder is not synced: then the file is written already."""
    keys = Keystore.open(path, PASSPHRASE)

    def full(*_):
        raise OSError(28, "No space left on device")

    place = files.os if fails == "fsync" else files
    with monkeypatch.context() as failing:
        failing.setattr(place, fails, full)
        with pytest.raises(StorageError, match="the disk is full"):
            keys.change_passphrase(NEW)
    assert Keystore.open(path, opens).get("secret") == Secret(CANARY)
    with pytest.raises(StorageError, match="passphrase is wrong"):
        Keystore.open(path, PASSPHRASE if opens is NEW else NEW)


def test_every_writing_is_encrypted_anew(path):
    keys = Keystore.open(path, PASSPHRASE)
    before = path.read_bytes()
    keys.put("secret", Secret(CANARY), replace=True)
    after = path.read_bytes()
    assert before[8 + 3 + 16 : 8 + 3 + 16 + 12] != after[8 + 3 + 16 : 8 + 3 + 16 + 12]
    assert before[-60:] != after[-60:]


def test_it_prints_nothing_and_forgets_when_closed(path):
    keys = Keystore.open(path, PASSPHRASE)
    assert "canary" not in repr(keys)
    assert "canary" not in repr(vars(keys))
    keys.close()
    with pytest.raises(StorageError):
        keys.get("secret")


def test_strange_files_are_refused(tmp_path):
    file = tmp_path / "keys"
    with pytest.raises(StorageError, match="cannot be read"):
        Keystore.open(file, PASSPHRASE)
    file.touch(mode=0o600)
    with pytest.raises(StorageError, match="not a keystore"):
        Keystore.open(file, PASSPHRASE)
    file.write_bytes(b"SFKEYS\x00\x02" + bytes(100))
    with pytest.raises(StorageError, match="another version"):
        Keystore.open(file, PASSPHRASE)
    with pytest.raises(StorageError, match="folder"):
        Keystore.create(tmp_path / "none" / "keys", PASSPHRASE, cost=CHEAP)


def test_a_file_that_is_no_keystore_is_told_before_a_passphrase_is_typed(tmp_path):
    file = tmp_path / "north.keys"
    for content, found in ((b"", "an empty file"), (b"a card", "another kind of file")):
        file.write_bytes(content)
        with pytest.raises(StorageError, match=f"{found}.*identity new"):
            check_keystore(file)
        with pytest.raises(StorageError, match=r"expected 'keys'.*Put them back"):
            check_keystore(file, "keys", "Put them back")


def test_the_default_cost_is_128_mib():
    cost = KeystoreCost()
    assert 128 * cost.r * 2**cost.log2_n == 128 << 20


@settings(max_examples=examples(20))
@given(st.dictionaries(st.text(min_size=1, max_size=8), st.binary(max_size=200), max_size=5))
def test_any_names_and_bytes_come_back(tmp_path_factory, secrets):
    path = tmp_path_factory.mktemp("k") / "keys"
    keys = Keystore.create(path, PASSPHRASE, cost=CHEAP)
    for name, value in secrets.items():
        keys.put(name, Secret(value))
    again = Keystore.open(path, PASSPHRASE)
    assert again.names() == sorted(secrets)
    assert all(again.get(name) == Secret(value) for name, value in secrets.items())


def test_first_entries_come_with_the_file(tmp_path):
    secrets = {"a": Secret(b"one"), "b": Secret(b"two")}
    Keystore.create(tmp_path / "keys", PASSPHRASE, cost=CHEAP, secrets=secrets, max_uses=1)
    keys = Keystore.open(tmp_path / "keys", PASSPHRASE)
    assert keys.names() == ["a", "b"]
    assert keys.use("a").reveal() == b"one"
    with pytest.raises(LedgerError):
        keys.use("a")


@pytest.mark.parametrize("most", [-1, float("nan")])
def test_uses_are_a_count(tmp_path, most):
    with pytest.raises(StorageError, match="number of uses"):
        Keystore.create(
            tmp_path / "keys", PASSPHRASE, cost=CHEAP, secrets={"a": Secret(b"x")}, max_uses=most
        )
    assert not (tmp_path / "keys").exists()
