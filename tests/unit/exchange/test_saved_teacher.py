"""A teacher that goes on in another process: the same answers, the same account."""

import logging
import shutil

import msgspec
import numpy as np
import pytest
from torch import nn

from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.data.dataset import Samples
from securefair.errors import LedgerError, ModelError, PlanError, StorageError
from securefair.exchange import account, answerer, saved_teacher
from securefair.exchange.saved_teacher import SAVED_FORMAT, read_teacher
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.model.heads import build_head
from securefair.model.networks import NetworkHead, he_network
from securefair.storage import Keystore, KeystoreCost, Secret

CHEAP = KeystoreCost(log2_n=4)
SPEC = ExchangeSpec(features=3, hidden=2, classes=2, samples=40, q=4)
MODEL = build_head("quadratic", 3, 2, 2, 1)


def asked(backend="clear", spec=SPEC):
    rng = np.random.default_rng(0)
    student = Student(spec, backend=backend, seed=b"seed")
    samples = Samples(rng.uniform(-1, 1, (40, 3)), np.arange(40) % 2, 2)
    return student, student.request(samples)


def test_a_loaded_teacher_answers_as_the_saved_one(tmp_path):
    student, request = asked()
    teacher = Teacher(MODEL, SPEC, seed=b"seed", backend="clear", max_numbers=80)
    teacher.save(tmp_path / "teacher", passphrase="a white horse", cost=CHEAP)
    loaded = Teacher.load(tmp_path / "teacher", passphrase="a white horse")
    expected, found = student.open(teacher.answer(request)), student.open(loaded.answer(request))
    assert (found.released == expected.released).all()


def test_its_account_is_the_stores(tmp_path):
    _, request = asked()
    limits = {
        "store": tmp_path / "store",
        "create_store": True,
        "max_numbers": 2 * SPEC.q * SPEC.classes,
    }
    teacher = Teacher(MODEL, SPEC, seed=b"seed", backend="clear", **limits)
    teacher.save(tmp_path / "teacher", passphrase="a white horse", cost=CHEAP)
    assert teacher.answer(request)
    assert Teacher.load(tmp_path / "teacher", passphrase="a white horse").answer(request)
    for own in (teacher, Teacher.load(tmp_path / "teacher", passphrase="a white horse")):
        with pytest.raises(LedgerError):
            own.answer(request)


def test_an_account_that_is_gone_does_not_begin_again(tmp_path):
    """Whoever deletes the store of a teacher that has spent everything gets no answer from it."""
    _, request = asked()
    store = tmp_path / "store"
    limits = {"store": store, "create_store": True, "max_numbers": SPEC.q * SPEC.classes}
    teacher = Teacher(MODEL, SPEC, seed=b"seed", backend="clear", **limits)
    teacher.save(tmp_path / "teacher", passphrase="a white horse", cost=CHEAP)
    assert teacher.answer(request)
    moved = tmp_path / "moved"
    shutil.copytree(store, moved)
    shutil.rmtree(store)
    with pytest.raises(StorageError):
        Teacher.load(tmp_path / "teacher", passphrase="a white horse")
    assert not store.exists()
    with pytest.raises(StorageError, match="no store"):
        Teacher.load(tmp_path / "teacher", passphrase="a white horse", store=tmp_path)
    loaded = Teacher.load(tmp_path / "teacher", passphrase="a white horse", store=moved)
    with pytest.raises(LedgerError):
        loaded.answer(request)


def test_without_a_store_saving_warns_that_the_account_is_not_kept(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        Teacher(MODEL, SPEC, store=tmp_path / "store", create_store=True).save(
            tmp_path / "with", passphrase="a white horse", cost=CHEAP
        )
    assert caplog.messages == []
    with caplog.at_level(logging.WARNING):
        Teacher(MODEL, SPEC).save(tmp_path / "without", passphrase="a white horse", cost=CHEAP)
    assert "without a store" in caplog.text


def test_the_file_is_private_and_shows_no_weight(tmp_path):
    Teacher(MODEL, SPEC).save(tmp_path / "teacher", passphrase="a white horse", cost=CHEAP)
    content = (tmp_path / "teacher").read_bytes()
    assert (tmp_path / "teacher").stat().st_mode & 0o777 == 0o600
    for layer in MODEL.folded().layers[::2]:
        assert layer.weights.tobytes() not in content
    with pytest.raises(StorageError, match="passphrase is wrong"):
        Teacher.load(tmp_path / "teacher", passphrase="donkey")


def test_networks_and_other_files_are_refused_by_name(tmp_path):
    own = Samples(np.zeros((4, 16)), np.arange(4) % 2, 2)
    layers = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.Flatten(), nn.Linear(32, 2))
    network = NetworkHead(he_network(layers, (1, 4, 4)), 2, own.features)
    with pytest.raises(ModelError, match="only heads"):
        Teacher(network, SPEC).save(tmp_path / "teacher", passphrase="a white horse", cost=CHEAP)
    assert not (tmp_path / "teacher").exists()
    keys = Keystore.create(tmp_path / "keys", Secret(b"a white horse"), cost=CHEAP)
    keys.put("teacher", Secret(b"something else"))
    with pytest.raises(StorageError, match="no teacher"):
        Teacher.load(tmp_path / "keys", passphrase="a white horse")
    Keystore.create(tmp_path / "empty", Secret(b"a white horse"), cost=CHEAP)
    with pytest.raises(StorageError, match="no teacher"):
        Teacher.load(tmp_path / "empty", passphrase="a white horse")


