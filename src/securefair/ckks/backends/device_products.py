"""Sums, products, key products and divisions of residues, on every device.

Polynomials are rows (rows, N) of arrays (.., limbs, N), so a row's limb is its number modulo the
limbs. Threads are (row, place), or (ciphertext, limb, place) where several rows belong together.
"""

from __future__ import annotations

import warp as wp

from securefair.ckks.backends.device_arithmetic import (
    PRIME,
    minus,
    plus,
    product,
    scaled,
)

OUTPUTS = 8
"""Sums that a thread of `weighted` keeps in registers."""

SAFE_TERMS = 1 << 16
"""Products of a weight below 2^15 and a residue that a signed word of 64 bits holds."""

Sums = wp.types.vector(length=OUTPUTS, dtype=wp.int64)


@wp.kernel
def add(
    out: wp.array2d[wp.uint32],
    x: wp.array2d[wp.uint32],
    y: wp.array2d[wp.uint32],
    primes: wp.array[wp.uint32],
) -> None:
    """x + y; a thread a value."""
    row, at = wp.tid()
    out[row, at] = plus(x[row, at], y[row, at], primes[row % primes.shape[0]])


@wp.kernel
def subtract(
    out: wp.array2d[wp.uint32],
    x: wp.array2d[wp.uint32],
    y: wp.array2d[wp.uint32],
    primes: wp.array[wp.uint32],
) -> None:
    """x - y; a thread a value."""
    row, at = wp.tid()
    out[row, at] = minus(x[row, at], y[row, at], primes[row % primes.shape[0]])


@wp.kernel
def add_to_first(
    x: wp.array4d[wp.uint32], plain: wp.array3d[wp.uint32], primes: wp.array[wp.uint32]
) -> None:
    """Plaintexts to the first polynomials."""
    which, limb, at = wp.tid()
    x[which, 0, limb, at] = plus(x[which, 0, limb, at], plain[which, limb, at], primes[limb])


@wp.kernel
def multiply_plain(
    out: wp.array4d[wp.uint32],
    x: wp.array4d[wp.uint32],
    plain: wp.array3d[wp.uint32],
    moduli: wp.array2d[wp.uint64],
) -> None:
    """Every polynomial times its ciphertext's plaintext."""
    which, limb, at = wp.tid()
    for poly in range(x.shape[1]):
        out[which, poly, limb, at] = product(
            x[which, poly, limb, at], plain[which, limb, at], moduli, limb
        )


@wp.kernel
def sum_products(
    out: wp.array4d[wp.uint32],
    x: wp.array4d[wp.uint32],
    y: wp.array4d[wp.uint32],
    left: wp.array2d[wp.int64],
    right: wp.array2d[wp.int64],
    moduli: wp.array2d[wp.uint64],
) -> None:
    """Sums of products of two ciphertexts, three polynomials each."""
    group, limb, at = wp.tid()
    p = wp.uint32(moduli[limb, wp.static(PRIME)])
    low, cross, high = wp.uint32(0), wp.uint32(0), wp.uint32(0)
    for term in range(left.shape[1]):
        i, j = wp.int32(left[group, term]), wp.int32(right[group, term])
        a, b = x[i, 0, limb, at], x[i, 1, limb, at]
        c, d = y[j, 0, limb, at], y[j, 1, limb, at]
        low = plus(low, product(a, c, moduli, limb), p)
        cross = plus(cross, product(a, d, moduli, limb), p)
        cross = plus(cross, product(b, c, moduli, limb), p)
        high = plus(high, product(b, d, moduli, limb), p)
    out[group, 0, limb, at] = low
    out[group, 1, limb, at] = cross
    out[group, 2, limb, at] = high


@wp.kernel
def weighted(
    out: wp.array3d[wp.uint32],
    x: wp.array3d[wp.uint32],
    weights: wp.array2d[wp.int32],
    reads: wp.array2d[wp.int64],
    writes: wp.array2d[wp.int64],
    groups: wp.int32,
    primes: wp.array[wp.uint32],
) -> None:
    """out[writes[p, o]] = sum_k weights[o, k] x[reads[p, k]], for (ciphertexts, rows, N).

    A thread makes `OUTPUTS` sums at one value, so that it reads an input once for all of them; the
    first index counts places times `groups` of outputs.
    """
    which, row, at = wp.tid()
    place = which // groups
    first = (which % groups) * wp.static(OUTPUTS)
    inputs, outputs = weights.shape[1], weights.shape[0]
    p = wp.int64(primes[row % primes.shape[0]])
    sums = Sums()
    for k in range(inputs):
        value = wp.int64(x[wp.int32(reads[place, k]), row, at])
        for o in range(wp.static(OUTPUTS)):
            if first + o < outputs:
                sums[o] = sums[o] + wp.int64(weights[first + o, k]) * value
        if k % wp.static(SAFE_TERMS) == wp.static(SAFE_TERMS - 1):
            for o in range(wp.static(OUTPUTS)):
                sums[o] = sums[o] % p
    for o in range(wp.static(OUTPUTS)):
        if first + o < outputs:
            rest = sums[o] % p
            if rest < wp.int64(0):
                rest += p
            out[wp.int32(writes[place, first + o]), row, at] = wp.uint32(rest)


