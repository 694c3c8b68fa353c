import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.data.dataset import Samples
from securefair.errors import ModelError
from securefair.model.folded import FoldedNetwork, Square, dense_network
from securefair.model.heads import build_head
from securefair.model.linear_maps import ConvMap, DenseMap, SumPool
from securefair.model.quantize import quantize, quantize_at, rounding_report


def one_layer(weights):
    weights = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    return dense_network(DenseMap(weights, np.zeros(len(weights))))


@given(
    weights=st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=8),
    bits=st.integers(1, 30),
)
def test_integers_stay_below_the_bound_and_use_the_last_bit(weights, bits):
    quantized = quantize(one_layer(weights), bits)
    (scale,) = quantized.log2_scales
    assert quantized.largest < 2**bits
    if any(weights):
        # One bit more of scale would not have fitted.
        finer = np.ldexp(np.max(np.abs(weights)), scale + 1)
        assert finer >= 2**bits - 0.5


@given(
    weights=st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=8),
    bits=st.integers(1, 30),
)
def test_rounding_is_by_at_most_half_a_unit(weights, bits):
    quantized = quantize(one_layer(weights), bits)
    (scale,) = quantized.log2_scales
    error = np.abs(quantized.network.weighted[0].weights[0] - weights).max()
    assert error <= np.ldexp(0.5, -scale)


@pytest.mark.parametrize(
    ("weight", "bits", "integer", "log2_scale"),
    [
        (1.0, 12, 2048, 11),
        (-1.0, 12, -2048, 11),
        (4095 / 4096, 12, 4095, 12),
        (4095.5 / 4096, 12, 2048, 11),  # would round up to 2^12
        (3.0, 1, 1, -2),  # 0.75 of a unit of 4
        (2.0, 1, 1, -1),
    ],
)
def test_scales_computed_by_hand(weight, bits, integer, log2_scale):
    quantized = quantize(one_layer([weight]), bits)
    assert (quantized.integers[0].item(), quantized.log2_scales[0]) == (integer, log2_scale)


def test_a_layer_of_zeros_stays_zero():
    quantized = quantize(one_layer([0.0, 0.0]), 12)
    assert (quantized.logits(np.ones((3, 2))) == 0).all()


@pytest.mark.parametrize("bits", [0, 31, -1])
def test_bits_out_of_range_are_refused(bits):
    with pytest.raises(ModelError) as error:
        quantize(one_layer([1.0]), bits)
    assert (error.value.where, error.value.found) == ("weight_bits", bits)


def test_norms_are_those_of_the_real_weights():
    head = dense_network(DenseMap(np.array([[3.0, -4.0], [1.0, 0.0]]), np.array([0.25, -7.0])))
    (norms,) = quantize(head, 12).norms()
    assert norms.row_l1 == pytest.approx(7)
    assert norms.row_l2 == pytest.approx(5)
    assert norms.bias == 7


def test_more_bits_bring_the_logits_closer_and_the_report_says_so():
    rng = np.random.default_rng(0)
    samples = Samples(rng.normal(size=(200, 9)), rng.integers(0, 3, 200), 3)
    head = build_head("quadratic", 9, 12, 3, seed=3).folded()
    before, reports = head.logits(samples.features), []
    for bits in (4, 8, 12):
        quantized = quantize(head, bits)
        after = quantized.logits(samples.features)
        reports.append(rounding_report(before, after, samples.labels, quantized.largest))
    changes = [report.max_abs_logit_change for report in reports]
    assert changes[0] > 4 * changes[1] > 16 * changes[2] > 0
    assert changes[2] < 1e-2
    assert [report.weight_bits_used for report in reports] == [4, 8, 12]
    truth = np.mean(head.logits(samples.features).argmax(1) == samples.labels)
    assert all(report.accuracy_before == truth for report in reports)
    assert abs(reports[2].accuracy_after - truth) < 0.02


def test_the_quantised_head_computes_with_its_integers():
    head = build_head("quadratic", 4, 5, 2, seed=8).folded()
    quantized = quantize(head, 12)
    x = np.random.default_rng(1).normal(size=(6, 4))
    first, second = head.weighted
    (w1, _, w2), (s1, _, s2) = quantized.integers, quantized.log2_scales
    hidden = (x @ w1.T / 2**s1 + first.bias) ** 2
    expected = hidden @ w2.T / 2**s2 + second.bias
    np.testing.assert_allclose(quantized.logits(x), expected, rtol=1e-12)


@pytest.fixture
def network():
    rng = np.random.default_rng(2)
    return FoldedNetwork(
        (1, 5, 5),
        (
            ConvMap(rng.normal(size=(2, 1, 2, 2)), rng.normal(size=(2, 4, 4))),
            Square(),
            SumPool((2, 2), (2, 2)),
            DenseMap(rng.normal(size=(3, 8)), rng.normal(size=3)),
        ),
    )


def test_agreed_scales_are_used_and_the_rest_stays(network):
    quantized = quantize_at(network, (7, 20))
    assert quantized.log2_scales == (7, None, None, 20)
    for before, after, integers, scale in zip(
        network.layers,
        quantized.network.layers,
        quantized.integers,
        quantized.log2_scales,
        strict=True,
    ):
        if scale is None:
            assert after is before
            assert integers is None
        else:
            np.testing.assert_array_equal(integers, np.rint(before.weights * 2**scale))
            np.testing.assert_array_equal(after.weights * 2**scale, integers)
            np.testing.assert_array_equal(after.bias, before.bias)


def test_more_bits_bring_a_networks_logits_closer(network):
    x = np.random.default_rng(5).normal(size=(50, 1, 5, 5))
    errors = []
    for bits in (4, 8, 16):
        quantized = quantize(network, bits)
        largest = [int(np.abs(i).max()) for i in quantized.integers if i is not None]
        assert all(2 ** (bits - 1) <= value < 2**bits for value in largest)
        errors.append(np.abs(quantized.logits(x) - network.logits(x)).max())
    assert errors[0] > 4 * errors[1] > 100 * errors[2] > 0


def test_norms_of_a_convolution_are_those_of_whole_rows():
    weights = np.array([[[[3.0, -4.0]]], [[[1.0, 0.0]]]])  # two channels, window 1 x 2
    network = FoldedNetwork(
        (1, 1, 2), (ConvMap(weights, np.array([0.25, -7.0])), SumPool((1, 1), (1, 1)))
    )
    norms, none = quantize(network, 12).norms()
    assert none is None
    assert norms is not None
    assert (norms.row_l1, norms.row_l2, norms.bias) == (7, 5, 7)


def test_one_scale_a_map_with_weights(network):
    with pytest.raises(ModelError, match="one scale"):
        quantize_at(network, (7, 7, 7))
    with pytest.raises(ModelError, match="bits"):
        quantize(network, 31)


def test_a_weight_that_is_no_integer_of_53_bits_is_refused():
    with pytest.raises(ModelError, match="too large to be rounded, or no number"):
        quantize_at(one_layer([[1e18, 1.0]]), [0])
