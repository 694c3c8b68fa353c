import math
from dataclasses import replace

import numpy as np
import pytest

from securefair.circuit.spec import LayerBounds
from securefair.ckks.layers import check_layer
from securefair.ckks.specs import AffineSpec
from securefair.errors import ModelError, PlanError
from securefair.exchange.compile import (
    bounds_by_shape,
    bounds_for,
    compile_network,
    segments,
)
from securefair.model.folded import FoldedNetwork, Square, activation_ranges
from securefair.model.linear_maps import ConvMap, DenseMap, SumPool
from securefair.model.networks import balanced_by_values
from securefair.model.quantize import quantize_at

SHAPE = (2, 7, 6)


def network(seed=0):
    """Everything there is: a pool first, an incomplete pool, an overlapping one, groups."""
    rng = np.random.default_rng(seed)

    def conv(outputs, inputs, kernel, **options):
        weights = rng.normal(size=(outputs, inputs, kernel, kernel)) / (kernel * math.sqrt(inputs))
        return ConvMap(weights, rng.normal(size=outputs) / 4, **options)

    layers = (
        SumPool((1, 2), (1, 1)),  # 2 x 7 x 5
        conv(4, 1, 3, padding=(1, 1), groups=2),
        Square(),
        SumPool((2, 2), (2, 2)),  # 4 x 3 x 2
        conv(3, 4, 2, padding=(1, 1)),  # 3 x 4 x 3
        Square(),
        SumPool((2, 2), (1, 1)),  # 3 x 3 x 2, overlapping
        DenseMap(rng.normal(size=(5, 18)) / 4, rng.normal(size=5)),
        Square(),
        DenseMap(rng.normal(size=(2, 5)), rng.normal(size=2)),
    )
    return FoldedNetwork(SHAPE, layers)


@pytest.fixture
def inputs():
    return np.random.default_rng(1).uniform(-1, 1, (40, *SHAPE))


def test_squares_and_whole_pools_belong_to_the_map_before_them():
    found = segments(network())
    assert [type(s.map).__name__ for s in found] == [
        "SumPool",
        "ConvMap",
        "ConvMap",
        "SumPool",
        "DenseMap",
        "DenseMap",
    ]
    assert [s.pool for s in found] == [None, (2, 2), (1, 1), None, (1, 1), None]
    # An incomplete window is left out, and so are the values that only it would read.
    assert (found[1].values, found[1].outputs) == (24, 96)
    assert [s.values for s in found] == [70, 24, 36, 18, 5, 2]


@pytest.mark.parametrize("most", [1, 10, 1000])
def test_compiled_maps_compute_the_rounded_network(inputs, most):
    folded = balanced_by_values(network(), inputs)
    layer_bounds = bounds_for(folded, inputs, weight_bits=8, head_room=1.5)
    maps = compile_network(folded, layer_bounds, most=most).maps
    values = inputs.reshape(len(inputs), -1).T
    for bounds, banded in zip(layer_bounds, maps, strict=True):
        assert (banded.outputs, banded.values) == (bounds.outputs, bounds.values)
        result = np.full((banded.values, len(inputs)), np.nan)
        for band in banded.bands:
            out = band.layer.apply(values[band.reads], bounds.log2_scale)
            assert np.abs(out).max() <= bounds.bound
            if band.groups is not None:
                out = (out**2)[band.groups].sum(axis=1)
            result[band.writes] = out
        values = result
    scales = [
        p.log2_scale
        for p, s in zip(layer_bounds, segments(folded), strict=True)
        if not isinstance(s.map, SumPool)
    ]
    expected = quantize_at(folded, scales).logits(inputs)
    np.testing.assert_allclose(values.T, expected, atol=1e-9)


def test_bounds_hold_for_the_network_they_are_made_for(inputs):
    folded = balanced_by_values(network(), inputs)
    layer_bounds = bounds_for(folded, inputs, weight_bits=8, head_room=1.25)
    for bounds, banded in zip(
        layer_bounds, compile_network(folded, layer_bounds).maps, strict=True
    ):
        for band in banded.bands:
            check_layer(
                AffineSpec(
                    inputs=band.layer.inputs,
                    outputs=band.layer.outputs,
                    log2_scale=bounds.log2_scale,
                    max_integer=bounds.max_integer,
                    l1=bounds.l1,
                    l2=bounds.l2,
                    bound=bounds.bound,
                ),
                band.layer,
            )
    before_squares = [p.bound for p in layer_bounds if p.summed]
    assert before_squares == pytest.approx([1.25] * 3, rel=0.02)  # balanced to 1


