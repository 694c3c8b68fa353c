import json
import struct
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from securefair.errors import ConfigError, LocalProtocolError, RemoteProtocolError
from securefair.protocol import messages
from securefair.protocol.codec import (
    FORMAT_VERSION,
    FRAMING_BYTES,
    TYPE_CODES,
    Limits,
    decode,
    encode,
    kind_of,
)
from securefair.protocol.guarantee import StatedGuarantee
from securefair.protocol.messages import (
    MESSAGE_TYPES,
    PART_ROOM,
    SALT_BYTES,
    Answer,
    Ask,
    Decline,
    DeclineReason,
    Features,
    Hello,
    Key,
    Keys,
    Offer,
    Parts,
    Recover,
    Reveal,
    fingerprint,
    name_of,
)

VECTORS = json.loads(
    (Path(__file__).parents[2] / "vectors" / "messages.json").read_text(encoding="utf-8")
)
VECTOR_LIMITS = Limits(**VECTORS["limits"])
LIMITS = Limits(
    public_key=40,
    evaluation_keys=300,
    features=70_000,
    basis=40,
    question=40,
    answer=300,
    names=200,
    parts=102,
)

counters = st.integers(0, 2**31 - 1)
anything = st.one_of(
    st.builds(Hello, st.integers(0, 2**16 - 1), st.binary(min_size=32, max_size=32)),
    st.builds(Keys, counters, st.binary(max_size=40), st.binary(max_size=300)),
    st.builds(
        Features,
        counters,
        st.integers(1, 2**31 - 1),
        st.binary(max_size=300),
        st.binary(max_size=40),
    ),
    st.builds(
        Hello,
        st.integers(0, 2**16 - 1),
        st.binary(min_size=32, max_size=32),
        st.builds(
            StatedGuarantee,
            st.floats(0, 1e6, allow_subnormal=False),
            st.floats(0, 1, exclude_max=True, allow_subnormal=False),
        ),
    ),
    st.builds(
        Ask,
        counters,
        counters,
        st.binary(max_size=40),
        counters,
        st.lists(st.text(max_size=5), max_size=6).map(tuple),
    ),
    st.builds(Answer, counters, counters, st.binary(max_size=300), st.booleans()),
    st.builds(
        Decline,
        counters,
        counters,
        st.sampled_from(DeclineReason),
        st.booleans(),
        st.lists(st.text(max_size=5), max_size=6).map(tuple),
    ),
    st.builds(Offer, counters, st.booleans()),
    st.builds(Reveal, counters, counters),
    st.builds(Key, counters, counters, st.binary(min_size=32, max_size=32)),
    st.builds(
        Recover,
        counters,
        counters,
        st.lists(st.text(max_size=5), max_size=6).map(tuple),
        st.lists(st.binary(min_size=16, max_size=16), max_size=6).map(tuple),
    ),
    st.builds(
        Parts,
        counters,
        counters,
        st.lists(st.binary(min_size=32, max_size=32), min_size=1, max_size=3).map(tuple),
    ),
)


def read(frame: bytes, limits: Limits = LIMITS):
    return decode(frame, sender="bea", limits=limits)


def outcome(frame: bytes):
    """A message or the fault that refuses the frame; any other exception is a bug."""
    try:
        return read(frame)
    except RemoteProtocolError as fault:
        return fault


def is_refused_or_canonical(frame: bytes) -> bool:
    """The contract for arbitrary bytes: a fault of the sender, or a message's one encoding."""
    found = outcome(frame)
    if isinstance(found, RemoteProtocolError):
        return found.culprit == "bea" and None not in (found.found, found.expected, found.where)
    return encode(found, LIMITS) == frame


@pytest.mark.parametrize("vector", VECTORS["good"], ids=lambda vector: vector["name"])
def test_good_vectors_decode_to_their_message_and_back(vector):
    frame = bytes.fromhex(vector["frame"])
    message = read(frame, VECTOR_LIMITS)
    fields = {
        name: value.hex()
        if isinstance(value, bytes)
        else [one.hex() if isinstance(one, bytes) else one for one in value]
        if isinstance(value, tuple)
        else list(msgspec.structs.astuple(value))
        if isinstance(value, StatedGuarantee)
        else getattr(value, "value", value)
        for name, value in msgspec.structs.asdict(message).items()
    }
    assert {"type": name_of(type(message)), **fields} == vector["message"]
    assert encode(message, VECTOR_LIMITS) == frame


@pytest.mark.parametrize("vector", VECTORS["bad"], ids=lambda vector: vector["name"])
def test_bad_vectors_are_refused_for_the_reason_given(vector):
    with pytest.raises(RemoteProtocolError) as caught:
        read(bytes.fromhex(vector["frame"]), VECTOR_LIMITS)
    fault = caught.value
    assert fault.culprit == "bea"
    assert fault.where == vector["where"]
    assert fault.problem == f"peer bea: {vector['problem']}"


def test_vectors_cover_every_type_and_every_decline():
    good = [vector["message"] for vector in VECTORS["good"]]
    assert {message["type"] for message in good} == {name_of(kind) for kind in MESSAGE_TYPES}
    assert {message.get("reason") for message in good} - {None} == {r.value for r in DeclineReason}


@given(anything)
def test_round_trip(message):
    frame = encode(message, LIMITS)
    assert read(frame) == message
    assert kind_of(frame) == name_of(type(message))
    assert frame[:2] == bytes((FORMAT_VERSION, TYPE_CODES[type(message)]))


@given(st.binary(max_size=400))
@example(b"")
@example(bytes((FORMAT_VERSION, 4)) + b"\x91" * 80)
def test_random_bytes_never_escape(frame):
    assert is_refused_or_canonical(frame)
    assert kind_of(frame) in {"unknown", *(name_of(kind) for kind in MESSAGE_TYPES)}


