"""The two bases of the `projection` release: which weighted sums of its logits a teacher gives out.

**Public**: coefficients of the message polynomial. With batch packing a student's samples sit in
the slots of blocks of N/2. For real slot values z_s, coefficient i of a block's message polynomial
is the weighted sum

    m_i = (2/N) sum_s z_s cos(pi i 3^s / N),        s = 0 .. N/2 - 1

so releasing a few coefficients releases a few known weighted sums over *all* samples: `public_rows`
are their weights. Coefficient 0 is nearly the mean. Since 3^s is odd, m_(N-i) = -m_i and
m_(N/2) = 0 for real values: the coefficients 0 .. N/2 - 1 say everything, and only they are ever
drawn. The public basis is a function of public numbers and the same in every process, on every
platform and under every version of numpy, since both sides of an exchange compute it.

Slots repeat the samples with an **odd** period (`sample_at`). The weights of a coefficient repeat
with periods of powers of two, and samples whose number shares a factor with these would be told
apart by few rows or by none: 16 samples by one row, 256 by five.

**Student**: orthonormal rows of the student's choice, which it encrypts: fewer numbers for the same
quality, but the teacher has to multiply ciphertexts.
"""

from __future__ import annotations

from hashlib import shake_256

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples
from securefair.errors import ConfigError
from securefair.model.kernel import SampleKernel

_POWER_STEPS = 4
_SPARE_VECTORS = 8


def public_indices(ring_degree: int, q: int, seed: bytes) -> NDArray[np.int64]:
    """The q coefficients that are released: 0 and q - 1 others below N/2, ascending.

    Without coefficient 0, the mean, no reconstruction is any good; the others are drawn by the
    public seed, so that no side chooses them. Equal seeds give equal indices.

    Raises:
        ConfigError: the ring degree is no power of two from 4, or q is not in 1..N/2.
    """
    slots = _slots(ring_degree)
    if not 1 <= q <= slots:
        raise ConfigError(
            "so many coefficients cannot be released",
            where="q",
            found=q,
            expected=f"1 to {slots}, half the ring degree: the other half repeats them",
        )
    # Ordering all candidates by 64 hashed bits each is a uniformly random permutation of them.
    keys = np.frombuffer(_stream(b"indices", seed, 8 * (slots - 1)), dtype="<u8")
    others = 1 + np.argsort(keys, kind="stable")[: q - 1]
    return np.sort(np.concatenate([[0], others])).astype(np.int64)


class SignedSeed(bytes):
    """A public seed of a project of protocol 12, whose blocks are added under random signs.

    Signs of an even number of blocks may sum to 0. Then no number tells the mean of the logits.
    """


def block_signs(blocks: int, seed: bytes) -> NDArray[np.float64]:
    """A public sign, +1.0 or -1.0, for each block: (blocks,). Blocks are added under their signs.

    All are +1, so that coefficient 0 tells the mean over all blocks: at least 85 % of a constant
    lies in that one row, and all of it where every sample stands equally often. Those of a
    `SignedSeed` are drawn but for the first, since a sign of the whole sum would tell nothing.

    Raises:
        ConfigError: fewer than one block.
    """
    if blocks < 1:
        raise ConfigError("there are no blocks", where="blocks", found=blocks, expected="1 or more")
    if not isinstance(seed, SignedSeed):
        return np.ones(blocks)
    bits = np.frombuffer(_stream(b"signs", seed, blocks), dtype=np.uint8) & 1
    signs: NDArray[np.float64] = 1.0 - 2.0 * bits.astype(np.float64)
    signs *= signs[0]
    return signs


def sample_at(samples: int, positions: int) -> NDArray[np.int64]:
    """Which sample each position holds, (positions,): position p sample (p mod P) mod B.

    P is B or B + 1, whichever is odd: of an even number of samples the first stands twice.

    Raises:
        ConfigError: there are no samples.
    """
    if samples < 1:
        raise ConfigError("there are no samples", where="samples", found=samples)
    period = samples + 1 - samples % 2
    held: NDArray[np.int64] = np.arange(positions) % period % samples
    return held


