"""Number-theoretic transforms of every device: three stages of butterflies a pass, in registers.

SEAL's roots and order: a stage of m blocks multiplies by the factors m + block of a row's table.
"""

from __future__ import annotations

import warp as wp

from securefair.ckks.backends.device_arithmetic import Eight, minus, plus, scaled

RADIX_BITS = 3
"""Stages of a pass, at most."""


@wp.func
def _turned(
    x: wp.uint32,
    factors: wp.array2d[wp.uint32],
    quotients: wp.array2d[wp.uint32],
    limb: wp.int32,
    at: wp.int32,
    p: wp.uint32,
) -> wp.uint32:
    """x times one factor of the table."""
    return scaled(x, factors[limb, at], quotients[limb, at], p)


@wp.kernel
def forward_pass(
    x: wp.array2d[wp.uint32],
    factors: wp.array2d[wp.uint32],
    quotients: wp.array2d[wp.uint32],
    primes: wp.array[wp.uint32],
    blocks: wp.int32,
    stages: wp.int32,
) -> None:
    """The first `stages` of three stages from `blocks` blocks on; a thread a row and 8 values."""
    row, thread = wp.tid()
    limb = row % primes.shape[0]
    p = primes[limb]
    step = x.shape[1] // (8 * blocks)
    block = thread // step
    base = 8 * block * step + thread % step
    v = Eight()
    for k in range(8):
        v[k] = x[row, base + k * step]
    for k in range(4):
        turned = _turned(v[k + 4], factors, quotients, limb, blocks + block, p)
        v[k + 4] = minus(v[k], turned, p)
        v[k] = plus(v[k], turned, p)
    if stages > 1:
        for half in range(2):
            for k in range(2):
                at = 2 * (blocks + block) + half
                turned = _turned(v[4 * half + k + 2], factors, quotients, limb, at, p)
                v[4 * half + k + 2] = minus(v[4 * half + k], turned, p)
                v[4 * half + k] = plus(v[4 * half + k], turned, p)
    if stages > 2:
        for pair in range(4):
            at = 4 * (blocks + block) + pair
            turned = _turned(v[2 * pair + 1], factors, quotients, limb, at, p)
            v[2 * pair + 1] = minus(v[2 * pair], turned, p)
            v[2 * pair] = plus(v[2 * pair], turned, p)
    for k in range(8):
        x[row, base + k * step] = v[k]


@wp.kernel
def inverse_pass(
    x: wp.array2d[wp.uint32],
    factors: wp.array2d[wp.uint32],
    quotients: wp.array2d[wp.uint32],
    shrink: wp.array2d[wp.uint32],
    primes: wp.array[wp.uint32],
    blocks: wp.int32,
    stages: wp.int32,
) -> None:
    """The last `stages` of three stages down to `blocks` blocks; N^-1 with the very last one.

    `shrink` holds N^-1 and its quotient, (limbs, 2).
    """
    row, thread = wp.tid()
    limb = row % primes.shape[0]
    p = primes[limb]
    step = x.shape[1] // (8 * blocks)
    block = thread // step
    base = 8 * block * step + thread % step
    v = Eight()
    for k in range(8):
        v[k] = x[row, base + k * step]
    if stages > 2:
        for pair in range(4):
            at = 4 * (blocks + block) + pair
            rest = minus(v[2 * pair], v[2 * pair + 1], p)
            v[2 * pair] = plus(v[2 * pair], v[2 * pair + 1], p)
            v[2 * pair + 1] = _turned(rest, factors, quotients, limb, at, p)
    if stages > 1:
        for half in range(2):
            for k in range(2):
                at = 2 * (blocks + block) + half
                rest = minus(v[4 * half + k], v[4 * half + k + 2], p)
                v[4 * half + k] = plus(v[4 * half + k], v[4 * half + k + 2], p)
                v[4 * half + k + 2] = _turned(rest, factors, quotients, limb, at, p)
    for k in range(4):
        rest = minus(v[k], v[k + 4], p)
        v[k] = plus(v[k], v[k + 4], p)
        v[k + 4] = _turned(rest, factors, quotients, limb, blocks + block, p)
    if blocks == 1:
        for k in range(8):
            v[k] = scaled(v[k], shrink[limb, 0], shrink[limb, 1], p)
    for k in range(8):
        x[row, base + k * step] = v[k]
