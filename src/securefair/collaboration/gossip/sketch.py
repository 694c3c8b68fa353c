"""Short vectors whose cosine is that of long ones: a public random projection.

A vector is cut into blocks of m numbers, each block is mixed by a random orthonormal matrix
(random signs, then a Hadamard transform: every number spreads over the whole block), gets random
signs again, and all blocks are added:

    S x  =  sum_b  D_b H E_b x_b          D_b, E_b random signs, H orthonormal Hadamard

A block alone is only rotated, so all error comes from products of different blocks. Both sides
draw the same signs from a public seed, in every process and on every platform, under every version
of numpy. The work is three small matrix products a block, in float32 (its rounding is a thousandth
of the projection's own error), and two random bits a number: 10^7 numbers take a tenth of a second.

Guarantee, for fixed x, y and random signs: <S x, S y> has mean <x, y> and variance at most
(|x|^2 |y|^2 + <x, y>^2) / m. In the cosine of the sketches the errors of their norms cancel
partly: like the correlation of m pairs of Gaussians it has a deviation of about (1 - c^2) / sqrt(m)
around the cosine c, exact at c = 1, widest at c = 0. `error_bound` is that Gaussian's tail.
The variance is proven (each pair of blocks contributes independent signs), the tail is what tests
find; someone who chooses a gradient *after* the seed can of course break it, for itself alone.
"""

from __future__ import annotations

import math
from functools import cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from securefair.errors import ConfigError, ModelError

Array = NDArray[np.float64]
Blocks = NDArray[np.float32]

MIN_SKETCH, MAX_SKETCH = 16, 1 << 16
CHUNK = 1 << 18
"""Numbers mixed at once, so that all temporaries stay in the cache."""

MAX_FACTOR_BITS = 5


def sketch(vector: Array, size: int, seed: bytes) -> Array:
    """S x: a vector (P,) -> (size,), or (P,) itself where P <= size: then nothing is lost.

    Raises:
        ConfigError: `size` is not a power of two from 16 to 65536.
        ModelError: the vector is not 1-D, or not finite.
    """
    check_size(size)
    peak = largest(vector)
    if len(vector) <= size or peak == 0.0:
        return np.zeros(size) if len(vector) > size else vector.astype(np.float64)
    total = np.zeros(size)
    step = max(1, CHUNK // size) * size
    blocks = np.empty((step // size, size), dtype=np.float32)
    for chunk, start in enumerate(range(0, len(vector), step)):
        piece = vector[start : start + step]
        used = blocks[: -(-len(piece) // size)]
        flat = used.reshape(-1)
        np.multiply(piece, 1.0 / peak, out=flat[: len(piece)], casting="same_kind")
        flat[len(piece) :] = 0.0
        before, after = _signs(seed, chunk, used.shape)
        used *= before
        mixed = hadamard(used)
        mixed *= after
        total += mixed.sum(axis=0)
    return total * peak


def largest(vector: Array) -> float:
    """max |x_p|, 0 for an empty vector.

    Raises:
        ModelError: the vector is not 1-D, or not finite.
    """
    peak = math.nan
    if vector.ndim == 1:
        peak = max(float(vector.max(initial=0.0)), -float(vector.min(initial=0.0)))
    if not math.isfinite(peak):
        raise ModelError(
            "only a finite vector has a direction",
            found=vector.shape,
            hint="Training diverged: lower the learning rate",
        )
    return peak


def unit(vector: Array) -> Array:
    """x / |x|; zeros stay zeros: a gradient that vanishes has no direction."""
    peak = largest(vector)
    if peak == 0.0:
        return np.zeros_like(vector)
    scaled = vector / peak  # squares of tiny or huge numbers would vanish or overflow
    direction: Array = scaled / np.linalg.norm(scaled)
    return direction


def unit_sketch(vector: Array, size: int, seed: bytes) -> Array:
    """The direction of the sketch of a vector's direction: norm 1, or all zeros."""
    return unit(sketch(vector, size, seed))


def error_bound(dimension: int, size: int, failure: float) -> float:
    """What the cosine of two unit sketches is off by at most, but with probability `failure`.

    sqrt(2 ln(2 / failure) / m): the two-sided tail of the correlation of m pairs of Gaussians,
    at cosine 0 where it is widest. 0 where nothing is sketched.

    Raises:
        ConfigError: `failure` is not a probability above 0.
    """
    if not 0.0 < failure < 1.0:
        raise ConfigError("out of range", where="failure", found=failure, expected="in (0, 1)")
    return 0.0 if dimension <= size else math.sqrt(2 * math.log(2 / failure) / size)


def check_size(size: int) -> None:
    """Refuse sizes that no Hadamard matrix has.

    Raises:
        ConfigError: not a power of two within the limits.
    """
    if not MIN_SKETCH <= size <= MAX_SKETCH or size & (size - 1):
        raise ConfigError(
            "a sketch has another size",
            where="sketch",
            found=size,
            expected=f"a power of two from {MIN_SKETCH} to {MAX_SKETCH}",
        )


def hadamard(blocks: Blocks) -> Blocks:
    """Rows (b, m) times the orthonormal Hadamard matrix, as the product of some small ones.

    The matrix is a Kronecker power, so each factor mixes some bits of a number's place. Factors of
    about 16 cost least: larger ones take more products, smaller ones more passes.
    """
    bits = blocks.shape[1].bit_length() - 1
    factors = -(-bits // MAX_FACTOR_BITS)
    mixed, stride = blocks, 1
    for index in range(factors):
        matrix = _matrix((bits + index) // factors)
        size = len(matrix)
        if stride == 1:  # the last axis: one large product instead of many small ones
            mixed = mixed.reshape(-1, size) @ matrix
        else:
            mixed = matrix @ mixed.reshape(-1, size, stride)
        stride *= size
    result: Blocks = mixed.reshape(blocks.shape)
    return result


@cache
def _matrix(log2_size: int) -> Blocks:
    """The orthonormal Hadamard matrix of Sylvester, symmetric."""
    matrix = np.ones((1, 1))
    for _ in range(log2_size):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]]) / math.sqrt(2)
    rounded = matrix.astype(np.float32)
    rounded.flags.writeable = False
    return rounded


def _signs(
    seed: bytes, chunk: int, shape: tuple[int, int]
) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Two sets of signs of one chunk, +1 or -1, each of this shape.

    A counter-based generator's raw words are fixed by its specification, unlike what numpy makes
    of them.
    """
    digest = blake2b(seed + chunk.to_bytes(8, "big"), digest_size=16, person=b"sf-sketch-signs")
    key = np.frombuffer(digest.digest(), dtype="<u8").astype(np.uint64)
    count = shape[0] * shape[1]
    words = np.random.Philox(key=key).random_raw(-(-2 * count // 64))
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")
    signs = 1 - 2 * bits[: 2 * count].view(np.int8).reshape(2, *shape)
    return signs[0], signs[1]
