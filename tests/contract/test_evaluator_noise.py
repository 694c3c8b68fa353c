"""Errors of operations: as large as the rules state, in all coefficients and in the worst slot."""

import math

import numpy as np
import pytest

from contract.operands import USED, assert_opens_to, coefficient_errors, padded, values
from securefair.ckks import rules
from securefair.ckks.layers import AffineLayer
from securefair.ckks.specs import AffineSpec

NOISY = {  # operation, the same on slots, and the least share of the stated deviation
    "fresh": (lambda _, x: x, lambda v: v, 0.9),
    "layer": (
        lambda e, x: e.linear(x, ONES, AffineLayer(np.full((1, 4), 256), np.zeros(1))),
        lambda v: v.sum(axis=0, keepdims=True),
        0.9,
    ),
    # Few slots hold a value, whereas the bound is stated for full ones.
    "square": (lambda e, x: e.square(x), lambda v: v**2, 0.05),
    "relinearised": (lambda e, x: e.relinearize(e.square(x)), lambda v: v**2, 0.05),
    # Rounding and key switching are stated for their worst slot (TAIL_OF_S).
    "rescaled": (lambda e, x: e.rescale(x, 4), lambda v: v, 0.4),
    "rescaled product": (lambda e, x: e.rescale(e.square(x), 3), lambda v: v**2, 0.1),
    "switched": (
        lambda e, x: e.relinearize(e.rescale(e.square(x), 3)),
        lambda v: v**2,
        0.01,
    ),
    "sanitised": (lambda e, x: e.sanitize(x, 10), lambda v: v, 0.9),
    "sanitised product": (lambda e, x: e.sanitize(e.square(x), 10), lambda v: v**2, 0.9),
    "masked only": (lambda e, x: e.sanitize(e.rescale(x, 4), 0), lambda v: v, 0.9),
}
ONES = AffineSpec(inputs=4, outputs=1, log2_scale=8, max_integer=256, l1=4.0, l2=2.0, bound=4.0)


@pytest.mark.parametrize("name", NOISY)
def test_the_deviation_of_errors_is_what_the_rules_state(wide, planned, name):
    """An upper bound, and where the analysis is exact also close to the truth."""
    operation, exact, share = NOISY[name]
    slots = values(4 if name == "layer" else 1, seed=7)
    scale = 55.0 if "product" in name or name == "switched" else 40.0
    tensor = operation(wide.evaluator, wide.upload(slots, log2_scale=scale))
    expected = exact(padded(slots, wide.params))
    errors = coefficient_errors(wide, tensor, expected)
    stated = math.hypot(
        tensor.meta.noise,
        tensor.meta.bound * rules.CLEARTEXT_ERROR * 2.0**tensor.meta.log2_scale,
    )
    # At least 8192 coefficients: their deviation is known to 1 %, six times better than needed.
    assert errors.std() <= 1.06 * stated
    assert np.abs(errors).max() <= rules.TAIL * stated
    if planned:
        assert errors.std() >= share * tensor.meta.noise


def test_errors_of_copies_add_up_like_numbers(wide, planned):
    """One ciphertext 64 times: nothing averages out, and the rules do not count on it."""
    x = wide.upload(values(1), log2_scale=30.0)
    # Weights of 64 for the value 1: no rule knows the weights, and an encryption of zero, which a
    # row of zeros would get, has more noise than a fresh encryption times 1.
    spread = AffineSpec(
        inputs=1, outputs=64, log2_scale=6, max_integer=64, l1=1.0, l2=1.0, bound=1.0
    )
    gather = AffineSpec(
        inputs=64, outputs=1, log2_scale=0, max_integer=1, l1=64.0, l2=8.0, bound=64.0
    )
    weights = np.full((64, 1), 64)
    copies = wide.evaluator.linear(x, spread, AffineLayer(weights, np.zeros(64)))
    total = wide.evaluator.linear(copies, gather, AffineLayer(np.ones((1, 64), int), np.zeros(1)))
    errors = coefficient_errors(wide, total, 64 * padded(values(1), wide.params))
    assert errors.std() <= 1.06 * total.meta.noise
    if planned:
        assert errors.std() >= 0.8 * total.meta.noise


def test_a_row_of_zeros_is_as_noisy_as_its_mask_at_most(wide):
    """A backend may mask it with an encryption of zero; the other row is 1 times its input."""
    x = wide.upload(values(1), log2_scale=40.0)
    spec = AffineSpec(inputs=1, outputs=9, log2_scale=0, max_integer=1, l1=1.0, l2=1.0, bound=1.0)
    weights = np.zeros((9, 1), dtype=np.int64)
    weights[0] = 1
    found = wide.evaluator.linear(x, spec, AffineLayer(weights, np.zeros(9)))
    errors = coefficient_errors(wide, found, weights * padded(values(1), wide.params))
    assert errors.std() <= found.meta.noise
    assert np.abs(errors).max() <= rules.TAIL * found.meta.noise


def test_key_switching_is_bounded_in_the_slot_next_to_one(wide, backend):
    """Digits are not centred: their mean weighs most where the root is nearest to 1, in slot 0."""
    count = 2 if backend.name == "seal" else 24  # SEAL is slow, and switches with the same bits
    zeros = wide.upload(np.zeros((count, 1)), log2_scale=1.0)
    switched = wide.evaluator.relinearize(wide.evaluator.square(zeros))
    assert_opens_to(wide, switched, np.zeros((count, wide.params.slots)))


@pytest.mark.parametrize("switch", [False, True])
def test_errors_are_bounded_in_their_worst_slot_too(wide, backend, switch):
    """Rounding is multiplied by powers of the secret, key switching by digits: not white noise."""
    count = 2 if backend.name == "seal" else 8  # as above
    zeros = wide.upload(np.zeros((count, USED)), log2_scale=55.0)
    tensor = wide.evaluator.rescale(wide.evaluator.square(zeros), 3)
    if switch:
        tensor = wide.evaluator.relinearize(tensor)
    assert_opens_to(wide, tensor, np.zeros((count, wide.params.slots)))
