import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.circuit.network import affine_specs, network_logits
from securefair.circuit.spec import ExchangeSpec, HeadBounds
from securefair.circuit.walk import WHOLE, walk
from securefair.ckks import rules
from securefair.ckks.backends.clear import ClearEvaluator
from securefair.ckks.layers import AffineLayer, check_layer
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.tensor import CipherTensor
from securefair.model.balance import balance_by_weights
from securefair.model.heads import build_head
from securefair.model.quantize import quantize_at

PARAMS = CkksParameters(CkksSpec(ring_degree=8192, limb_bits=(31,) * 5, special_bits=31))


def quantised(spec, seed, scale=1.0):
    kind = "quadratic" if spec.hidden else "linear"
    model = build_head(kind, spec.features, spec.hidden, spec.classes, seed)
    for parameter in model.parameters():
        parameter.data *= scale
    folded = balance_by_weights(model.folded(), spec.bounds.row_norm)
    specs = affine_specs(spec)
    head = quantize_at(folded, [layer.log2_scale for layer in specs])
    weights = [integers for integers in head.integers if integers is not None]
    maps = zip(weights, folded.weighted, strict=True)
    return specs, head, [AffineLayer(integers, layer.bias) for integers, layer in maps]


@given(
    features=st.integers(1, 60),
    hidden=st.integers(1, 20),
    row_norm=st.sampled_from([0.3, 0.5, 1.0, 1.7, 4.0]),
    bits=st.integers(6, 14),
    scale=st.floats(0.05, 20),
    seed=st.integers(0, 1000),
)
def test_balanced_hidden_layers_keep_their_public_bound(
    features, hidden, row_norm, bits, scale, seed
):
    """Whatever the weights: nothing about the hidden layer's scale depends on them."""
    bounds = HeadBounds(row_norm=row_norm)
    spec = ExchangeSpec(
        features=features,
        classes=2,
        samples=100,
        hidden=hidden,
        weight_bits=bits,
        bounds=bounds,
    )
    specs, head, layers = quantised(spec, seed, scale)
    check_layer(specs[0], layers[0])
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (50, features))
    values = head.network.layers[0].apply(x)
    rounding = 0.5 * 2.0 ** -specs[0].log2_scale * np.abs(x).sum(axis=1).max()
    assert np.abs(values).max() <= specs[0].bound + rounding


def test_specs_chain_features_units_and_classes():
    spec = ExchangeSpec(features=7, classes=3, samples=10, hidden=5, q=2)
    hidden, output = affine_specs(spec)
    assert (hidden.inputs, hidden.outputs) == (7, 5)
    assert (output.inputs, output.outputs) == (5, 3)
    (only,) = affine_specs(ExchangeSpec(features=7, classes=3, samples=10, hidden=0, q=2))
    assert (only.inputs, only.outputs) == (7, 3)


@pytest.mark.parametrize("weight", [1.0, 3.0, 16.0, 100.0])
def test_the_largest_allowed_output_weight_fits_its_integers(weight):
    spec = ExchangeSpec(
        features=4, classes=2, samples=9, hidden=0, q=2, bounds=HeadBounds(output_weight=weight)
    )
    (layer,) = affine_specs(spec)
    assert weight * 2.0**layer.log2_scale <= layer.max_integer < 4 * weight * 2.0**layer.log2_scale


@pytest.mark.parametrize("hidden", [0, 3])
def test_inference_on_slots_is_the_quantised_head(hidden):
    spec = ExchangeSpec(features=5, classes=3, samples=40, hidden=hidden, q=2)
    specs, head, layers = quantised(spec, seed=3)
    slots = np.zeros((5, PARAMS.slots))
    features = np.random.default_rng(0).uniform(-1, 1, (40, 5))
    slots[:, :40] = features.T
    meta = rules.fresh(PARAMS, count=5, limbs=5, log2_scale=40, bound=1.0)
    evaluator, stages = ClearEvaluator(PARAMS), walk(spec, specs, PARAMS.spec, 40, WHOLE).stages
    x = CipherTensor(meta, slots)
    out = network_logits(evaluator, x, specs, stages, spec.layers, layers)
    np.testing.assert_allclose(out.payload[:, :40].T, head.logits(features), atol=1e-12)
    assert out.meta.polys == (3 if hidden else 2)
    assert out.meta.limbs == 5  # nothing is rescaled on the way
