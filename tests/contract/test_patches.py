"""Sparse layers on ciphertexts from several tensors: right values, planned errors, refusals."""

import numpy as np
import pytest

from securefair.ckks import rules
from securefair.ckks.patches import Patch, PatchLayer
from securefair.ckks.specs import AffineSpec
from securefair.errors import EncryptionError, ModelError

SLOTS = 50
ROWS = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
"""Of two tensors of two ciphertexts."""

GROUPS = np.array([[0, 3], [2, 1]])


@pytest.fixture
def pieces(backend, ring):
    """A ring, two uploads, and their four rows of slots in the order of ROWS."""
    if backend.name == "openfhe":
        pytest.skip("openfhe evaluates layers as a whole")
    rng = np.random.default_rng(5)
    wide = ring("wide")
    slots = rng.uniform(-1, 1, (2, 2, SLOTS))
    blocks = [wide.upload(part, log2_scale=30) for part in slots]
    padded = np.zeros((4, wide.params.slots))
    padded[:, :SLOTS] = slots[ROWS[:, 0], ROWS[:, 1]]
    return wide, blocks, padded


def layer_of(seed=0):
    """Two matrices at three places: four inputs, five outputs."""
    rng = np.random.default_rng(seed)
    patches = (
        Patch(
            rng.integers(-99, 99, (2, 3)),
            np.array([[0, 1, 3], [2, 3, 1]]),
            np.array([[4, 0], [1, 2]]),
        ),
        Patch(rng.integers(-99, 99, (1, 2)), np.array([[3, 0]]), np.array([[3]])),
    )
    return PatchLayer(4, patches, rng.uniform(-1, 1, 5))


def spec_of(layer, bits=7):
    l1, l2 = (norm * 2.0**-bits for norm in layer.row_norms)
    return AffineSpec(
        inputs=layer.inputs,
        outputs=layer.outputs,
        log2_scale=bits,
        max_integer=layer.largest,
        l1=l1,
        l2=l2,
        bound=l1 + 1,
    )


def assert_opens_to(ring, tensor, expected):
    opened = ring.open(tensor)
    assert np.abs(opened - expected).max() <= rules.slot_error(tensor.meta)


def test_gathering_picks_ciphertexts_from_several_tensors(pieces):
    ring, blocks, slots = pieces
    assert_opens_to(ring, ring.evaluator.gather(blocks, ROWS), slots)


def test_a_sparse_layer_is_its_dense_matrix(pieces):
    ring, blocks, slots = pieces
    layer = layer_of()
    spec = spec_of(layer)
    expected = layer.dense() @ slots / 2.0**7 + layer.bias[:, None]
    out = ring.evaluator.linear_from(blocks, ROWS, spec, layer)
    assert_opens_to(ring, out, expected)
    whole = ring.evaluator.linear(ring.evaluator.gather(blocks, ROWS), spec, layer)
    assert whole.meta == out.meta
    assert_opens_to(ring, whole, expected)


def test_squares_are_summed_by_groups(pieces):
    ring, blocks, slots = pieces
    layer = layer_of()
    spec = spec_of(layer)
    values = layer.dense() @ slots / 2.0**7 + layer.bias[:, None]
    expected = (values**2)[GROUPS].sum(axis=1)
    out = ring.evaluator.square_sums_from(blocks, ROWS, spec, layer, GROUPS)
    assert out.meta.polys == 3
    assert_opens_to(ring, out, expected)
    linear = ring.evaluator.linear_from(blocks, ROWS, spec, layer)
    apart = ring.evaluator.square_sums(linear, GROUPS)
    assert apart.meta == out.meta
    assert_opens_to(ring, apart, expected)


def test_one_dense_patch_is_a_dense_layer(pieces):
    ring, blocks, slots = pieces
    rng = np.random.default_rng(2)
    weights = rng.integers(-50, 50, (3, 4))
    patch = Patch(weights, np.arange(4)[None], np.arange(3)[None])
    layer = PatchLayer(4, (patch,), rng.uniform(-1, 1, 3))
    out = ring.evaluator.linear_from(blocks, ROWS, spec_of(layer), layer)
    assert_opens_to(ring, out, weights @ slots / 2.0**7 + layer.bias[:, None])


def test_ciphertexts_of_different_kinds_are_not_gathered(pieces):
    ring, blocks, _ = pieces
    lower = ring.evaluator.rescale(blocks[1], 4)
    with pytest.raises(EncryptionError, match="different kinds"):
        ring.evaluator.gather([blocks[0], lower], ROWS)


@pytest.mark.parametrize("change", [{"max_integer": 3}, {"l1": 0.1}, {"l2": 0.1}, {"outputs": 6}])
def test_layers_beyond_the_public_bound_are_refused(pieces, change):
    ring, blocks, _ = pieces
    layer = layer_of()
    spec = AffineSpec(**{**vars(spec_of(layer)), **change})
    with pytest.raises(ModelError):
        ring.evaluator.linear_from(blocks, ROWS, spec, layer)