def test_maps_without_a_square_between_them_have_bounds_of_their_own(inputs):
    rng = np.random.default_rng(2)
    first = ConvMap(rng.normal(size=(3, 2, 3, 3)) * 10, np.zeros(3))
    second = ConvMap(rng.normal(size=(1, 3, 3, 3)) / 100, np.zeros(1))
    folded = FoldedNetwork(SHAPE, (first, second))
    values = first.apply(inputs), folded.logits(inputs)
    found = bounds_for(folded, inputs, weight_bits=10, head_room=1.0)
    assert [p.bound for p in found] == pytest.approx(
        [np.abs(value).max() for value in values], rel=0.02
    )


def test_bounds_by_shape_have_room_for_the_sums_of_pools(inputs):
    """Values of a balanced network reach 1 before squares; sums of many of them reach more."""
    folded = FoldedNetwork(
        SHAPE,
        (
            SumPool((3, 3), (1, 1)),
            ConvMap(np.full((4, 2, 2, 2), 0.1), np.zeros(4)),
            Square(),
            SumPool((3, 3), (1, 1)),  # overlapping: its squares are not summed with the others
            DenseMap(np.full((2, 8), 0.1), np.zeros(2)),
        ),
    )
    ones = np.ones((1, *SHAPE))
    folded = balanced_by_values(folded, ones)
    layer_bounds = bounds_by_shape(folded, weight_bits=10)
    largest = {r.stage: r.maximum for r in activation_ranges(folded, ones)}
    assert largest["pool 1"] == layer_bounds[0].bound == 9.0
    assert largest["conv 1"] == pytest.approx(1.0)
    assert layer_bounds[1].bound == 4.0
    assert layer_bounds[2].bound == 9 * layer_bounds[1].bound ** 2 > largest["pool 2"]


def test_weights_need_as_many_bits_as_there_is_room_for():
    folded = network()
    assert bounds_by_shape(folded, weight_bits=5)[-1].log2_scale == 0
    with pytest.raises(PlanError, match=r"weight_bits.*at least 5"):
        bounds_by_shape(folded, weight_bits=4)


def test_products_are_counted_as_the_network_counts_them(inputs):
    folded = network()
    layer_bounds = bounds_for(folded, inputs, weight_bits=8, head_room=1.0)
    counted = sum(
        p.multiply_adds
        for p, s in zip(layer_bounds, segments(folded), strict=True)
        if not isinstance(s.map, SumPool)
    )
    assert counted == folded.multiply_adds


def test_another_network_than_the_promised_one_is_refused(inputs):
    folded = network()
    layer_bounds = bounds_for(folded, inputs, weight_bits=8, head_room=1.5)
    with pytest.raises(ModelError, match="another model"):
        compile_network(folded, layer_bounds[:-1])
    wider = LayerBounds(outputs=3, log2_scale=5, max_integer=256, l1=1.0, l2=1.0, bound=1.0)
    with pytest.raises(ModelError, match="another model"):
        compile_network(folded, (*layer_bounds[:-1], wider))


def test_weights_that_are_zero_are_multiplied_like_others():
    """Neither what is read nor what is counted tells which weights are zero."""
    folded = network()
    sparse = FoldedNetwork(
        SHAPE,
        tuple(
            replace(
                layer,
                weights=layer.weights
                * (np.arange(layer.weights.size) % 3 == 0).reshape(layer.weights.shape),
            )
            if isinstance(layer, ConvMap | DenseMap)
            else layer
            for layer in folded.layers
        ),
    )
    layer_bounds = bounds_by_shape(folded, weight_bits=10)
    for full, thin in zip(
        compile_network(folded, layer_bounds).maps,
        compile_network(sparse, layer_bounds).maps,
        strict=True,
    ):
        assert full.multiply_adds == thin.multiply_adds
        for one, other in zip(full.bands, thin.bands, strict=True):
            np.testing.assert_array_equal(one.reads, other.reads)


def test_bounds_for_one_network_tell_of_it_and_those_by_shape_do_not(inputs):
    first, other = (balanced_by_values(network(seed), inputs) for seed in (0, 3))
    assert bounds_by_shape(first, weight_bits=10) == bounds_by_shape(other, weight_bits=10)
    made = [bounds_for(n, inputs, weight_bits=10, head_room=2.0) for n in (first, other)]
    assert made[0] != made[1]
