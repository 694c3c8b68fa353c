"""Requests that are granted by the plan and refused later leave nothing behind.

Adversary: a stranger, who chooses ring and primes with its schedule. It sends parts of the planned
lengths with one residue that its prime does not allow, so nothing is charged. The former teacher
built SEAL's context of whatever ring first, and kept sixteen of them: 40 requests took 2.7 GB.
Protected: the teacher's memory and time. `bench/refusals.py` measures both.
"""

import contextlib
import gc
import itertools
import tracemalloc
import weakref

import msgspec
import pytest

from securefair.circuit.evaluation import evaluate
from securefair.circuit.planner import flooded, plan_exchange, verified_plan
from securefair.circuit.schedule import LayerSteps, RescaleStep
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends import get_backend, seal_context
from securefair.ckks.backends.seal_bytes import SEED_BYTES
from securefair.ckks.backends.seal_keys import load_public_key
from securefair.ckks.backends.wire import switching_key_bytes
from securefair.ckks.keys import PublicKeys
from securefair.ckks.parameters import CkksSpec
from securefair.errors import EncryptionError, PlanError, SecureFairError
from securefair.exchange.request import REQUEST_FORMAT, Request, decode_request
from securefair.exchange.teacher import Teacher
from securefair.exchange.upload import receive_upload
from securefair.model.heads import build_head

SPEC = ExchangeSpec(features=5, hidden=6, classes=2, samples=40, q=8)
LOGITS = msgspec.structs.replace(SPEC, release="logits", samples=1100)  # with a key
MODEL = build_head("quadratic", 5, 6, 2, 1)


def chosen(spec):
    """Plans with rings and primes of a student's choice, all of which the spec grants."""
    own, found = plan_exchange(spec, coefficients=False).schedule, []
    sizes = itertools.product((8192, 16_384, 32_768), (5, 6), (28, 29, 30, 31))
    for ring_degree, limbs, bits in sizes:
        ckks = CkksSpec(
            ring_degree=ring_degree, limb_bits=(31,) + (bits,) * (limbs - 1), special_bits=31
        )
        whole = RescaleStep(relinearize=False, limbs=limbs)
        stages = (LayerSteps(linear=whole, square=whole), LayerSteps(linear=whole, square=None))
        schedule = msgspec.structs.replace(own, ckks=ckks, product_limbs=limbs, stages=stages)
        with contextlib.suppress(PlanError):
            plan = evaluate(spec, schedule)
            if plan is not None:
                found.append(verified_plan(spec, flooded(plan).schedule))
    assert len({plan.params.ring_degree for plan in found}) >= 2
    return found


def hollow(plan):
    """A request in which only the last residue of the features is refused."""
    features = bytearray(plan.feature_bytes)
    features[-SEED_BYTES - 4 : -SEED_BYTES] = b"\xff" * 4
    keys = [
        bytes(switching_key_bytes(plan.params, limbs))
        for limbs in (plan.relinearization_limbs, plan.galois_limbs)
    ]
    return msgspec.msgpack.encode(
        Request(
            format=REQUEST_FORMAT,
            spec=plan.spec,
            schedule=plan.schedule,
            digest=plan.digest,
            seed=b"",
            public_key=memoryview(bytes(plan.public_key_bytes)),
            evaluation_keys=memoryview(PublicKeys(b"", *keys).evaluation),
            features=memoryview(features),
            basis=memoryview(b""),
            predictions=memoryview(b""),
        )
    )


@pytest.fixture
def built(monkeypatch):
    """Parameters of every context that is built."""
    found = []

    class Counted(seal_context.SealContext):
        def __init__(self, params):
            found.append(params)
            super().__init__(params)

    gc.collect()
    seal_context.seal_context.cache_clear()
    monkeypatch.setattr(seal_context, "_IN_USE", weakref.WeakValueDictionary())
    monkeypatch.setattr(seal_context, "SealContext", Counted)
    yield found
    seal_context.seal_context.cache_clear()


def former_answer(plan, backend, kept):
    """The former step: a context and the peer's key in SEAL before any residue was looked at."""
    asked = decode_request(hollow(plan))
    context = kept[plan.params] = seal_context.SealContext(plan.params)
    load_public_key(context, bytes(asked.public_key))
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
        assert teacher._account.spent().numbers == 0
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
