"""A state that was written and read goes on exactly as it would have."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from securefair.collaboration.state import decode_state, encode_state
from securefair.errors import DataError, LocalProtocolError
from securefair.model.heads import build_head
from securefair.model.optimizer import OptimizerConfig
from securefair.model.training import TrainState, train_epochs


@dataclass(frozen=True, eq=False)
class State:
    value: object


@dataclass(frozen=True, eq=False)
class Earlier:
    """The same before its field had another name."""

    number: object


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers(0, 9), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(PLAIN)
def test_plain_values_keep_their_types_and_bits(value):
    restored = decode_state(encode_state(State(value)), State(None))
    assert repr(restored.value) == repr(value)


@pytest.mark.parametrize(
    "array",
    [
        np.array([[0.1, np.nan], [-0.0, np.inf]]),
        np.arange(6, dtype=np.int32).reshape(1, 2, 3),
        np.array(2.5, dtype=np.float32),
        np.zeros((0, 3)),
        np.array([True, False]),
    ],
)
def test_arrays_and_tensors_keep_their_bits(array):
    restored = decode_state(encode_state(State((array, torch.from_numpy(array)))), State(None))
    found, tensor = restored.value
    for other in (found, tensor.numpy()):
        assert (other.dtype, other.shape) == (array.dtype, array.shape)
        assert other.tobytes() == array.tobytes()


def test_a_train_state_goes_on_with_its_momentum(make_hospital):
    samples = make_hospital().train

    def train_state(seed):
        return TrainState.start(build_head("quadratic", 4, 3, 2, seed), OptimizerConfig())

    one, fresh = train_state(0), train_state(1)
    train_epochs(one, samples, 3)
    other = decode_state(encode_state(State({"a": one})), State({"a": fresh})).value["a"]
    before = [parameter.clone() for parameter in fresh.model.parameters()]
    for each in (one, other):
        train_epochs(each, samples, 3)
    for a, b in zip(one.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(a, b)
    for a, b in zip(before, fresh.model.parameters(), strict=True):
        assert torch.equal(a, b)  # the template is left as it was


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({1, 2}, r"state\.value.*set"),
        ({"a": [object()]}, r"state.value\['a'\]\[0\].*object"),
        (np.array(["text"]), r"state\.value.*<U4"),
        (np.random.default_rng(0), "Generator"),
    ],
)
def test_what_cannot_be_stored_is_named(value, words):
    with pytest.raises(LocalProtocolError, match=words):
        encode_state(State(value))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        encode_state(State(0))[:-1],
        encode_state(
            replace(
                State(0),
                value=TrainState.start(build_head("linear", 2, 0, 2, 0), OptimizerConfig()),
            )
        ),
        encode_state({"other": 1}) + b"x",
        b"\x92\xa3odd\x00",
        encode_state(Earlier(0)),
    ],
)
def test_damaged_bytes_are_refused(data):
    with pytest.raises(DataError, match="no snapshot"):
        decode_state(data, State(None))


def test_code_in_the_bytes_is_never_run():
    """Types are read as numbers only; numpy would otherwise unpickle objects."""
    import msgspec

    data = msgspec.msgpack.encode(["array", "|O", [1], b"\x00" * 8])
    with pytest.raises(DataError, match="no numbers"):
        decode_state(data, None)