@pytest.mark.parametrize("found", [1, SAVED_FORMAT - 1, SAVED_FORMAT + 1])
def test_a_teacher_of_another_version_is_refused_by_name(tmp_path, found):
    keystore = Keystore.create(tmp_path / "teacher", Secret(b"a white horse"), cost=CHEAP)
    written = msgspec.msgpack.encode({"format": found, "weights": []})
    keystore.put("teacher", Secret(bytearray(written)))
    keystore.close()
    message = rf"another version of securefair.*format {found}.*format {SAVED_FORMAT}"
    with pytest.raises(StorageError, match=message):
        Teacher.load(tmp_path / "teacher", passphrase="a white horse")


def saved(tmp_path, spec=SPEC):
    Teacher(MODEL, spec, seed=b"seed").save(tmp_path / "teacher", "a white horse", cost=CHEAP)
    return tmp_path / "teacher"


LARGER = plan_exchange(SPEC, coefficients=False).schedule
"""Another plan of the same exchange."""


def never(*_, **__):
    raise AssertionError("searched")


def test_a_loaded_teacher_has_its_plan_and_searches_none(tmp_path, monkeypatch):
    path = saved(tmp_path)
    _, request = asked("rns")
    kept = read_teacher(path, Secret(b"a white horse")).schedule
    assert kept == plan_exchange(SPEC).schedule
    monkeypatch.setattr(answerer, "plan_exchange", never)
    loaded = Teacher.load(path, "a white horse")
    assert loaded.answer(request)
    with pytest.raises(AssertionError, match="searched"):
        loaded._check_parameters(SPEC, LARGER)


def test_numbers_of_the_kept_plan_are_known_and_of_another_one_are_not(tmp_path, monkeypatch):
    """How many numbers leave as logits depends on the plan, so that limits need the own one."""
    spec = msgspec.structs.replace(SPEC, release="logits")
    path, (_, request) = saved(tmp_path, spec), asked("rns", spec)
    state = read_teacher(path, Secret(b"a white horse"))
    slots = plan_exchange(spec, coefficients=False)
    assert slots.numbers > plan_exchange(spec).numbers
    other = msgspec.structs.replace(state, schedule=slots.schedule)
    saved_teacher.write_teacher(tmp_path / "other", Secret(b"a white horse"), other, CHEAP)
    monkeypatch.setattr(account, "plan_exchange", never)
    assert Teacher.load(path, "a white horse").answer(request)
    with pytest.raises(AssertionError, match="searched"):
        Teacher.load(tmp_path / "other", "a white horse").answer(request)


def test_where_a_student_plans_otherwise_the_own_plan_is_searched(tmp_path):
    """A later version may find another plan than the one that was kept."""
    state = read_teacher(saved(tmp_path), Secret(b"a white horse"))
    earlier = msgspec.structs.replace(state, schedule=LARGER)
    saved_teacher.write_teacher(tmp_path / "earlier", Secret(b"a white horse"), earlier, CHEAP)
    assert LARGER.ckks != plan_exchange(SPEC).schedule.ckks
    _, request = asked("rns")
    assert Teacher.load(tmp_path / "earlier", "a white horse").answer(request)
    larger = msgspec.structs.replace(LARGER.ckks, ring_degree=2 * LARGER.ckks.ring_degree)
    with pytest.raises(PlanError, match="not the parameters of what was agreed"):
        Teacher.load(tmp_path / "earlier", "a white horse")._check_parameters(
            SPEC, msgspec.structs.replace(LARGER, ckks=larger)
        )


def test_a_plan_of_something_else_is_refused_by_name(tmp_path):
    state = read_teacher(saved(tmp_path), Secret(b"a white horse"))
    other = plan_exchange(msgspec.structs.replace(SPEC, features=400, q=1)).schedule
    altered = msgspec.structs.replace(state, schedule=other)
    saved_teacher.write_teacher(tmp_path / "altered", Secret(b"a white horse"), altered, CHEAP)
    with pytest.raises(StorageError, match="a saved plan is none of what was agreed"):
        Teacher.load(tmp_path / "altered", "a white horse")
