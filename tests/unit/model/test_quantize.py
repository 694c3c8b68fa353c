import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.data.dataset import Samples
from securefair.errors import ModelError
from securefair.model.folded import AffineMap, FoldedHead
from securefair.model.heads import build_head
from securefair.model.quantize import quantization_report, quantize, quantize_at


def one_layer(weights):
    weights = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    return FoldedHead((AffineMap(weights, np.zeros(len(weights))),))


@given(
    weights=st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=8),
    bits=st.integers(1, 30),
)
def test_integers_stay_below_the_bound_and_use_the_last_bit(weights, bits):
    (layer,) = quantize(one_layer(weights), bits).layers
    largest = int(np.abs(layer.weights).max())
    assert largest < 2**bits
    if any(weights):
        # One bit more of scale would not have fitted.
        finer = np.ldexp(np.max(np.abs(weights)), layer.log2_scale + 1)
        assert finer >= 2**bits - 0.5


@given(
    weights=st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=8),
    bits=st.integers(1, 30),
)
def test_rounding_is_by_at_most_half_a_unit(weights, bits):
    (layer,) = quantize(one_layer(weights), bits).layers
    error = np.abs(layer.real_weights[0] - weights).max()
    assert error <= np.ldexp(0.5, -layer.log2_scale)


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
    (layer,) = quantize(one_layer([weight]), bits).layers
    assert (int(layer.weights[0, 0]), layer.log2_scale) == (integer, log2_scale)


def test_a_layer_of_zeros_stays_zero():
    quantized = quantize(one_layer([0.0, 0.0]), 12)
    assert (quantized.logits(np.ones((3, 2))) == 0).all()


@pytest.mark.parametrize("bits", [0, 31, -1])
def test_bits_out_of_range_are_refused(bits):
    with pytest.raises(ModelError) as error:
        quantize(one_layer([1.0]), bits)
    assert (error.value.where, error.value.found) == ("weight_bits", bits)


def test_norms_are_those_of_the_real_weights():
    head = FoldedHead((AffineMap(np.array([[3.0, -4.0], [1.0, 0.0]]), np.array([0.25, -7.0])),))
    (norms,) = quantize(head, 12).norms()
    assert norms.row_l1 == pytest.approx(7)
    assert norms.row_l2 == pytest.approx(5)
    assert norms.bias == 7


def test_more_bits_bring_the_logits_closer_and_the_report_says_so():
    rng = np.random.default_rng(0)
    samples = Samples(rng.normal(size=(200, 9)), rng.integers(0, 3, 200), 3)
    head = build_head("quadratic", 9, 12, 3, seed=3).folded()
    reports = [quantization_report(head, quantize(head, bits), samples) for bits in (4, 8, 12)]
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
    first, second = quantized.layers
    hidden = (x @ first.weights.T / 2**first.log2_scale + first.bias) ** 2
    expected = hidden @ second.weights.T / 2**second.log2_scale + second.bias
    np.testing.assert_allclose(quantized.logits(x), expected, rtol=1e-12)


def test_agreed_scales_are_used_whatever_the_weights():
    head = build_head("quadratic", 4, 5, 2, seed=8).folded()
    quantized = quantize_at(head, (7, 20))
    for layer, folded, scale in zip(quantized.layers, head.layers, (7, 20), strict=True):
        assert layer.log2_scale == scale
        np.testing.assert_array_equal(layer.weights, np.rint(folded.weights * 2**scale))
        np.testing.assert_array_equal(layer.bias, folded.bias)
    with pytest.raises(ModelError, match="one scale a layer"):
        quantize_at(head, (7,))