@given(st.sampled_from(sorted(TYPE_CODES.values())), st.binary(max_size=100))
def test_random_bodies_never_escape(code, body):
    assert is_refused_or_canonical(bytes((FORMAT_VERSION, code)) + body)


@given(anything, st.data())
def test_every_truncation_is_refused(message, data):
    frame = encode(message, LIMITS)
    length = data.draw(st.integers(0, len(frame) - 1))
    with pytest.raises(RemoteProtocolError):
        read(frame[:length])


@given(anything, st.binary(min_size=1, max_size=5))
def test_every_extension_is_refused(message, more):
    with pytest.raises(RemoteProtocolError):
        read(encode(message, LIMITS) + more)


@given(anything, st.data())
def test_a_flipped_bit_is_refused_or_another_message(message, data):
    frame = bytearray(encode(message, LIMITS))
    bit = data.draw(st.integers(0, 8 * len(frame) - 1))
    frame[bit // 8] ^= 1 << bit % 8
    assert is_refused_or_canonical(bytes(frame))
    assert outcome(bytes(frame)) != message


@pytest.mark.parametrize("kind", MESSAGE_TYPES, ids=name_of)
def test_the_length_is_checked_before_the_body_is_read(kind):
    """Garbage that is too long is refused for its length, so its body was not parsed."""
    header = bytes((FORMAT_VERSION, TYPE_CODES[kind]))
    longest = LIMITS.of_frame(kind) - len(header)
    with pytest.raises(RemoteProtocolError, match="too long"):
        read(header + b"\xc1" * (longest + 1))
    with pytest.raises(RemoteProtocolError, match="schema"):
        read(header + b"\xc1" * longest)


def test_a_claimed_length_allocates_nothing():
    """A body of 8 bytes that claims a question of 4 GB."""
    body = b"\x95\x00\x00\xc6" + struct.pack(">I", 2**32 - 1)
    with pytest.raises(RemoteProtocolError, match="truncated"):
        read(bytes((FORMAT_VERSION, TYPE_CODES[Ask])) + body)


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (Keys(0, bytes(41), b""), "keys.public_key"),
        (Keys(0, b"", bytes(301)), "keys.evaluation_keys"),
        (Features(0, 1, bytes(70_001), b""), "features.payload"),
        (Features(0, 1, b"", bytes(41)), "features.basis"),
        (Ask(0, 0, bytes(41)), "ask.payload"),
        (Answer(0, 0, bytes(301)), "answer.payload"),
    ],
)
def test_each_field_has_its_own_limit(message, field):
    """Even when the whole frame is short enough, thanks to the room for framing."""
    generous = Limits(
        public_key=999, evaluation_keys=999, features=99_999, basis=99, question=99, answer=999
    )
    frame = encode(message, generous)
    assert len(frame) <= LIMITS.of_frame(type(message))
    with pytest.raises(RemoteProtocolError, match="a field is too long") as caught:
        read(frame)
    assert caught.value.where == field
    with pytest.raises(LocalProtocolError, match=field):
        encode(message, LIMITS)


@pytest.mark.parametrize(
    "message",
    [
        Hello(1, bytes(31)),
        Hello(-1, bytes(32)),
        Features(0, 0, b"", b""),
        Ask(2**31, 0, b""),
        Answer(0, 0, "text"),  # type: ignore[arg-type]
        Decline(0, 0, "not a reason"),  # type: ignore[arg-type]
    ],
    ids=repr,
)
def test_nothing_is_sent_that_the_other_side_would_refuse(message):
    with pytest.raises(LocalProtocolError):
        encode(message, LIMITS)


@given(anything)
def test_framing_fits_its_allowance(message):
    payload = sum(
        len(value) for value in msgspec.structs.asdict(message).values() if type(value) is bytes
    )
    if isinstance(message, Parts):  # as many as were agreed on have room of their own
        payload = PART_ROOM * len(message.parts)
    if isinstance(message, Recover):  # in the same room, and names in theirs
        assert SALT_BYTES + 2 <= PART_ROOM
        names = sum(len(name.encode()) for name in message.lost)
        payload = (SALT_BYTES + 2) * len(message.salts) + names
    framing = len(encode(message, LIMITS)) - (0 if isinstance(message, Hello) else payload)
    assert framing <= FRAMING_BYTES


def test_fields_exactly_at_their_limits_fit():
    longest = Features(2**31 - 1, 2**31 - 1, bytes(70_000), bytes(40))
    assert read(encode(longest, LIMITS)) == longest
    assert LIMITS.largest_frame == LIMITS.of_frame(Features) == 70_040 + FRAMING_BYTES


def test_a_negative_limit_is_refused():
    with pytest.raises(ConfigError, match="answer"):
        Limits(public_key=0, evaluation_keys=0, features=0, basis=0, question=0, answer=-1)


def test_messages_print_their_size_and_not_their_bytes():
    assert (
        repr(Answer(3, 0, bytes(1000)))
        == "Answer(round=3, attempt=0, payload=<1000 bytes>, summed=False)"
    )


@given(anything, anything)
def test_fingerprints_tell_messages_apart(one, other):
    if type(one) is type(other):
        assert (fingerprint(one) == fingerprint(other)) == (one == other)


def test_every_message_of_the_module_has_a_code():
    defined = {
        value
        for value in vars(messages).values()
        if isinstance(value, type)
        and issubclass(value, msgspec.Struct)
        and value.__module__ == messages.__name__
    }
    assert defined == set(MESSAGE_TYPES) == set(TYPE_CODES)
    assert len(set(TYPE_CODES.values())) == len(TYPE_CODES)