def public_rows(
    ring_degree: int, indices: NDArray[np.int64], samples: int, signs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The weight of each sample in each released number, (q, B): released = rows @ logits.

    Positions p = block * N/2 + slot of all blocks hold samples as `sample_at` says: they repeat, so
    some weigh once more than others.

    Args:
        ring_degree: N, a power of two from 4.
        indices: (q,) coefficients, each in 0..N-1 (`public_indices`, or any).
        samples: B, at least 1.
        signs: (blocks,) with blocks = ceil(B / (N/2)).

    Raises:
        ConfigError: an argument is out of range, or there are more or fewer signs than blocks.
    """
    slots = _slots(ring_degree)
    held = sample_at(samples, -(-samples // slots) * slots)
    blocks = len(held) // slots
    if signs.shape != (blocks,):
        raise ConfigError(
            "signs and blocks disagree",
            where="signs",
            found=signs.shape,
            expected=f"({blocks},) for {samples} samples in blocks of {slots}",
        )
    if indices.ndim != 1 or ((indices < 0) | (indices >= ring_degree)).any():
        raise ConfigError(
            "not coefficients of this ring", where="indices", expected=f"0 to {ring_degree - 1}"
        )
    one_block = _cosines(ring_degree)[
        np.outer(indices, _slot_powers(ring_degree)) % (2 * ring_degree)
    ]
    positions = np.concatenate([sign * one_block for sign in signs], axis=1)
    folded = np.zeros((samples, len(indices)))
    np.add.at(folded, held, positions.T)
    rows: NDArray[np.float64] = np.ascontiguousarray(folded.T) * (2 / ring_degree)
    return rows


def student_basis(samples: Samples, q: int) -> NDArray[np.float64]:
    """Orthonormal rows (q, B): one for each class among the labels, then what the prior adds.

    The class rows hold the normalised indicator of the class; the others are the leading
    eigenvectors of the prior covariance (`kernel`) with the class rows projected out, found by a
    few steps of subspace iteration from a fixed start. Equal samples give equal rows.

    Raises:
        ConfigError: q is below the number of classes present, or above B.
    """
    present = np.unique(samples.labels)
    if not len(present) <= q <= len(samples):
        raise ConfigError(
            "a basis of this size does not exist",
            where="q",
            found=q,
            expected=f"{len(present)} (the classes present) to {len(samples)} (the samples)",
        )
    indicators = (samples.labels[:, None] == present[None, :]).astype(np.float64)
    classes: NDArray[np.float64] = indicators / np.linalg.norm(indicators, axis=0)
    if q == len(present):
        return classes.T

    def without_classes(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        remainder: NDArray[np.float64] = vectors - classes @ (classes.T @ vectors)
        return remainder

    kernel = SampleKernel(samples)
    width = min(len(samples) - len(present), q - len(present) + _SPARE_VECTORS)
    vectors = np.random.default_rng(0).standard_normal((len(samples), width))
    for _ in range(_POWER_STEPS):
        vectors = np.linalg.qr(without_classes(vectors))[0]
        vectors = without_classes(kernel.product(vectors))
    leading = np.linalg.svd(vectors, full_matrices=False)[0]
    # Householder QR keeps the columns orthonormal even where the prior has run out of directions.
    basis = np.linalg.qr(np.concatenate([classes, leading], axis=1))[0][:, :q]
    basis[:, : len(present)] = classes
    return np.ascontiguousarray(basis.T)


def _slots(ring_degree: int) -> int:
    if ring_degree < 4 or ring_degree & (ring_degree - 1):
        raise ConfigError(
            "not a ring degree",
            where="ring_degree",
            found=ring_degree,
            expected="a power of two from 4",
        )
    return ring_degree // 2


def _slot_powers(ring_degree: int) -> NDArray[np.int64]:
    """3^s mod 2N for every slot s, (N/2,): the root at which slot s evaluates the polynomial."""
    powers = np.empty(ring_degree // 2, dtype=np.int64)
    value = 1
    for slot in range(len(powers)):
        powers[slot] = value
        value = value * 3 % (2 * ring_degree)
    return powers


def _cosines(ring_degree: int) -> NDArray[np.float64]:
    """cos(pi k / N) for k = 0..2N-1."""
    return np.cos(np.pi * np.arange(2 * ring_degree) / ring_degree)


def _stream(purpose: bytes, seed: bytes, size: int) -> bytes:
    """`size` bytes that look random and depend on the seed and on what they are for."""
    prefix = b"securefair projection " + purpose + len(seed).to_bytes(8, "little")
    return shake_256(prefix + seed).digest(size)
