"""A student that goes on in another process, and the count of what its key has opened."""

import contextlib
import json
import subprocess
import sys

import msgspec
import numpy as np
import pytest

from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends import get_backend
from securefair.data.dataset import Samples
from securefair.errors import (
    BackendUnavailableError,
    EncryptionError,
    LedgerError,
    StorageError,
)
from securefair.exchange.binding import BOUND_BYTES
from securefair.exchange.saved import SAVED_FORMAT
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.model.heads import build_head
from securefair.storage import Keystore, KeystoreCost, Secret, keystore

CHEAP = KeystoreCost(log2_n=4)
RELEASES = {
    "public": {"q": 8},
    "student": {"q": 3, "basis": "student"},
    "logits": {"release": "logits"},
    "class_sums": {"release": "class_sums"},
}
MODEL = build_head("linear", 3, 0, 2, 1)


def spec_of(release):
    return ExchangeSpec(features=3, hidden=0, classes=2, samples=40, **RELEASES[release])


def asked(student):
    spec = student.plan.spec
    rng = np.random.default_rng(0)
    samples = Samples(rng.uniform(-1, 1, (40, 3)), np.arange(40) % 2, 2)
    predictions = np.full((40, 2), 0.5) if spec.sends_predictions else None
    request = student.request(samples, predictions=predictions)
    return Teacher(MODEL, spec, backend=student._backend).answer(request)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("backend", ["rns", "seal", "clear"])
def test_a_loaded_student_opens_what_the_saved_one_would(tmp_path, release, backend):
    student = Student(spec_of(release), backend=backend)
    answer = asked(student)
    student.save(tmp_path / "student", passphrase="a white horse", cost=CHEAP)
    loaded = Student.load(tmp_path / "student", passphrase="a white horse")
    expected, found = student.open(answer), loaded.open(answer)
    assert (found.released == expected.released).all()
    assert (found.logits is None) == (expected.logits is None)
    if found.logits is not None:
        assert (found.logits == expected.logits).all()
        assert found.unexplained == expected.unexplained
    assert loaded.plan.digest == student.plan.digest
    assert loaded.public_keys == student.public_keys
    if backend == "rns" or release == "public":  # what follows takes SEAL seconds
        assert loaded.open(asked(loaded)).released.shape == expected.released.shape


OPEN = """
import json, sys
from pathlib import Path
import securefair as sf
student = sf.Student.load(sys.argv[1], passphrase="a white horse")
print(json.dumps(student.open(Path(sys.argv[2]).read_bytes()).logits.tolist()))
"""


