"""Bands of maps: together they are the layer, apart they read and make little."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.circuit.bands import Window, convolution, dense, pooling
from securefair.model.linear_maps import ConvMap, DenseMap, SumPool


def evaluated(banded, values):
    """Values (inputs, n) -> (values, n), band by band; squares are summed."""
    result = np.full((banded.values, values.shape[1]), np.nan)
    for band in banded.bands:
        out = band.layer.apply(values[band.reads], 0)
        result[band.writes] = out if band.groups is None else (out**2)[band.groups].sum(axis=1)
    return result


@st.composite
def convolutions(draw):
    groups = draw(st.integers(1, 2))
    channels, outputs = (groups * draw(st.integers(1, 3)) for _ in range(2))
    kernel = tuple(draw(st.integers(1, 3)) for _ in range(2))
    return {
        "shape": (channels, draw(st.integers(4, 7)), draw(st.integers(4, 7))),
        "outputs": outputs,
        "kernel": kernel,
        "stride": tuple(draw(st.integers(1, 2)) for _ in range(2)),
        "padding": tuple(draw(st.integers(0, 1)) for _ in range(2)),
        "groups": groups,
        "pool": draw(st.sampled_from([None, (1, 1), (2, 1), (2, 2)])),
        "by_position": draw(st.booleans()),
        "most": draw(st.integers(1, 40)),
        "seed": draw(st.integers(0, 1000)),
    }


@given(case=convolutions())
def test_a_convolution_in_bands_is_the_convolution(case):
    rng = np.random.default_rng(case["seed"])
    shape, groups = case["shape"], case["groups"]
    weights = rng.integers(-9, 9, (case["outputs"], shape[0] // groups, *case["kernel"]))
    window = Window(shape, case["kernel"], case["stride"], case["padding"], case["pool"])
    if min(window.positions) < 1 or min(window.pooled) < 1:
        return
    size = (case["outputs"], *window.positions) if case["by_position"] else case["outputs"]
    bias = rng.normal(size=size)
    layer = ConvMap(weights.astype(float), bias, case["stride"], case["padding"], groups)
    values = rng.normal(size=(5, *shape))
    expected = layer.apply(values)
    if case["pool"]:
        expected = SumPool(case["pool"], case["pool"]).apply(expected**2)
    banded = convolution(weights, bias, window, groups=groups, most=case["most"])
    found = evaluated(banded, values.reshape(5, -1).T)
    np.testing.assert_allclose(found.T, expected.reshape(5, -1), atol=1e-9)
    if not case["pool"]:
        assert banded.multiply_adds == layer.multiply_adds(shape)
    terms = np.prod(case["pool"] or (1, 1))
    for band in banded.bands:
        positions = len(band.writes) // case["outputs"]
        assert positions == 1 or band.layer.outputs <= case["most"]
        assert band.layer.outputs == len(band.writes) * terms
        assert (np.diff(band.reads) > 0).all()


@pytest.mark.parametrize("padding", [(0, 0), (1, 1)])
@pytest.mark.parametrize("most", [1, 9, 100])
def test_a_pool_in_bands_is_the_pool(padding, most):
    layer = SumPool((2, 3), (2, 2), padding)
    values = np.random.default_rng(0).normal(size=(4, 3, 6, 7))
    banded = pooling(Window((3, 6, 7), (2, 3), (2, 2), padding, None), most=most)
    found = evaluated(banded, values.reshape(4, -1).T).T
    np.testing.assert_allclose(found, layer.apply(values).reshape(4, -1))


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("most", [1, 3, 100])
def test_a_dense_map_in_bands_is_the_map(squared, most):
    rng = np.random.default_rng(0)
    weights, bias = rng.integers(-9, 9, (7, 5)), rng.normal(size=7)
    values = rng.normal(size=(4, 5))
    expected = DenseMap(weights.astype(float), bias).apply(values)
    banded = dense(weights, bias, squared=squared, most=most)
    assert len(banded.bands) == -(-7 // most)
    np.testing.assert_allclose(evaluated(banded, values.T).T, expected**2 if squared else expected)


def test_bands_read_a_neighbourhood_and_not_the_image():
    window = Window((4, 16, 16), (3, 3), (1, 1), (1, 1), (2, 2))
    banded = convolution(np.ones((4, 4, 3, 3), dtype=int), np.zeros(4), window, most=64)
    assert len(banded.bands) == 16  # 4x4 positions before the pool
    assert max(len(band.reads) for band in banded.bands) == 4 * 6 * 6


def test_weights_never_print():
    assert "77" not in repr(dense(np.full((3, 5), 77), np.zeros(3), squared=False))
