"""Requests that are granted by the plan and refused later leave nothing behind.

Adversary: a stranger, who chooses ring and primes with its schedule. It sends parts of the planned
lengths with one residue that its prime does not allow, so nothing is charged. The former teacher
built SEAL's context of whatever ring first, and kept sixteen of them: 40 requests took 2.7 GB.
Protected: the teacher's memory and time. `bench/refusals.py` measures both.
"""

import tracemalloc
import weakref

import msgspec
import pytest

from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends import get_backend, seal_context
from securefair.ckks.keys import PublicKeys
from securefair.errors import EncryptionError, PlanError, SecureFairError
from securefair.exchange.request import decode_request
from securefair.exchange.teacher import Teacher
from securefair.exchange.upload import receive_upload
from securefair.model.heads import build_head
from support.refused_later import granted, hollow
from support.seal_reference import load_public_key

SPEC = ExchangeSpec(features=5, hidden=6, classes=2, samples=40, q=8)
LOGITS = msgspec.structs.replace(SPEC, release="logits", samples=1100)  # with a key
MODEL = build_head("quadratic", 5, 6, 2, 1)


def chosen(spec):
    """Plans with rings and primes of a student's choice, all of which the spec grants."""
    found = granted(spec, bits_of=range(28, 32), limbs_of=range(5, 7))
    assert len({plan.params.ring_degree for plan in found}) >= 2
    return found


@pytest.fixture
def built(monkeypatch):
    """Parameters of every context that is built."""
    found = []

    class Counted(seal_context.SealContext):
        def __init__(self, params):
            found.append(params)
            super().__init__(params)

    seal_context.seal_context.cache_clear()
    monkeypatch.setattr(seal_context, "_IN_USE", weakref.WeakValueDictionary())
    monkeypatch.setattr(seal_context, "SealContext", Counted)
    yield found
    seal_context.seal_context.cache_clear()


def former_answer(plan, backend, kept):
    """The former step: a context and the peer's key in SEAL before any residue was looked at."""
    asked = decode_request(hollow(plan))
    context = kept[plan.params] = seal_context.SealContext(plan.params)
    load_public_key(context, plan.params, bytes(asked.public_key))
    keys = PublicKeys.read(bytes(asked.public_key), bytes(asked.evaluation_keys))
    receive_upload(plan, backend, keys, asked.features, b"", seed=b"", peer="")


@pytest.mark.parametrize("spec", [SPEC, LOGITS], ids=["projection", "logits"])
def test_the_former_step_kept_a_context_for_every_refusal(spec, built):
    plans, kept = chosen(spec), {}
    for plan in plans:
        with pytest.raises(EncryptionError, match="not below its prime"):
            former_answer(plan, get_backend("rns"), kept)
    assert len(built) == len(kept) == len(plans) >= 3
    assert max(params.ring_degree for params in kept) > 8192


@pytest.mark.parametrize("backend", ["rns", "seal"])
@pytest.mark.parametrize("spec", [SPEC, LOGITS], ids=["projection", "logits"])
def test_what_is_refused_builds_no_context(spec, backend, built):
    requests = [hollow(plan) for plan in chosen(spec)]
    for teacher in (Teacher(MODEL, backend=backend), Teacher(MODEL, spec, backend=backend)):
        for request in requests:
            tracemalloc.start()
            with pytest.raises(SecureFairError):
                teacher.answer(request)
            left, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert left < 1_000_000
        assert not teacher._account.accounts()
    assert built == []


def test_only_parameters_of_the_own_plan_are_verified_where_something_was_agreed(monkeypatch):
    own, others = plan_exchange(SPEC), chosen(SPEC)
    teacher = Teacher(MODEL, SPEC)
    teacher._check_parameters(SPEC, own.schedule)
    monkeypatch.setattr("securefair.exchange.teacher.verified_plan", None)  # whoever plans fails
    for plan in others:
        with pytest.raises(PlanError, match="not the parameters"):
            teacher.answer(hollow(plan))


def test_who_brings_fewer_samples_chooses_no_larger_ring():
    fewer = msgspec.structs.replace(SPEC, samples=20)
    own, teacher = plan_exchange(SPEC).params, Teacher(MODEL, SPEC)
    teacher._check_parameters(fewer, plan_exchange(fewer).schedule)
    for plan in chosen(fewer):
        if plan.params.ring_degree > own.ring_degree or plan.params.limbs > own.limbs:
            with pytest.raises(PlanError, match="not the parameters"):
                teacher._check_parameters(fewer, plan.schedule)


def test_two_contexts_stay(built):
    del built
    params = [plan.params for plan in chosen(SPEC)]
    for each in params:
        seal_context.seal_context(each)
    assert seal_context.seal_context.cache_info().currsize == seal_context.KEPT_CONTEXTS == 2
