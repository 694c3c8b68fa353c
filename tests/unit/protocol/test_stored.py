"""A memory as bytes and back; `test_machines_joined` does so after every input of whole runs."""

import contextlib

import msgspec
import pytest

from securefair.errors import LocalProtocolError
from securefair.protocol.ledger import DisclosurePolicy, Ledger
from securefair.protocol.messages import Ask, Keys
from securefair.protocol.states import ServingState
from securefair.protocol.stored import APART_BYTES, decode_memory, encode_memory
from securefair.protocol.turn import Introduction, Memory, Peer, Serving

POLICY = DisclosurePolicy(
    release="projection",
    classes=2,
    rows=3,
    teacher_parameters=50,
    fraction_per_version=0.1 + 0.2,
)
LARGE = bytes(range(256)) * 9
PEER = Peer(
    introduction=Introduction(
        keys=Keys(3, LARGE, b"evk"), fingerprints={Keys: bytes(32)}, key_epoch=3
    ),
    reputation=1 / 3,
    serving={(7, False): Serving(Ask(7, 0, b""), ServingState.COMPUTING)},
)
MEMORY = Memory(ledger=Ledger(POLICY).with_sum("bea"), peers={"bea": PEER, "cem": Peer()})


def test_what_is_read_is_what_was_written():
    data, apart = encode_memory(MEMORY)
    assert decode_memory(data, apart.__getitem__) == MEMORY


def test_large_byte_strings_stand_apart():
    data, apart = encode_memory(MEMORY)
    assert list(apart.values()) == [LARGE]
    assert len(data) < APART_BYTES


def test_a_large_byte_string_that_is_another_is_noticed():
    data, _ = encode_memory(MEMORY)
    with pytest.raises(LocalProtocolError, match="no memory"):
        decode_memory(data, lambda _: LARGE + b"!")


@pytest.mark.parametrize("at", range(0, 400, 7))
def test_damaged_bytes_are_no_memory_or_another(at):
    data, apart = encode_memory(MEMORY)
    damaged = bytearray(data)
    damaged[at % len(data)] ^= 0x55
    with contextlib.suppress(LocalProtocolError):  # and nothing else
        decode_memory(bytes(damaged), apart.__getitem__)


@pytest.mark.parametrize("content", [None, 3, "memory", ["Memory"], ["Peer", 1], {}, []])
def test_what_is_no_memory_says_so(content):
    with pytest.raises(LocalProtocolError):
        decode_memory(msgspec.msgpack.encode(content), lambda _: b"")


def test_byte_strings_that_are_the_same_objects_are_hashed_once(monkeypatch):
    data, apart = encode_memory(MEMORY)
    monkeypatch.setattr("securefair.protocol.stored.hashlib", None)
    assert encode_memory(MEMORY, apart) == (data, apart)
