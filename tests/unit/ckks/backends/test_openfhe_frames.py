import io
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from securefair.ckks.backends.openfhe_child.frames import (
    FRAME,
    LENGTH,
    MAGIC,
    MAX_FRAME,
    MAX_PARTS,
    pack,
    pack_array,
    read_frame,
    unpack_array,
)


def reader(data):
    stream = io.BytesIO(data)

    def read(size):
        assert size <= MAX_FRAME
        got = stream.read(size)
        if len(got) < size:
            raise EOFError
        return got

    return read


@given(code=st.integers(0, 255), parts=st.lists(st.binary(max_size=40), max_size=MAX_PARTS))
def test_a_frame_reads_back(code, parts):
    assert read_frame(reader(pack(code, parts))) == (code, parts)


@given(data=st.binary(max_size=60))
def test_noise_is_refused_or_unfinished(data):
    with pytest.raises((ValueError, EOFError)):
        read_frame(reader(data))


@given(parts=st.lists(st.binary(max_size=20), max_size=MAX_PARTS), cut=st.integers(1, 10))
def test_a_cut_frame_is_unfinished(parts, cut):
    with pytest.raises(EOFError):
        read_frame(reader(pack(1, parts)[:-cut]))


def test_too_many_parts_are_refused_before_their_lengths_are_read():
    with pytest.raises(ValueError, match="not a frame"):
        read_frame(reader(FRAME.pack(MAGIC, 0, MAX_PARTS + 1)))


@pytest.mark.parametrize("lengths", [[MAX_FRAME + 1], [MAX_FRAME, 1], [2**64 - 1, 2**64 - 1]])
def test_a_frame_beyond_the_limit_is_refused_before_it_is_read(lengths):
    header = FRAME.pack(MAGIC, 0, len(lengths)) + b"".join(map(LENGTH.pack, lengths))
    with pytest.raises(ValueError, match="bytes"):
        read_frame(reader(header))


@given(arrays.arrays(np.float64, arrays.array_shapes(min_dims=2, max_dims=2, max_side=6)))
def test_an_array_reads_back(values):
    np.testing.assert_array_equal(unpack_array(pack_array(values)), values)


@pytest.mark.parametrize("part", [b"", b"\1\0\0\0", struct.pack("<II", 2, 2) + bytes(24)])
def test_an_array_of_another_length_is_refused(part):
    with pytest.raises((ValueError, struct.error)):
        unpack_array(part)
