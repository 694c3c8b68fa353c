"""Pairs of expressions over an evaluator's operations that must open to the same values.

A metamorphic test needs no oracle: (x + y) z and x z + y z come out equal, or an operation is
wrong. Pairs are drawn at random, on random ciphertexts of a pool, in a random context, so that they
meet each other's levels, scales and shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from securefair.ckks import rules
from securefair.ckks.evaluator import Released
from securefair.ckks.layers import AffineLayer
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.specs import AffineSpec

PARAMS = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(25, 25, 25), special_bits=31))
SCALE, WEIGHT_BITS = 24, 5
COUNT, POOL = 2, 12
BOUND = 1.0


class Pool:
    """One student's keys, the teacher's evaluator and some ciphertexts, with their values."""

    def __init__(self, backend, seed):
        rng = np.random.default_rng(seed)
        self.keys = backend.generate_keys(PARAMS, relinearization=PARAMS.limbs)
        self.evaluator = backend.evaluator(PARAMS, self.keys.public)
        meta = rules.fresh(PARAMS, count=COUNT, limbs=3, log2_scale=SCALE, bound=BOUND)
        self.tensors, self.values = [], []
        for _ in range(POOL):
            values = rng.uniform(-1, 1, (COUNT, PARAMS.slots))
            values *= rng.choice([1.0, 1e-3, 0.0], p=[0.8, 0.1, 0.1])
            data = self.keys.encryptor.encrypt(values, meta)
            self.tensors.append(self.evaluator.load(data, meta))
            self.values.append(values)

    def open(self, tensor):
        """All slots, (count, N / 2)."""
        released = self.evaluator.extract(tensor, None)
        return self.keys.decryptor.open(Released(released.meta, None, released.data))


@dataclass(frozen=True)
class Draw:
    """What a pair is made of: an evaluator, ciphertexts, their values, and coins."""

    ev: object
    xs: tuple
    values: tuple
    rng: np.random.Generator

    def layer(self, inputs, outputs):
        """A random affine map with facts that are just true of it."""
        weights = self.rng.integers(-(1 << WEIGHT_BITS), 1 << WEIGHT_BITS, (outputs, inputs))
        if self.rng.random() < 0.1:
            weights[:] = 0
        bias = self.rng.uniform(-1, 1, outputs)
        return self.spec(weights, bias), AffineLayer(weights, bias)

    def spec(self, weights, bias, bound=1.0):
        """Public facts of weights over 2^WEIGHT_BITS on values up to `bound`."""
        real = np.abs(weights) / 2.0**WEIGHT_BITS
        l1 = max(float(real.sum(axis=1).max()), 2.0**-WEIGHT_BITS)
        return AffineSpec(
            inputs=weights.shape[1],
            outputs=weights.shape[0],
            log2_scale=WEIGHT_BITS,
            max_integer=max(1, int(np.abs(weights).max())),
            l1=l1,
            l2=max(float(np.sqrt((real**2).sum(axis=1)).max()), 2.0**-WEIGHT_BITS),
            bound=l1 * bound + max(1e-9, float(np.abs(bias).max())),
        )


def commuted_sum(d):
    x, y, _ = d.xs
    return d.ev.add(x, y), d.ev.add(y, x), d.values[0] + d.values[1]


def regrouped_sum(d):
    x, y, z = d.xs
    a, b, c = d.values
    return d.ev.add(d.ev.add(x, y), z), d.ev.add(x, d.ev.add(y, z)), a + b + c


def cancelled(d):
    x, y, _ = d.xs
    return d.ev.add(d.ev.subtract(x, y), y), x, d.values[0]


def commuted_product(d):
    x, y, _ = d.xs
    return d.ev.multiply(x, y), d.ev.multiply(y, x), d.values[0] * d.values[1]


def distributed_product(d):
    x, y, z = d.xs
    a, b, c = d.values
    left = d.ev.multiply(d.ev.add(x, y), z)
    return left, d.ev.add(d.ev.multiply(x, z), d.ev.multiply(y, z)), (a + b) * c


def squared(d):
    x = d.xs[0]
    return d.ev.square(x), d.ev.multiply(x, x), d.values[0] ** 2


def polarised(d):
    x, y, _ = d.xs
    product = d.ev.multiply(x, y)
    twice = d.ev.add(product, product)
    left = d.ev.subtract(d.ev.square(d.ev.add(x, y)), d.ev.square(d.ev.subtract(x, y)))
    return left, d.ev.add(twice, twice), 4 * d.values[0] * d.values[1]


def switched_sum(d):
    x, y, z = d.xs
    a, b, c = d.values
    one, other = d.ev.multiply(x, y), d.ev.multiply(y, z)
    left = d.ev.relinearize(d.ev.add(one, other))
    return left, d.ev.add(d.ev.relinearize(one), d.ev.relinearize(other)), a * b + b * c


def switched(d):
    x, y, _ = d.xs
    product = d.ev.multiply(x, y)
    return d.ev.relinearize(product), product, d.values[0] * d.values[1]


def rescaled_sum(d):
    x, y, z = d.xs
    one, other = d.ev.multiply(x, y), d.ev.square(z)
    left = d.ev.rescale(d.ev.add(one, other), 2)
    a, b, c = d.values
    return left, d.ev.add(d.ev.rescale(one, 2), d.ev.rescale(other, 2)), a * b + c * c


def rescaled_twice(d):
    spec, layer = d.layer(COUNT, 1)
    product = d.ev.linear(d.ev.multiply(d.xs[0], d.xs[1]), spec, layer)
    value = layer.apply(d.values[0] * d.values[1], WEIGHT_BITS)
    return d.ev.rescale(d.ev.rescale(product, 2), 1), d.ev.rescale(product, 1), value


def map_of_sum(d):
    x, y, _ = d.xs
    spec, layer = d.layer(COUNT, 3)
    bare = AffineLayer(layer.weights, np.zeros(3))
    wide = replace(spec, bound=2 * spec.bound)
    left = d.ev.linear(d.ev.add(x, y), wide, layer)
    right = d.ev.add(d.ev.linear(x, spec, layer), d.ev.linear(y, spec, bare))
    return left, right, layer.apply(d.values[0] + d.values[1], WEIGHT_BITS)


def map_of_product_switched_late(d):
    x, y, _ = d.xs
    spec, layer = d.layer(COUNT, 2)
    product = d.ev.multiply(x, y)
    left = d.ev.relinearize(d.ev.linear(product, spec, layer))
    right = d.ev.linear(d.ev.relinearize(product), spec, layer)
    return left, right, layer.apply(d.values[0] * d.values[1], WEIGHT_BITS)


def inner_by_map(d):
    x, y, _ = d.xs
    ones = np.full((1, COUNT), 1 << WEIGHT_BITS)
    layer = AffineLayer(ones, np.zeros(1))
    product = d.ev.linear(d.ev.multiply(x, y), d.spec(ones, np.zeros(1)), layer)
    # The map's scale is that of its weights: the same scale for the other side.
    scaled = d.ev.inner(d.ev.linear(x, *_identity(d)), y, bound=COUNT)
    return product, scaled, (d.values[0] * d.values[1]).sum(axis=0, keepdims=True)


def _identity(d):
    weights = np.eye(COUNT, dtype=np.int64) << WEIGHT_BITS
    return d.spec(weights, np.zeros(COUNT)), AffineLayer(weights, np.zeros(COUNT))


def outer_by_gather(d):
    x, y, _ = d.xs
    i, c = (int(n) for n in d.rng.integers(0, COUNT, 2))
    left = d.ev.gather([d.ev.outer(x, y)], np.array([[0, i * COUNT + c]]))
    one, other = (d.ev.gather([t], np.array([[0, n]])) for t, n in ((x, i), (y, c)))
    return left, d.ev.multiply(one, other), (d.values[0][i] * d.values[1][c])[None]


def squares_in_groups(d):
    x = d.xs[0]
    left = d.ev.square_sums(x, np.array([[0, 1]]))
    return left, d.ev.inner(x, x, bound=COUNT), (d.values[0] ** 2).sum(axis=0, keepdims=True)


def gathered_map(d):
    x, y, _ = d.xs
    spec, layer = d.layer(3, 2)
    rows = np.array([[0, 1], [1, 0], [0, 0]])
    order = d.rng.permutation(3)
    moved = AffineLayer(layer.weights[:, order], layer.bias)
    left = d.ev.linear_from([x, y], rows, spec, layer)
    picked = np.stack([d.values[0][1], d.values[1][0], d.values[0][0]])
    right = d.ev.linear(d.ev.gather([x, y], rows[order]), spec, moved)
    return left, right, layer.apply(picked, WEIGHT_BITS)


def squares_from_blocks(d):
    x, y, _ = d.xs
    spec, layer = d.layer(2, 4)
    rows, groups = np.array([[0, 0], [1, 1]]), np.array([[0, 3], [1, 2]])
    left = d.ev.square_sums_from([x, y], rows, spec, layer, groups)
    right = d.ev.square_sums(d.ev.linear(d.ev.gather([x, y], rows), spec, layer), groups)
    out = layer.apply(np.stack([d.values[0][0], d.values[1][1]]), WEIGHT_BITS)
    return left, right, (out**2)[groups].sum(axis=1)


def sanitised(d):
    x, y, _ = d.xs
    product = d.ev.multiply(x, y)
    bits = int(d.rng.integers(0, 12))
    return d.ev.sanitize(product, bits), product, d.values[0] * d.values[1]


def sanitised_after_switch(d):
    spec, layer = d.layer(COUNT, 2)
    mapped = d.ev.linear(d.xs[0], spec, layer)
    left = d.ev.rescale(d.ev.sanitize(mapped, 6), 2, slots=True)
    return left, d.ev.rescale(mapped, 2), layer.apply(d.values[0], WEIGHT_BITS)


PAIRS: dict[str, Callable] = {
    each.__name__: each
    for each in (
        commuted_sum,
        regrouped_sum,
        cancelled,
        commuted_product,
        distributed_product,
        squared,
        polarised,
        switched_sum,
        switched,
        rescaled_sum,
        rescaled_twice,
        map_of_sum,
        map_of_product_switched_late,
        inner_by_map,
        outer_by_gather,
        squares_in_groups,
        gathered_map,
        squares_from_blocks,
        sanitised,
        sanitised_after_switch,
    )
}


def draw(pool, seed):
    """One pair: its name, and a drawing that always gives the same."""
    rng = np.random.default_rng(seed)
    name = sorted(PAIRS)[rng.integers(len(PAIRS))]
    # Different ones: SEAL refuses x - x, whose masks cancel.
    chosen = rng.choice(POOL, 3, replace=False)
    return name, Draw(
        pool.evaluator,
        tuple(pool.tensors[i] for i in chosen),
        tuple(pool.values[i] for i in chosen),
        rng,
    )


def worst(pool, seed):
    """A pair and its largest error over what the rules bound: between both sides, and of each.

    Above 1 an operation, or a rule, is wrong.
    """
    name, drawn = draw(pool, seed)
    left, right, exact = PAIRS[name](drawn)
    opened = [pool.open(side) for side in (left, right)]
    bounds = [rules.slot_error(side.meta) for side in (left, right)]
    shares = [np.abs(opened[0] - opened[1]).max() / sum(bounds)]
    shares += [np.abs(o - exact).max() / b for o, b in zip(opened, bounds, strict=True)]
    return name, float(max(shares))
