import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch.nn.functional import avg_pool2d, conv2d

from securefair.errors import ModelError
from securefair.model.linear_maps import ConvMap, DenseMap, SumPool

pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))
paddings = st.tuples(st.integers(0, 2), st.integers(0, 2))


@given(pairs, pairs, paddings, st.integers(1, 3), st.booleans(), st.integers(0, 2**32 - 1))
def test_a_convolution_is_the_frameworks(kernel, stride, padding, groups, by_position, seed):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(2 * groups, 2, *kernel))
    values = rng.normal(size=(3, 2 * groups, 5, 4))
    conv = ConvMap(weights, rng.normal(size=2 * groups), stride, padding, groups)
    reference = conv2d(
        *map(torch.from_numpy, (values, weights, conv.bias)), stride, padding, groups=groups
    ).numpy()
    if by_position:
        bias = rng.normal(size=reference.shape[1:])
        reference += bias - conv.bias[:, None, None]
        conv = ConvMap(weights, bias, stride, padding, groups)
    np.testing.assert_allclose(conv.apply(values), reference, atol=1e-12)
    assert conv.output_shape(values.shape[1:]) == reference.shape[1:]


@given(pairs, pairs, paddings)
def test_pooling_sums_what_the_framework_averages(kernel, stride, padding):
    assume(all(2 * p <= k for p, k in zip(padding, kernel, strict=True)))
    values = np.random.default_rng(1).normal(size=(2, 3, 6, 5))
    pool = SumPool(kernel, stride, padding)
    mean = avg_pool2d(torch.from_numpy(values), kernel, stride, padding).numpy()
    np.testing.assert_allclose(pool.apply(values), mean * np.prod(kernel), atol=1e-12)
    assert pool.multiply_adds(values.shape[1:]) == 0


@given(pairs, pairs, paddings, st.sampled_from([1, 2]))
def test_products_are_counted_where_the_window_lies_on_values(kernel, stride, padding, groups):
    # With all weights and values 1, the sum of the outputs counts the products.
    conv = ConvMap(np.ones((4, 2 // groups, *kernel)), np.zeros(4), stride, padding, groups)
    assert conv.multiply_adds((2, 5, 4)) == conv.apply(np.ones((1, 2, 5, 4))).sum()


def test_a_dense_map_flattens_channels_first():
    values = np.arange(12.0).reshape(1, 3, 2, 2)
    dense = DenseMap(np.eye(12)[[4, 1]], np.array([0.5, 0.0]))
    np.testing.assert_array_equal(dense.apply(values), [[4.5, 1.0]])
    assert dense.output_shape((3, 2, 2)) == (2,)
    assert dense.multiply_adds((3, 2, 2)) == 24


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (ConvMap(np.ones((2, 3, 3, 3)), np.zeros(2)), (2, 8, 8)),  # channels
        (ConvMap(np.ones((2, 3, 3, 3)), np.zeros(2)), (3, 2, 8)),  # lower than the window
        (ConvMap(np.ones((2, 3, 3, 3)), np.zeros((2, 6, 6))), (3, 8, 9)),  # bias by position
        (ConvMap(np.ones((2, 3, 3, 3)), np.zeros(2)), (192,)),
        (DenseMap(np.ones((2, 3)), np.zeros(2)), (2, 2)),
        (SumPool((2, 2), (2, 2)), (4,)),
        (SumPool((2, 2), (2, 2)), (1, 1, 4)),
    ],
)
def test_shapes_that_do_not_fit_are_refused(layer, shape):
    with pytest.raises(ModelError):
        layer.output_shape(shape)


@pytest.mark.parametrize(
    "build",
    [
        lambda: ConvMap(np.ones((2, 3, 3)), np.zeros(2)),
        lambda: ConvMap(np.ones((2, 3, 3, 3)), np.zeros(3)),
        lambda: ConvMap(np.ones((3, 1, 3, 3)), np.zeros(3), groups=2),
        lambda: ConvMap(np.ones((2, 3, 3, 3)), np.zeros(2), stride=(0, 1)),
        lambda: ConvMap(np.full((2, 3, 3, 3), np.nan), np.zeros(2)),
        lambda: DenseMap(np.ones((2, 3)), np.zeros(3)),
        lambda: DenseMap(np.ones((2, 3)), np.array([0, np.inf])),
        lambda: SumPool((2, 2), (0, 1)),
        lambda: SumPool((2, 2), (2, 2), (2, 0)),
    ],
)
def test_maps_that_make_no_sense_are_refused(build):
    with pytest.raises(ModelError):
        build()