def test_another_process_opens_it(tmp_path):
    student = Student(spec_of("public"))
    answer = asked(student)
    student.save(tmp_path / "student", passphrase="a white horse", cost=CHEAP)
    (tmp_path / "answer").write_bytes(answer)
    command = [sys.executable, "-c", OPEN, str(tmp_path / "student"), str(tmp_path / "answer")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert (np.array(json.loads(done.stdout)) == student.open(answer).logits).all()


def test_the_file_is_private_and_shows_no_key(tmp_path):
    student = Student(spec_of("public"))
    student.save(tmp_path / "student", passphrase="a white horse", cost=CHEAP)
    content = (tmp_path / "student").read_bytes()
    assert (tmp_path / "student").stat().st_mode & 0o777 == 0o600
    secret = student._keys.export().reveal()
    for start in range(0, len(secret), 1024):
        assert secret[start : start + 64] not in content
    assert student.public_keys.encryption[:64] not in content
    with pytest.raises(StorageError, match="passphrase is wrong"):
        Student.load(tmp_path / "student", passphrase="donkey")
    with pytest.raises(StorageError, match="exists already"):
        student.save(tmp_path / "student", passphrase="a white horse", cost=CHEAP)


def test_a_passphrase_file_or_credential_needs_no_keyboard(tmp_path, monkeypatch):
    file = tmp_path / "securefair-passphrase"
    file.touch(mode=0o600)
    file.write_text("a white horse\n")
    student = Student(spec_of("public"), backend="clear")
    student.save(tmp_path / "student", passphrase_file=file, cost=CHEAP)
    assert Student.load(tmp_path / "student", passphrase_file=file)
    with pytest.raises(StorageError, match="no passphrase"):
        Student.load(tmp_path / "student")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert Student.load(tmp_path / "student")


def test_a_key_opens_so_often_and_no_more():
    student = Student(spec_of("public"), backend="clear", max_openings=2)
    answer = asked(student)
    for _ in range(2):
        student.open(answer)
    with pytest.raises(LedgerError, match="rotate"):
        student.open(answer)
    student.rotate()
    student.open(asked(student))


@pytest.mark.parametrize("most", [-1, 0, float("nan")])
def test_a_limit_of_openings_is_a_count(most):
    with pytest.raises(LedgerError, match="not a limit"):
        Student(spec_of("public"), backend="clear", max_openings=most)


@pytest.mark.parametrize("backend", ["rns", "seal"])
def test_an_answer_of_another_length_costs_no_opening(backend):
    """It is not opened, so it tells nothing; anybody could send 64 of them."""
    student = Student(spec_of("public"), backend=backend, max_openings=1)
    answer = asked(student)
    for wrong in (b"", answer[:-1], answer + b"\0"):
        with pytest.raises(EncryptionError, match="wrong length"):
            student.open(wrong)
    assert student.open(answer)


def test_keys_do_not_leave_without_their_count():
    """Else a student of the same keys began to count at zero."""
    spec = spec_of("public")
    counted = Student(spec)
    with pytest.raises(LedgerError, match="counted here"):
        counted.export_keys()
    host = Student(spec, max_openings=None)
    keys = host.export_keys()
    with pytest.raises(LedgerError, match="without a count"):
        Student(spec, keys=keys)
    again = Student(spec, keys=keys, max_openings=None)
    assert again.public_keys == host.public_keys


def test_a_file_is_whole_or_not_there(tmp_path, monkeypatch):
    """A crash between two writings would leave a keystore that takes the name and holds nothing."""
    written = []
    write = keystore.write_private
    monkeypatch.setattr(
        keystore, "write_private", lambda path, data: (written.append(path), write(path, data))
    )
    student = Student(spec_of("public"), backend="clear")
    student.save(tmp_path / "student", passphrase="a white horse", cost=CHEAP)
    assert written == [tmp_path / "student"]


def test_openings_are_counted_over_all_loaded_copies(tmp_path):
    student = Student(spec_of("public"), backend="clear", max_openings=3)
    answer = asked(student)
    student.open(answer)
    student.save(tmp_path / "student", passphrase="a white horse", cost=CHEAP)
    copies = [Student.load(tmp_path / "student", passphrase="a white horse") for _ in range(2)]
    for copy in copies:
        copy.open(answer)
    for copy in copies:
        with pytest.raises(LedgerError, match="as often as it may"):
            copy.open(answer)


def test_rotated_keys_are_new_and_old_answers_do_not_open():
    student = Student(spec_of("public"))
    answer = asked(student)
    before, opened = student.public_keys, student.open(answer)
    student.rotate()
    assert student.public_keys != before
    with pytest.raises(EncryptionError, match="before a request"):
        student.open(answer)
    asked(student)
    with pytest.raises(EncryptionError, match="answers another request"):
        student.open(answer)
    with contextlib.suppress(EncryptionError):  # noise of the size of the modulus
        found = student.open_evaluated(answer[BOUND_BYTES:])
        assert np.abs(found.released - opened.released).max() > 1


def test_other_files_are_no_student(tmp_path):
    keys = Keystore.create(tmp_path / "keys", Secret(b"a white horse"), cost=CHEAP)
    with pytest.raises(StorageError, match="holds no student"):
        Student.load(tmp_path / "keys", passphrase="a white horse")
    keys.put("student", Secret(b"something else"))
    with pytest.raises(StorageError, match="holds no student"):
        Student.load(tmp_path / "keys", passphrase="a white horse")


@pytest.mark.parametrize("found", [1, SAVED_FORMAT - 1, SAVED_FORMAT + 1])
def test_a_student_of_another_version_is_refused_by_name(tmp_path, found):
    # As another version wrote it: its other fields need not be those of now.
    written = msgspec.msgpack.encode({"format": found, "secret_key": b"abc"})
    secrets = {"student": Secret(bytearray(written))}
    Keystore.create(
        tmp_path / "student", Secret(b"a white horse"), cost=CHEAP, secrets=secrets, max_uses=3
    ).close()
    message = rf"another version of securefair.*format {found}.*format {SAVED_FORMAT}"
    with pytest.raises(StorageError, match=message):
        Student.load(tmp_path / "student", passphrase="a white horse")


def test_nothing_of_a_student_prints(tmp_path):
    student = Student(spec_of("public"), backend="clear")
    opened = student.open(asked(student))
    assert repr(opened) == "Opened(16 numbers)"
    assert "Student(40 samples" in repr(student)
    assert repr(student._reconstruction) == "LogitMap(40 samples)"


def test_an_engine_that_keeps_its_keys_says_so():
    backend = get_backend("clear")
    with pytest.raises(BackendUnavailableError, match="keeps its keys"):
        super(type(backend), backend).restore_keys(None, None, None)
