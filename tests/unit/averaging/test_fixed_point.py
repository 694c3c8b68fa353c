"""Integers modulo a power of two: rounding to nearest, no wrap within the planned range."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from securefair.averaging import SumSpec
from securefair.averaging.fixed_point import FixedPoint

bits = st.sampled_from([32, 64])


@given(
    bits,
    st.integers(2, 4096),
    st.floats(2.0**-30, 2.0**30),
)
@example(32, 4096, (2.0**31 - 100) / 2.0**27)  # the rounding alone would wrap around
def test_no_sum_within_the_bound_wraps_around(word_bits, senders, bound):
    spec = SumSpec(parameters=1, senders=senders, bound=bound)
    fixed = FixedPoint.largest(spec, word_bits)
    # Every sender's integer is rounded up by at most a half.
    largest = bound * (1 + 1e-9) * 2.0**fixed.log2_scale + senders / 2
    assert largest < 2 ** (word_bits - 1)
    assert 4 * largest > 2 ** (word_bits - 1)  # and no bit is wasted


@given(
    bits,
    st.lists(st.floats(-1, 1), min_size=2, max_size=6),
    st.lists(st.floats(0, 1), min_size=6, max_size=6),
)
def test_a_sum_of_words_is_the_sum_of_values_within_the_bound(word_bits, values, shares):
    spec = SumSpec(parameters=1, senders=len(values), bound=1.0)
    fixed = FixedPoint.largest(spec, word_bits)
    whole = max(1.0, sum(shares[: len(values)]))
    weights = [share / whole for share in shares]
    words = np.zeros(1, dtype=fixed.word)
    for value, weight in zip(values, weights, strict=False):
        words += fixed.encode(np.array([value]), weight)
    out = np.empty(1)
    fixed.decode(words, out)
    expected = sum(value * weight for value, weight in zip(values, weights, strict=False))
    assert abs(out[0] - expected) <= fixed.error_bound(spec)


def test_values_are_rounded_to_nearest():
    fixed = FixedPoint(32, 1)
    assert fixed.encode(np.array([0.6, -0.6, 0.74, -0.76]), 1.0).view("<i4").tolist() == [
        1,
        -1,
        1,
        -2,
    ]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_encoding_leaves_its_input_alone(dtype):
    values = np.ones(3, dtype=dtype)
    FixedPoint(32, 4).encode(values, 0.5)
    assert (values == 1).all()
