"""How far an answer is flooded: at least as its spec says, and up to the precision it asks for.

What a released number carries beyond that precision helps nobody, and a dishonest student can fill
it with what it likes (`ckks.masking.number_bits`). Noise there costs nothing: no byte, no time.
"""

from __future__ import annotations

from collections.abc import Callable

MAX_FLOODING_BITS = 192
"""Beyond what any modulus of an answer has room for."""


def most_flooding(least: int, grants: Callable[[int], bool]) -> int:
    """The most bits of flooding that still grant a spec; `least`, which does, if no more do.

    Args:
        least: bits that the spec asks for.
        grants: whether so many bits fit the modulus and keep the precision; once it is false it is
            false for all larger numbers.
    """
    low, high = least, MAX_FLOODING_BITS
    while low < high:
        middle = (low + high + 1) // 2
        if grants(middle):
            low = middle
        else:
            high = middle - 1
    return low
