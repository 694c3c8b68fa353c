"""Uniform polynomials from seeds in torch, as SEAL expands a seeded ciphertext.

SEAL's generator is BLAKE2Xb, 4096 bytes at a time: a root hash of (seed as key, counter), then 64
output nodes, each an unkeyed BLAKE2b (RFC 7693) of the root hash. All nodes of all buffers of all
seeds are compressed together. Words are int64 that wrap around, as unsigned ones do.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.basis_torch import moduli

SEED_BYTES = 64
BUFFER_WORDS = 512
_NODE_WORDS = 8
_NODES_AT_ONCE = 1 << 17

_IV = (
    0x6A09E667F3BCC908,
    0xBB67AE8584CAA73B,
    0x3C6EF372FE94F82B,
    0xA54FF53A5F1D36F1,
    0x510E527FADE682D1,
    0x9B05688C2B3E6C1F,
    0x1F83D9ABFB41BD6B,
    0x5BE0CD19137E2179,
)
_SIGMA = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
    (14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3),
    (11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4),
    (7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8),
    (9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13),
    (2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9),
    (12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11),
    (13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10),
    (6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5),
    (10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0),
)
_MIXED = (  # columns, then diagonals
    (0, 4, 8, 12),
    (1, 5, 9, 13),
    (2, 6, 10, 14),
    (3, 7, 11, 15),
    (0, 5, 10, 15),
    (1, 6, 11, 12),
    (2, 7, 8, 13),
    (3, 4, 9, 14),
)
_ROUNDS = 12
_OUTPUT_LENGTH = (8 * BUFFER_WORDS) << 32  # beside the node number
_ROOT_PARAMETERS = 64 | SEED_BYTES << 8 | 1 << 16 | 1 << 24  # digest, key, fanout, depth
_NODE_PARAMETERS = 64 | 64 << 32  # digest, leaf
_INNER_LENGTH = 64 << 8


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def _rotate_right(x: torch.Tensor, k: int) -> torch.Tensor:
    return ((x >> k) & ((1 << (64 - k)) - 1)) | (x << (64 - k))


def _compress(
    h: list[torch.Tensor], m: list[torch.Tensor], length: int, *, last: bool
) -> list[torch.Tensor]:
    """BLAKE2b's compression function on tensors of words; m beyond its length is zero."""
    zero = torch.zeros_like(h[0])
    v = [*h, *(zero + _signed(word) for word in _IV)]
    v[12] = v[12] ^ length
    if last:
        v[14] = ~v[14]
    for turn in range(_ROUNDS):
        order = _SIGMA[turn % len(_SIGMA)]
        for step, (a, b, c, d) in enumerate(_MIXED):
            for word, down, right in (
                (order[2 * step], 32, 24),
                (order[2 * step + 1], 16, 63),
            ):
                v[a] = v[a] + v[b]
                if word < len(m):
                    v[a] = v[a] + m[word]
                v[d] = _rotate_right(v[d] ^ v[a], down)
                v[c] = v[c] + v[d]
                v[b] = _rotate_right(v[b] ^ v[c], right)
    return [h[i] ^ v[i] ^ v[i + 8] for i in range(8)]


def _stream(keys: torch.Tensor, counters: torch.Tensor) -> torch.Tensor:
    """Key words int64 (k, 8) and counters (k,) -> buffers (k, 512) of the stream."""
    start = list(_IV)
    start[0] ^= _ROOT_PARAMETERS
    start[1] ^= _OUTPUT_LENGTH
    zero = torch.zeros_like(counters)
    h = [zero + _signed(word) for word in start]
    h = _compress(h, list(keys.T), 128, last=False)
    root = _compress(h, [counters], 128 + 8, last=True)
    nodes = torch.arange(BUFFER_WORDS // _NODE_WORDS, device=keys.device)
    start = list(_IV)
    start[0] ^= _NODE_PARAMETERS
    start[1] ^= _OUTPUT_LENGTH
    start[2] ^= _INNER_LENGTH
    zero = torch.zeros((len(keys), len(nodes)), dtype=torch.int64, device=keys.device)
    h = [zero + _signed(word) for word in start]
    h[1] = h[1] ^ nodes
    words = _compress(h, [word[:, None] for word in root], 64, last=True)
    return torch.stack(words, dim=-1).reshape(len(keys), BUFFER_WORDS)


def expand_seeds(seeds: torch.Tensor, basis: Basis) -> torch.Tensor:
    """See `kernels.expand_seeds`."""
    n, device = basis.ring_degree, seeds.device
    keys = seeds.contiguous().view(torch.int64)
    buffers = len(basis) * n // BUFFER_WORDS
    counters = torch.arange(buffers, device=device)
    result = torch.empty((len(seeds), len(basis), n), dtype=torch.int32, device=device)
    group = max(1, _NODES_AT_ONCE * _NODE_WORDS // (buffers * BUFFER_WORDS))
    for first in range(0, len(seeds), group):
        part = keys[first : first + group]
        words = _stream(part.repeat_interleave(buffers, dim=0), counters.repeat(len(part))).view(
            len(part), len(basis), n
        )
        result[first : first + group] = uniform_residues(words, basis, _rest(part, buffers))
    return result


def _rest(keys: torch.Tensor, buffers: int) -> list[Iterator[int]]:
    """For each key the words of its stream after the first `buffers` buffers."""

    def words(key: torch.Tensor) -> Iterator[int]:
        counter = torch.full((1,), buffers, device=key.device)
        while True:
            yield from _stream(key[None], counter)[0].tolist()
            counter = counter + 1

    return [words(key) for key in keys]


def uniform_residues(words: torch.Tensor, basis: Basis, rest: list[Iterator[int]]) -> torch.Tensor:
    """Words (d, limbs, N) of streams -> uniform residues, as SEAL's sample_poly_uniform.

    Words from 2^64 - 2 - (2^64 - 1 mod p) on are drawn again, from what follows in the stream.
    That happens once in 2^33 words.
    """
    p = moduli(basis, words.device)
    high, low = (words >> 32) & 0xFFFFFFFF, words & 0xFFFFFFFF
    residues = (high * ((1 << 32) % p) + low) % p
    limits = [first_rejected(q) for q in basis.primes]
    least = torch.tensor([limit & 0xFFFFFFFF for limit in limits], device=words.device)
    rejected = (high == 0xFFFFFFFF) & (low >= least[:, None])
    for i, limb, at in rejected.nonzero().tolist():
        word = next(rest[i]) % (1 << 64)
        while word >= limits[limb]:
            word = next(rest[i]) % (1 << 64)
        residues[i, limb, at] = word % basis.primes[limb]
    return residues.to(torch.int32)


def first_rejected(p: int) -> int:
    """The smallest word that SEAL's sampler does not use for the prime p."""
    largest = (1 << 64) - 1
    return largest - largest % p - 1
