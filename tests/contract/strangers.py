"""What strangers send, one function a way in: bytes that are no message must be refused by name.

Each takes any bytes and raises nothing but what it lets through: `scripts/fuzz_messages.py` looks
for bytes that make it raise something else, `test_fuzzed_bytes.py` replays those it learned from.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache

import numpy as np

from securefair.averaging.gathering import Gathering
from securefair.averaging.messages import check_request, read_weights
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks import rules
from securefair.ckks.backends import wire
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.data.dataset import Samples
from securefair.errors import SecureFairError
from securefair.exchange.request import decode_request
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.model.heads import build_head
from securefair.protocol.codec import Limits, decode, encode, kind_of
from support.moves import play

LIMITS = Limits(
    public_key=40,
    evaluation_keys=300,
    features=70_000,
    basis=40,
    question=40,
    answer=300,
    names=200,
)
PARAMS = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(30, 30), special_bits=31))
META = rules.fresh(PARAMS, count=1, limbs=1, log2_scale=20, bound=1.0)
RECEIVING = Gathering(session=bytes(32), round=0, receiver="a", senders=("b", "c", "d"))


def frame(data: bytes) -> None:
    """A frame of the protocol; what is read is written the same way again."""
    try:
        kind_of(data)
        message = decode(data, sender="peer", limits=LIMITS)
    except SecureFairError:
        return
    if encode(message, LIMITS) != data:
        raise AssertionError("a frame has two spellings")


def request(data: bytes) -> None:
    """A library request, up to the point where ciphertexts are read."""
    try:
        decode_request(data)
    except SecureFairError:
        return
    try:
        _teacher().answer(data)
    except SecureFairError:
        return
    raise AssertionError("an empty request was answered")


def answer(data: bytes) -> None:
    """An answer of one coefficient, and a whole one."""
    for read in (
        lambda: wire.read_answer(data, META, 1),
        lambda: wire.read_whole(data, META),
        lambda: wire.read_upload(data, META),
        lambda: wire.read_public_key(data, PARAMS),
    ):
        try:
            read()
        except SecureFairError:
            continue


def opened(data: bytes) -> None:
    """An answer as a student opens it, on the backend without encryption."""
    try:
        values = _student().open_evaluated(data).released
    except SecureFairError:
        return
    if not np.isfinite(values).all():
        raise AssertionError("an answer opened to what is no number")


def sums(data: bytes) -> None:
    """A receiver's weights, and shares to a sum."""
    for count in (1, 3):
        try:
            weights = read_weights(data, count, RECEIVING)
        except SecureFairError:
            continue
        if not all(0 <= weight <= 1.001 for weight in weights):
            raise AssertionError("weights beyond 1")
    with suppress(SecureFairError):
        check_request(data, 24, RECEIVING)


def machines(data: bytes) -> None:
    """Machines whose network, processors, clock and peers do what bytes say."""
    play(data)


TARGETS: dict[str, Callable[[bytes], None]] = {
    each.__name__: each for each in (frame, request, answer, opened, sums, machines)
}


@cache
def _teacher() -> Teacher:
    return Teacher(build_head("linear", 2, 0, 2, 0), backend="clear")


@cache
def _student() -> Student:
    spec = ExchangeSpec(features=2, classes=2, samples=4, hidden=0, release="projection", q=2)
    student = Student(spec, backend="clear", max_openings=None)
    features = np.array([[0.1, 0.2], [0.3, -0.4], [0.5, 0.6], [-0.7, 0.8]])
    student.encrypt_features(Samples(features, np.array([0, 1, 0, 1]), classes=2))
    return student
