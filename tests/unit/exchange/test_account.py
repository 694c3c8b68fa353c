"""What a teacher told is counted over its account's life, in every process and on every path."""

import math

import msgspec
import numpy as np
import pytest

from securefair.circuit.planner import most_bits, plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.data.dataset import Samples
from securefair.errors import DataError, LedgerError, ModelError, PlanError, StorageError
from securefair.exchange.account import Allowance, AnswerAccount
from securefair.exchange.request import Request
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.model.folded import dense_network
from securefair.model.heads import build_head
from securefair.model.linear_maps import DenseMap
from securefair.storage import Store
from support.processes import Process

pytestmark = pytest.mark.slow

SPEC = ExchangeSpec(features=3, hidden=3, classes=2, samples=40, q=4)
NUMBERS = SPEC.q * SPEC.classes
MODEL = build_head("quadratic", 3, 3, 2, 1)  # 20 parameters, of which 3 are scales
DETERMINING = 17


def samples_of(spec=SPEC):
    rng = np.random.default_rng(0)
    features = rng.uniform(-1, 1, (spec.samples, spec.features))
    return Samples(features, np.arange(spec.samples) % 2, 2)


@pytest.fixture(scope="module")
def request_bytes():
    return Student(SPEC, backend="clear").request(samples_of())


def teacher(model=MODEL, **limits):
    return Teacher(model, SPEC, backend="clear", create_store=True, **limits)


def test_a_limit_is_for_the_life_of_the_account(request_bytes):
    own = teacher(max_numbers=3 * NUMBERS)
    for _ in range(3):
        assert own.answer(request_bytes)
    for _ in range(2):
        with pytest.raises(LedgerError, match="too many numbers"):
            own.answer(request_bytes)


def test_callers_have_accounts_of_their_own_within_the_total(request_bytes):
    own = teacher(max_numbers=NUMBERS, total_numbers=2 * NUMBERS)
    assert own.answer(request_bytes, peer="ann")
    with pytest.raises(LedgerError, match="numbers to ann"):
        own.answer(request_bytes, peer="ann")
    assert own.answer(request_bytes, peer="bob")
    with pytest.raises(LedgerError, match="to all callers together"):
        own.answer(request_bytes, peer="cyd")


def test_a_refusal_says_what_was_told_and_what_would_raise_the_limit(request_bytes):
    own = teacher(max_numbers=2.0 * NUMBERS)
    own.answer(request_bytes)
    own.answer(request_bytes)  # the very same request: other noise, and charged
    with pytest.raises(LedgerError) as refused:
        own.answer(request_bytes)
    assert refused.value.where == "max_numbers"
    assert refused.value.expected == "at most 16"
    assert "disclosed 16." in refused.value.hint
    with pytest.raises(LedgerError) as refused:
        teacher(max_numbers=math.inf, total_numbers=1).answer(request_bytes)
    assert refused.value.where == "total_numbers"


LIMITS = ["max_numbers", "max_bits", "total_numbers"]


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("value", [float("nan"), -1, -math.inf])
def test_what_bounds_nothing_is_no_limit(name, value):
    """No count ever exceeds NaN: such a teacher would answer for ever."""
    with pytest.raises(LedgerError, match="not a limit") as refused:
        teacher(**{name: value})
    assert refused.value.where == name


@pytest.mark.parametrize("peer", [None, 7, b"ann", "a\ud800"])
def test_what_is_no_name_is_refused(request_bytes, tmp_path, peer):
    for own in (teacher(), teacher(store=tmp_path / "store")):
        with pytest.raises(DataError, match="no caller's name"):
            own.answer(request_bytes, peer=peer)
        with pytest.raises(DataError, match="no caller's name"):
            own._account.charge(peer, "", None, None)
        with pytest.raises(DataError, match="no caller's name"):
            own._account.check(peer, None, numbers=1)


