"""What one student, or many, can get out of a teacher by asking again, and what asking costs.

Adversary: a malicious student, who chooses its features, sends well-formed requests and may ask as
often as it likes, under any name that its channel gives it, from any process.
Protected: the teacher's function, and its time and memory.
Still disclosed: what the account allows: by default fewer numbers than determine the model.
"""

import contextlib
import itertools
import math
import shutil
import tracemalloc
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from securefair.circuit import plan as plans
from securefair.circuit import planner, weighing
from securefair.circuit.packings.monomials.plans import shortest as in_monomials
from securefair.circuit.planner import plan_exchange, verified_plan
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends import kernels
from securefair.ckks.evaluator import Released
from securefair.data.dataset import Samples
from securefair.errors import DataError, EncryptionError, LedgerError, PlanError, StorageError
from securefair.exchange import steps
from securefair.exchange.request import REQUEST_FORMAT, Request, encode_request
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.model.heads import build_head
from securefair.model.projection import public_rows

D, HIDDEN, CLASSES, SAMPLES, Q = 5, 6, 2, 40, 8
SPEC = ExchangeSpec(
    features=D, hidden=HIDDEN, classes=CLASSES, samples=SAMPLES, q=Q, precision=2.0**-18
)
MODEL = build_head("quadratic", D, HIDDEN, CLASSES, 1)
MONOMIALS = (D + 1) * (D + 2) // 2  # of a quadratic function: 21 a class
ENOUGH = -(-MONOMIALS // Q)  # answers: 3
PARAMETERS = HIDDEN * (D + 1) + CLASSES * (HIDDEN + 1)  # of its maps: 50


def monomials(features):
    """(B, d) -> (B, (d + 1)(d + 2) / 2): every product of two of the features and a one."""
    whole = np.concatenate([features, np.ones((len(features), 1))], axis=1)
    pairs = itertools.combinations_with_replacement(range(D + 1), 2)
    return np.stack([whole[:, i] * whole[:, j] for i, j in pairs], axis=1)


def stolen(teachers, peers):
    """The coefficients of the teacher's whole function, from as many answers as it gives."""
    rows, numbers = [], []
    for attempt, (teacher, peer) in enumerate(zip(teachers, peers, strict=True)):
        features = np.random.default_rng(attempt).uniform(-1, 1, (SAMPLES, D))
        student = Student(SPEC)
        request = student.request(Samples(features, np.arange(SAMPLES) % 2, CLASSES))
        try:
            released = student.open(teacher.answer(request, peer=peer)).released
        except LedgerError:
            break
        basis = student._basis
        n = student.plan.ring_degree
        signs = basis.signs.astype(np.float64)
        known = public_rows(n, basis.coefficients, SAMPLES, signs)
        rows.append(known @ monomials(features))
        numbers.append(released)
    answers = len(rows)
    if not rows:
        return None, 0
    found, *_ = np.linalg.lstsq(np.concatenate(rows), np.concatenate(numbers), rcond=None)
    return found, answers


def error_of(coefficients):
    fresh = np.random.default_rng(99).uniform(-1, 1, (200, D))
    return float(np.abs(monomials(fresh) @ coefficients - MODEL.logits(fresh)).max())


def agreed(**limits):
    return Teacher(MODEL, SPEC, create_store=True, **limits)


def test_without_an_account_a_few_requests_give_the_whole_function():
    """The former teacher: `max_numbers` bounded one request, so it bounded nothing."""
    forgetful = [agreed(max_numbers=Q * CLASSES) for _ in range(ENOUGH + 1)]
    coefficients, answers = stolen(forgetful, [""] * len(forgetful))
    assert answers == ENOUGH + 1
    assert error_of(coefficients) < 0.01  # rounding the weights to 12 bits is most of it


@pytest.mark.parametrize("durable", [False, True])
def test_with_an_account_the_same_requests_leave_it_unknown(durable, tmp_path):
    limit = (ENOUGH - 1) * Q * CLASSES
    store = tmp_path / "store" if durable else None
    one = agreed(max_numbers=limit, store=store)
    again = [agreed(max_numbers=limit, store=store) if durable else one for _ in range(9)]
    coefficients, answers = stolen(again, [""] * 9)
    assert answers == ENOUGH - 1
    assert error_of(coefficients) > 0.05


def test_many_names_share_a_total():
    own = agreed(max_numbers=Q * CLASSES, total_numbers=(ENOUGH - 1) * Q * CLASSES)
    _, answers = stolen([own] * 9, [f"name {number}" for number in range(9)])
    assert answers == ENOUGH - 1


def test_as_many_numbers_as_parameters_give_the_whole_function():
    """Parameters are no bound: a unit's scale is free, and forms of 21 coefficients are all."""
    own = agreed(max_numbers=PARAMETERS)
    coefficients, answers = stolen([own] * 9, [""] * 9)
    assert answers == ENOUGH
    assert error_of(coefficients) < 0.01


def test_by_default_the_account_ends_before_the_function_is_known():
    own = agreed()
    coefficients, answers = stolen([own] * 9, [""] * 9)
    assert answers * Q * CLASSES <= MODEL.folded().determining < PARAMETERS
    assert error_of(coefficients) > 0.05


FEW = msgspec.structs.replace(SPEC, release="logits", samples=8, precision=2.0**-10)


def everything_in_slots(**limits):
    """An upload whose schedule is the student's choice, with a sample in every slot."""
    slots = plan_exchange(FEW, coefficients=False)
    student = Student(FEW)
    student._start(slots, "rns", b"", 64)
    student.rotate()
    features = np.random.default_rng(3).uniform(-1, 1, (slots.params.slots, D))
    filled = replace(slots, spec=msgspec.structs.replace(FEW, samples=slots.params.slots))
    packed = steps.pack(filled, features)
    upload = steps.encrypt(student._keys.encryptor, slots.features, packed)
    teacher = Teacher(MODEL, FEW, **limits)
    with pytest.raises(PlanError, match="not the parameters"):
        teacher._check_parameters(FEW, slots.schedule)
    teacher._check_parameters = lambda *_: None  # the account holds by itself
    parts = (student.public_keys, upload, b"")
    received = teacher.receive(FEW, b"", *parts, schedule=slots.schedule)
    return student, teacher, received, features


def test_a_schedule_in_slots_tells_all_of_a_model_that_agreed_on_a_few_logits():
    """Where the account takes the student's word for what one answer is."""
    slots = plan_exchange(FEW, coefficients=False)
    student, teacher, upload, features = everything_in_slots(max_numbers=slots.numbers)
    answer = teacher.evaluate(upload)
    opened = student._keys.decryptor.open(Released(slots.answer, None, answer))
    found, *_ = np.linalg.lstsq(monomials(features), opened.T, rcond=None)
    assert error_of(found) < 0.01


def test_by_default_a_schedule_raises_no_limit():
    own = plan_exchange(FEW)
    _, teacher, upload, _ = everything_in_slots()
    assert own.numbers == FEW.samples * CLASSES < MODEL.folded().determining
    assert upload.plan.numbers == plan_exchange(FEW, coefficients=False).numbers > 1000
    with pytest.raises(LedgerError, match="too many numbers"):
        teacher.evaluate(upload)
    assert not teacher._account.accounts()
    # An honest schedule is answered as before.
    student = Student(FEW)
    assert teacher.answer(student.request(np.zeros((FEW.samples, D))))


# -- what a refusal costs -------------------------------------------------------------------------


def raw_request(spec, schedule, **parts):
    """A request of a stranger's making: no work went into it."""
    empty = memoryview(b"")
    fields = dict.fromkeys(
        ("public_key", "evaluation_keys", "features", "basis", "predictions"), empty
    )
    return encode_request(
        Request(
            format=REQUEST_FORMAT,
            spec=spec,
            schedule=schedule,
            digest=bytes(32),
            seed=b"",
            **{**fields, **parts},
        )
    )


IMPOSSIBLE = ExchangeSpec(features=D, classes=2, samples=2, release="loss", precision=2.0**-40)
WIDE = ExchangeSpec(features=1 << 20, classes=2, samples=1 << 20, hidden=0, weight_bits=2)
EXPENSIVE = {
    "an impossible precision": IMPOSSIBLE,
    "two samples": ExchangeSpec(features=D, classes=2, samples=2, release="loss"),
    "a million samples": msgspec.structs.replace(SPEC, samples=1 << 20),
    "a million features": WIDE,
    "sums over a million": ExchangeSpec(
        features=D, classes=2, samples=1 << 20, release="class_sums"
    ),
}


@pytest.fixture(scope="module")
def million_blocks():
    """One sample fills more than a ciphertext, and so each of a million has a block of its own."""
    one = ExchangeSpec(features=484, hidden=128, classes=10, samples=1, release="logits")
    plan, _ = in_monomials(one)
    many = msgspec.structs.replace(one, samples=1 << 20)
    return many, weighing.flooded(plan).schedule


def test_a_plan_of_a_million_blocks_is_verified_by_one_of_them(million_blocks, monkeypatch):
    spec, schedule = million_blocks
    looked = []
    masks_hold = plans.masks_hold
    monkeypatch.setattr(plans, "masks_hold", lambda *a: looked.append(a) or masks_hold(*a))
    tracemalloc.start()
    plan = verified_plan(spec, schedule)
    facts = (plan.blocks, plan.numbers, plan.answer_bytes > 1 << 30, plan.bits > 1 << 26)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert facts == (1 << 20, 10 << 20, True, True)
    assert len(looked) == 1
    assert peak < 1_000_000
    with pytest.raises(PlanError, match="plan differently"):
        Teacher(MODEL).answer(raw_request(spec, schedule))


@pytest.mark.parametrize("name", EXPENSIVE)
@pytest.mark.parametrize("open_to_all", [False, True])
def test_no_request_makes_a_teacher_search(name, open_to_all, monkeypatch):
    schedule = plan_exchange(SPEC).schedule
    request = raw_request(EXPENSIVE[name], schedule)
    teacher = Teacher(MODEL, None if open_to_all else SPEC)
    runs = []
    evaluate = planner.evaluate
    monkeypatch.setattr(planner, "_search", None)  # whoever searches fails
    monkeypatch.setattr(planner, "evaluate", lambda *a, **k: runs.append(a) or evaluate(*a, **k))
    for _ in range(3):
        with pytest.raises((PlanError, EncryptionError)):
            teacher.answer(request)
    assert len(runs) <= 3 * open_to_all  # once a request, on paper, and only if anything goes


def test_the_former_step_searched_for_every_request(monkeypatch):
    """A copy of it planned what it was asked, and forgot that there was no plan."""
    searched = []
    search = planner._search
    monkeypatch.setattr(planner, "_search", lambda *a: searched.append(a) or search(*a))

    impossible = msgspec.structs.replace(SPEC, precision=2.0**-40, flooding_bits=60)
    for _ in range(2):
        with pytest.raises(PlanError):
            planner._search(impossible)
    assert len(searched) == 2
    for _ in range(2):
        with pytest.raises(PlanError):
            plan_exchange(impossible)
    assert len(searched) == 3  # once, and remembered


def test_material_of_a_stranger_is_verified_and_not_searched_for(monkeypatch):
    student = Student(SPEC)
    samples = Samples(np.zeros((SAMPLES, D)), np.arange(SAMPLES) % 2, CLASSES)
    features, basis = student.encrypt_features(samples)
    teacher, schedule = Teacher(MODEL, SPEC), student.plan.schedule
    monkeypatch.setattr(planner, "_search", None)  # the own plan is remembered
    upload = teacher.receive(SPEC, b"", student.public_keys, features, basis, schedule=schedule)
    assert upload.plan.digest == student.plan.digest
    worse = msgspec.structs.replace(schedule, flooding_bits=29)
    with pytest.raises(PlanError):
        teacher.receive(SPEC, b"", student.public_keys, features, basis, schedule=worse)


@pytest.mark.parametrize("place", [0, -70])
def test_a_large_false_upload_is_refused_before_any_seed_is_expanded(place, monkeypatch):
    """The first or the last residue is none: all are compared before anything else is done."""
    student = Student(SPEC)
    samples = Samples(np.zeros((SAMPLES, D)), np.arange(SAMPLES) % 2, CLASSES)
    features, basis = student.encrypt_features(samples)
    false = bytearray(features)
    false[place : place + 4] = b"\xff\xff\xff\xff"
    expanded = []
    monkeypatch.setattr(kernels, "expand_seeds", lambda *a: expanded.append(a))
    with pytest.raises(EncryptionError, match="not below its prime"):
        Teacher(MODEL, SPEC).receive(SPEC, b"", student.public_keys, bytes(false), basis)
    assert not expanded


@pytest.mark.parametrize("name", [*EXPENSIVE, "no request", "a long one"])
def test_a_refusal_takes_little_memory(name):
    if name in EXPENSIVE:
        request = raw_request(EXPENSIVE[name], plan_exchange(SPEC).schedule)
    elif name == "no request":
        request = bytes(50_000_000)
    else:
        long = memoryview(bytes(50_000_000))
        request = raw_request(SPEC, plan_exchange(SPEC).schedule, features=long)
    teachers = [Teacher(MODEL, SPEC), Teacher(MODEL)]
    for teacher in teachers:
        tracemalloc.start()
        with pytest.raises((PlanError, EncryptionError, DataError)):
            teacher.answer(request)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 20_000_000


def test_a_spent_account_refuses_before_anything_is_planned(monkeypatch):
    student = Student(SPEC, backend="clear")
    features = np.zeros((SAMPLES, D))
    request = student.request(Samples(features, np.arange(SAMPLES) % 2, CLASSES))
    teacher = Teacher(MODEL, SPEC, backend="clear", max_numbers=Q * CLASSES)
    teacher.answer(request)
    monkeypatch.setattr("securefair.exchange.teacher.verified_plan", None)
    with pytest.raises(LedgerError):
        teacher.answer(request)


@pytest.mark.parametrize("limits", [{}, {"total_numbers": Q * CLASSES}, {"max_bits": 500.0}])
@pytest.mark.parametrize("durable", [False, True])
def test_whatever_limit_is_spent_no_ciphertext_is_read(limits, durable, monkeypatch, tmp_path):
    """By default, or where others spent the total: importing features takes far over 50 ms."""
    student = Student(SPEC, backend="clear")
    samples = Samples(np.zeros((SAMPLES, D)), np.arange(SAMPLES) % 2, CLASSES)
    request = student.request(samples)
    store = tmp_path / "store" if durable else None
    teacher = Teacher(MODEL, SPEC, backend="clear", store=store, create_store=durable, **limits)
    peer, answers = "another" if "total_numbers" in limits else "", []
    with contextlib.suppress(LedgerError):
        answers.extend(teacher.answer(request, peer=peer) for _ in range(10))
    assert 1 <= len(answers) < 10
    monkeypatch.setattr("securefair.exchange.teacher.receive_upload", None)
    with pytest.raises(LedgerError):
        teacher.answer(request)


# -- what an error tells --------------------------------------------------------------------------


def crafted_answer(student, value):
    """Opens to a value of the teacher's choice, beyond what the plan allows."""
    plan = student.plan
    (meta,) = plan.released
    return np.full((meta.count, plan.spec.q), value).astype("<f8").tobytes()


def test_an_error_tells_nothing_of_what_was_opened():
    student = Student(SPEC, backend="clear")
    student.encrypt_features(Samples(np.zeros((SAMPLES, D)), np.arange(SAMPLES) % 2, CLASSES))
    texts = set()
    for value in (1e6, 1.6999999987e7, -3e9):
        with pytest.raises(EncryptionError) as refused:
            student.open_evaluated(crafted_answer(student, value))
        error = refused.value
        texts.add((str(error), error.found, error.expected, error.hint))
        # The former text, which a complaint carried to the peer, told it to the last digit.
        former = EncryptionError("an answer opens to what is no cosine", found=value)
        assert str(value) in str(former)
    hint = "It may be an answer to another request, or under other keys"
    assert texts == {(f"an opened value is out of range. {hint}", None, None, hint)}


def test_bits_of_a_number_are_bounded_by_what_was_agreed():
    """A student cannot pick a plan whose numbers hold far more than the precision needs."""
    fine = msgspec.structs.replace(SPEC, hidden=0, precision=2.0**-30)
    coarse = msgspec.structs.replace(SPEC, hidden=0, precision=2.0**-6)
    request = raw_request(coarse, plan_exchange(fine).schedule)
    with pytest.raises(PlanError, match="floods less than the precision allows"):
        Teacher(MODEL).answer(request)
    bare = msgspec.structs.replace(plan_exchange(coarse).schedule, flooding_bits=30)
    with pytest.raises(PlanError, match="floods less than the precision allows"):
        Teacher(MODEL).answer(raw_request(coarse, bare))
    assert plan_exchange(fine).number_bits > plan_exchange(coarse).number_bits + 8
    assert math.isfinite(plan_exchange(coarse).bits)


def test_a_store_that_is_gone_does_not_begin_at_zero(tmp_path):
    """Before, a teacher made an account wherever it found none: deleting one set limits back."""
    store = tmp_path / "store"
    with pytest.raises(StorageError, match="create_store"):
        Teacher(MODEL, SPEC, backend="clear", store=store)
    assert not store.exists()
    Teacher(MODEL, SPEC, backend="clear", store=store, create_store=True)
    Teacher(MODEL, SPEC, backend="clear", store=store)
    shutil.rmtree(store)
    with pytest.raises(StorageError, match="must not begin at zero"):
        Teacher(MODEL, SPEC, backend="clear", store=store)
