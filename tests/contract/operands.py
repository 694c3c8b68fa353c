"""What the suites of evaluators compute on: slots, layers and uploads, with their exact values."""

import numpy as np

from securefair.ckks import rules
from securefair.ckks.encoding import to_coefficients
from securefair.ckks.layers import AffineLayer
from securefair.ckks.specs import AffineSpec

USED = 100  # slots with a value; the others hold zero


def values(count, seed=0, bound=1.0):
    return np.random.default_rng(seed).uniform(-bound, bound, (count, USED))


def padded(slots, params):
    whole = np.zeros((len(slots), params.slots))
    whole[:, : slots.shape[1]] = slots
    return whole


def layer_for(x, outputs, seed, bits=8):
    """A random layer, and public facts that are just true of it."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(-(1 << bits), 1 << bits, size=(outputs, x.meta.count), endpoint=True)
    bias = rng.uniform(-1, 1, outputs)
    real = weights / 2.0**bits
    l1 = float(np.abs(real).sum(axis=1).max())
    spec = AffineSpec(
        inputs=x.meta.count,
        outputs=outputs,
        log2_scale=bits,
        max_integer=1 << bits,
        l1=l1,
        l2=float(np.sqrt((real**2).sum(axis=1)).max()),
        bound=l1 * x.meta.bound + 1.0,
    )
    return spec, AffineLayer(weights, bias), real, bias


def assert_opens_to(ring, tensor, expected):
    """All slots within the error that the rules state for them."""
    opened = ring.open(tensor)
    assert opened.shape == (tensor.meta.count, ring.params.slots)
    assert np.abs(opened - expected).max() <= rules.slot_error(tensor.meta)


def coefficient_errors(ring, tensor, expected):
    """Errors of all message coefficients in integer units, (count, N)."""
    n = ring.params.ring_degree
    opened = ring.open(tensor, np.arange(n))
    return (opened - to_coefficients(expected, n)) * 2.0**tensor.meta.log2_scale


def coefficient_upload(ring, rows, log2_scale=45):
    meta = rules.fresh(
        ring.params,
        count=len(rows),
        limbs=ring.params.limbs,
        log2_scale=log2_scale,
        bound=1.0,
        packing="coefficients",
    )
    return ring.evaluator.load(ring.keys.encryptor.encrypt(rows, meta), meta)