@wp.kernel
def add_constants(
    out: wp.array4d[wp.uint32], bias: wp.array2d[wp.uint32], primes: wp.array[wp.uint32]
) -> None:
    """A constant to every value of the first polynomials."""
    which, limb, at = wp.tid()
    out[which, 0, limb, at] = plus(out[which, 0, limb, at], bias[which, limb], primes[limb])


@wp.kernel
def raise_digits(
    out: wp.array3d[wp.uint32], digits: wp.array2d[wp.uint32], primes: wp.array[wp.uint32]
) -> None:
    """Coefficients (rows, N) modulo every prime: (rows, limbs, N)."""
    row, limb, at = wp.tid()
    out[row, limb, at] = digits[row, at] % primes[limb]


@wp.kernel
def key_product(
    out: wp.array4d[wp.uint32],
    digits: wp.array4d[wp.uint32],
    key: wp.array4d[wp.uint32],
    moduli: wp.array2d[wp.uint64],
) -> None:
    """sum_j digits[:, j] key[j, :]: (d, 2, limbs, N); a key's last limb is the special prime's."""
    which, limb, at = wp.tid()
    p = wp.uint32(moduli[limb, wp.static(PRIME)])
    row = limb
    if limb == out.shape[2] - 1:
        row = key.shape[2] - 1
    first, second = wp.uint32(0), wp.uint32(0)
    for j in range(digits.shape[1]):
        value = digits[which, j, limb, at]
        first = plus(first, product(value, key[j, 0, row, at], moduli, limb), p)
        second = plus(second, product(value, key[j, 1, row, at], moduli, limb), p)
    out[which, 0, limb, at] = first
    out[which, 1, limb, at] = second


@wp.kernel
def round_last(
    out: wp.array3d[wp.uint32],
    last: wp.array2d[wp.uint32],
    dropped: wp.uint32,
    primes: wp.array[wp.uint32],
) -> None:
    """What rounding takes away: coefficients (rows, N) of the last limb, centred, modulo others."""
    row, limb, at = wp.tid()
    p = primes[limb]
    half = dropped >> wp.uint32(1)
    up = plus(last[row, at], half, dropped)
    out[row, limb, at] = minus(up % p, half % p, p)


@wp.kernel
def divide(
    out: wp.array3d[wp.uint32],
    x: wp.array3d[wp.uint32],
    taken: wp.array3d[wp.uint32],
    inverses: wp.array2d[wp.uint32],
    primes: wp.array[wp.uint32],
) -> None:
    """(x - taken) / dropped, for (rows, limbs, N); `inverses` with their quotients, (limbs, 2)."""
    row, limb, at = wp.tid()
    p = primes[limb]
    rest = minus(x[row, limb, at], taken[row, limb, at], p)
    out[row, limb, at] = scaled(rest, inverses[limb, 0], inverses[limb, 1], p)


@wp.kernel
def unpack(
    out: wp.array4d[wp.uint32],
    large: wp.array[wp.int32],
    words: wp.array2d[wp.uint32],
    starts: wp.array[wp.int32],
    widths: wp.array[wp.int32],
    primes: wp.array[wp.uint32],
) -> None:
    """Packed first polynomials (d, words) -> residues (d, polys, limbs, N); see `packing`.

    `large` counts those that are not below their primes.
    """
    which, limb, at = wp.tid()
    width = widths[limb]
    lane, place = at % 16, (at % 512) // 16
    bit = place * width
    base = starts[limb] + (at // 512) * 16 * width + lane
    word, shift = bit // 32, wp.uint32(bit % 32)
    value = words[which, base + 16 * word] >> shift
    if bit % 32 + width > 32:
        value = value | (words[which, base + 16 * (word + 1)] << (wp.uint32(32) - shift))
    if width < 32:
        value = value & ((wp.uint32(1) << wp.uint32(width)) - wp.uint32(1))
    if value >= primes[limb]:
        wp.atomic_add(large, 0, 1)
    out[which, 0, limb, at] = value
