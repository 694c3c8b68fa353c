"""Uniform polynomials from seeds on every device, as SEAL expands a seeded ciphertext.

SEAL's generator is BLAKE2Xb, 4096 bytes at a time: a root hash of (seed as key, counter), then 64
output nodes, each an unkeyed BLAKE2b (RFC 7693) of the root hash. A thread makes a node: 8 words,
which become 8 residues.
"""

from __future__ import annotations

import warp as wp

from securefair.ckks.backends.device_arithmetic import LIMIT, PRIME

SEED_WORDS = 8
BUFFER_WORDS = 512
NODE_WORDS = 8
NODES = BUFFER_WORDS // NODE_WORDS

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
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
    (14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3),
)
"""Twelve rounds; the last two are as the first two."""

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
_OUTPUT_LENGTH = (8 * BUFFER_WORDS) << 32  # beside the node number
_ROOT_PARAMETERS = 64 | 8 * SEED_WORDS << 8 | 1 << 16 | 1 << 24  # digest, key, fanout, depth
_NODE_PARAMETERS = 64 | 64 << 32  # digest, leaf
_INNER_LENGTH = 64 << 8
_BLOCK, _COUNTER = 128, 8  # bytes: the key fills a block

_ROOT_START = (_IV[0] ^ _ROOT_PARAMETERS, _IV[1] ^ _OUTPUT_LENGTH, *_IV[2:])
_NODE_START = (
    _IV[0] ^ _NODE_PARAMETERS,
    _IV[1] ^ _OUTPUT_LENGTH,
    _IV[2] ^ _INNER_LENGTH,
    *_IV[3:],
)

_Hash = wp.types.vector(length=8, dtype=wp.uint64)
_State = wp.types.vector(length=16, dtype=wp.uint64)


@wp.func
def _turned(x: wp.uint64, k: wp.uint64) -> wp.uint64:
    return (x >> k) | (x << (wp.uint64(64) - k))


@wp.func
def _compress(h: _Hash, m: _State, length: wp.uint64, last: wp.uint64) -> _Hash:
    """BLAKE2b's compression function; `last` has all bits set for the last block."""
    v = _State()
    for i in range(8):
        v[i] = h[i]
        v[i + 8] = wp.static(wp.uint64(_IV[i]))
    v[12] = v[12] ^ length
    v[14] = v[14] ^ last
    for turn in range(12):
        for step in range(8):
            a = v[wp.static(_MIXED[step][0])]
            b = v[wp.static(_MIXED[step][1])]
            c = v[wp.static(_MIXED[step][2])]
            d = v[wp.static(_MIXED[step][3])]
            a = a + b + m[wp.static(_SIGMA[turn][2 * step])]
            d = _turned(d ^ a, wp.uint64(32))
            c = c + d
            b = _turned(b ^ c, wp.uint64(24))
            a = a + b + m[wp.static(_SIGMA[turn][2 * step + 1])]
            d = _turned(d ^ a, wp.uint64(16))
            c = c + d
            b = _turned(b ^ c, wp.uint64(63))
            v[wp.static(_MIXED[step][0])] = a
            v[wp.static(_MIXED[step][1])] = b
            v[wp.static(_MIXED[step][2])] = c
            v[wp.static(_MIXED[step][3])] = d
    out = _Hash()
    for i in range(8):
        out[i] = h[i] ^ v[i] ^ v[i + 8]
    return out


@wp.func
def _node(root: _Hash, node: wp.uint64) -> _Hash:
    """64 bytes of a buffer's stream."""
    h, m = _Hash(), _State()
    for i in range(8):
        h[i] = wp.static(wp.uint64(_NODE_START[i]))
        m[i] = root[i]
    h[1] = h[1] ^ node
    return _compress(h, m, wp.uint64(64), ~wp.uint64(0))


@wp.kernel
def roots(out: wp.array2d[wp.uint64], keys: wp.array2d[wp.uint64], first: wp.int32) -> None:
    """Root hashes of the buffers from `first` on, (seeds times buffers, 8)."""
    seed, buffer = wp.tid()
    h, m = _Hash(), _State()
    for i in range(8):
        h[i] = wp.static(wp.uint64(_ROOT_START[i]))
        m[i] = keys[seed, i]
    h = _compress(h, m, wp.uint64(wp.static(_BLOCK)), wp.uint64(0))
    for i in range(8):
        m[i] = wp.uint64(0)
    m[0] = wp.uint64(first + buffer)
    h = _compress(h, m, wp.uint64(wp.static(_BLOCK + _COUNTER)), ~wp.uint64(0))
    row = seed * (out.shape[0] // keys.shape[0]) + buffer
    for i in range(8):
        out[row, i] = h[i]


@wp.kernel
def stream(out: wp.array2d[wp.uint64], root: wp.array2d[wp.uint64]) -> None:
    """All words of buffers, (buffers, 512); a thread a node."""
    row, node = wp.tid()
    h = _Hash()
    for i in range(8):
        h[i] = root[row, i]
    h = _node(h, wp.uint64(node))
    for i in range(8):
        out[row, 8 * node + i] = h[i]


@wp.kernel
def uniform(
    out: wp.array4d[wp.uint32],
    rejected: wp.array[wp.int32],
    words: wp.array3d[wp.uint64],
    moduli: wp.array2d[wp.uint64],
) -> None:
    """Words (d, limbs, N) of streams -> residues, into the last polynomials of `out`.

    `rejected` counts words that are to be drawn again: one in 2^33.
    """
    which, limb, at = wp.tid()
    word = words[which, limb, at]
    if word >= moduli[limb, wp.static(LIMIT)]:
        wp.atomic_add(rejected, 0, 1)
    rest = wp.uint32(word % moduli[limb, wp.static(PRIME)])
    out[which, out.shape[1] - 1, limb, at] = rest