def test_a_strangers_spec_raises_no_limit():
    """Limits that grew with what was asked for let requests that grow pass without end."""
    spec = msgspec.structs.replace(SPEC, q=11)
    own = Teacher(MODEL, backend="clear")  # determined by 17 numbers, asked for 22
    request = Student(spec, backend="clear").request(samples_of(spec))
    with pytest.raises(LedgerError, match="numbers to ann"):
        own.answer(request, peer="ann")
    small = Student(SPEC, backend="clear").request(samples_of())
    for number in range(8 * DETERMINING // NUMBERS):
        own.answer(small, peer=f"peer {number}")
    with pytest.raises(LedgerError, match="to all callers together"):
        own.answer(small, peer="one more")


def test_that_a_model_does_not_fit_is_charged_and_not_explained(request_bytes):
    """It depends on the model: who asks again and again with other bounds would learn of it."""
    model = build_head("quadratic", 3, 3, 2, 1)
    model.output_weights.data.fill_(1e4)
    own = teacher(model, max_numbers=2 * NUMBERS)
    for _ in range(2):
        with pytest.raises(ModelError) as refused:
            own.answer(request_bytes)
        assert str(refused.value).startswith("the model does not fit the plan")
        assert not any(letter.isdigit() for letter in str(refused.value))
        assert isinstance(refused.value.__cause__, ModelError)
    with pytest.raises(LedgerError):
        own.answer(request_bytes)


def test_callers_without_a_name_share_one_account(request_bytes):
    own = teacher(max_numbers=NUMBERS)
    assert own.answer(request_bytes)
    with pytest.raises(LedgerError):
        own.answer(request_bytes)
    assert own.answer(request_bytes, peer="ann")


def test_bits_are_charged_too(request_bytes):
    bits = Student(SPEC, backend="clear").plan.bits
    own = teacher(max_numbers=math.inf, max_bits=1.5 * bits)
    assert own.answer(request_bytes)
    with pytest.raises(LedgerError, match="too many bits"):
        own.answer(request_bytes)


def test_by_default_answers_stay_below_the_smaller_bound(request_bytes):
    own = teacher()  # determined by 17 numbers, 80 logits: two answers of 8
    assert own.answer(request_bytes)
    assert own.answer(request_bytes)
    with pytest.raises(LedgerError):
        own.answer(request_bytes)


def test_a_schedule_that_lets_out_more_than_the_own_plan_raises_no_limit():
    """The spec is agreed, packing and ring are not."""
    spec = ExchangeSpec(features=13, hidden=16, classes=1, samples=100, release="logits")
    maps = DenseMap(np.zeros((16, 13)), np.zeros(16)), DenseMap(np.zeros((1, 16)), np.zeros(1))
    assert dense_network(*maps).determining == 105  # of 241 parameters
    own, slots = plan_exchange(spec), plan_exchange(spec, coefficients=False)
    assert (own.numbers, slots.numbers) == (102, 8192)
    for plan in (own, slots):
        policy = Allowance().policy(plan, 105, spec)
        assert policy.student_total == own.numbers
        assert policy.teacher_total == 8 * own.numbers
    # An engine that packs no coefficients plans slots itself; and its owner may allow anything.
    assert Allowance().policy(slots, 105, spec, coefficients=False).student_total == 8192
    assert Allowance(max_numbers=9000).policy(slots, 105, spec).student_total == 9000


def test_by_default_a_number_holds_no_more_bits_than_a_plan_may_carry():
    plan = plan_exchange(SPEC)
    policy = Allowance().policy(plan, DETERMINING, SPEC)
    assert policy.student_bits == DETERMINING * most_bits(plan)
    assert plan.number_bits <= most_bits(plan) < 64


def test_the_default_total_is_finite(request_bytes):
    own = teacher()
    for number in range(8 * DETERMINING // NUMBERS):
        own.answer(request_bytes, peer=f"peer {number}")
    with pytest.raises(LedgerError, match="to all callers together"):
        own.answer(request_bytes, peer="one more")


def test_a_store_outlives_the_teacher_and_its_model(request_bytes, tmp_path):
    store = tmp_path / "store"
    for model in (MODEL, build_head("quadratic", 3, 3, 2, 7)):
        assert teacher(model, store=store, max_numbers=2 * NUMBERS).answer(request_bytes)
    with pytest.raises(LedgerError):
        teacher(store=store, max_numbers=2 * NUMBERS).answer(request_bytes)
    (account,) = AnswerAccount(store).accounts().values()
    assert (account.answers, account.total) == (2, 2 * NUMBERS)
    assert [*account.released[0].values()] == [NUMBERS, NUMBERS]  # of two models


ASK = """
import sys
from pathlib import Path
import securefair as sf
from securefair.errors import LedgerError
spec = sf.ExchangeSpec(features=3, hidden=3, classes=2, samples=40, q=4)
model = sf.build_head("quadratic", 3, 3, 2, seed=1)
teacher = sf.Teacher(
    model, spec, backend="clear", store=sys.argv[1], create_store=True, max_numbers=5 * 8
)
request = Path(sys.argv[2]).read_bytes()
answered = 0
try:
    while True:
        teacher.answer(request)
        answered += 1
except LedgerError:
    print(answered)
"""


def test_processes_at_once_share_one_limit(request_bytes, tmp_path):
    (tmp_path / "request").write_bytes(request_bytes)
    (tmp_path / "ask.py").write_text(ASK)
    children = [
        Process(str(tmp_path / "ask.py"), ["store", "request"], cwd=tmp_path) for _ in range(2)
    ]
    answered = [int(child.communicate(timeout=120)[0]) for child in children]
    assert sum(answered) == 5
    with pytest.raises(LedgerError):
        teacher(store=tmp_path / "store", max_numbers=5 * NUMBERS).answer(request_bytes)


def test_the_step_by_step_path_is_held_to_the_same(request_bytes):
    asked = msgspec.msgpack.decode(request_bytes, type=Request)
    student = Student(SPEC, backend="clear")
    own = teacher(max_numbers=2 * NUMBERS)
    upload = own.receive(SPEC, b"", student.public_keys, bytes(asked.features), b"", peer="ann")
    assert own.evaluate(upload)
    assert own.evaluate(upload)
    with pytest.raises(LedgerError):
        own.evaluate(upload)
    other = msgspec.structs.replace(SPEC, q=5)
    with pytest.raises(PlanError, match="not what was agreed"):
        own.receive(other, b"", student.public_keys, bytes(asked.features), b"")
    with pytest.raises(PlanError, match="not what was agreed"):
        own.receive(SPEC, b"seed", student.public_keys, bytes(asked.features), b"")


@pytest.mark.parametrize(("samples", "agrees"), [(40, True), (10, True), (9, False), (2, False)])
def test_few_samples_are_refused(samples, agrees):
    asked = msgspec.structs.replace(SPEC, samples=samples, q=1)
    agreed = msgspec.structs.replace(SPEC, q=1)
    request = Student(asked, backend="clear").request(samples_of(asked))
    own = Teacher(MODEL, agreed, backend="clear")
    if agrees:
        assert own.answer(request)
        return
    with pytest.raises(PlanError, match="not what was agreed"):
        own.answer(request)
    assert Teacher(MODEL, agreed, backend="clear", min_samples=2).answer(request)


def test_nothing_is_computed_that_cannot_be_charged(request_bytes, tmp_path, monkeypatch):
    own = teacher(store=tmp_path / "store", max_numbers=math.inf)
    monkeypatch.setattr("securefair.exchange.steps.infer", None)  # whoever computes fails
    with Store.open(tmp_path / "store"):  # a site has it for itself
        monkeypatch.setattr("securefair.exchange.account.WAIT_SECONDS", 0.0)
        with pytest.raises(StorageError, match="another process"):
            own.answer(request_bytes)


def test_a_store_that_cannot_be_used_is_said_at_once(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StorageError):
        teacher(store=tmp_path / "file")


def test_a_refusal_counts_what_the_whole_request_would_disclose(request_bytes):
    """It counted one number more than were told, whatever was asked for."""
    own = teacher(max_numbers=NUMBERS)
    assert own.answer(request_bytes, peer="ann")
    with pytest.raises(LedgerError, match="too many numbers to ann") as refused:
        own.answer(request_bytes, peer="ann")
    assert refused.value.found == 2 * NUMBERS
    assert refused.value.expected == f"at most {NUMBERS}"


def test_an_account_in_memory_does_not_count_in_a_forked_process(request_bytes, monkeypatch):
    own = teacher(max_numbers=NUMBERS)
    monkeypatch.setattr("os.getpid", lambda: -1)
    with pytest.raises(StorageError, match=r"process that made its teacher.*give it a store"):
        own.answer(request_bytes)
    monkeypatch.undo()
    assert own.answer(request_bytes)
