"""What a dishonest public key could learn of an answer's masks, and how much of it is harmless.

Sanitising masks an answer with a u + e for a fresh ternary polynomial u; the same u enters the
first polynomial as b u. The teacher expands a from a seed, but b comes from the student, and no
test tells an honest b = a s + e from one that a structured polynomial was added to. With such a b
a released coefficient shows parts of u instead of message: at most log2(Q / 2F) bits of it, F the
amplitude of the flooding, whatever b is. A known coordinate of u lowers the dimension of the RLWE
problem that hides the masks by one (a perfect hint: Dachman-Soled, Ducas, Gong, Rossi, "LWE with
Side Information", CRYPTO 2020), and with all of them known the masks would give the weights away.

So q released coefficients may show at most so many coordinates that the rest still masks with
128 bits. Where all coefficients of an answer leave there is no such limit to keep: they tell the
function that the model computes anyway.
"""

from __future__ import annotations

import math

from securefair.ckks.security import ERROR_STD, MAX_LOG_QP
from securefair.ckks.tensor import CipherMeta


def number_bits(answer: CipherMeta) -> float:
    """Most bits that one released coefficient of a flooded answer tells, of whatever it tells."""
    # Rounding errors of the masks do not count: a dishonest student looks at c0 alone.
    width = max(1.0, 2 * answer.flood)
    return max(0.0, answer.log_q - math.log2(width))


def shown_coordinates(answer: CipherMeta, coefficients: int) -> float:
    """Most coordinates of u in {-1, 0, 1} that this many released coefficients tell."""
    return coefficients * number_bits(answer) / math.log2(3)


def masking_dimension(answer: CipherMeta) -> float:
    """Unknown coordinates of u that mask an answer with 128 bits.

    The table of moduli is nearly proportional to the ring degree. It is made for errors of
    deviation 3.2, whereas the masks of an answer carry a rounding error of deviation
    1 / sqrt(12): as hard as the modulus that is larger by the quotient.
    """
    n = answer.params.ring_degree
    log_q = answer.log_q + math.log2(ERROR_STD * math.sqrt(12))
    return n * log_q / MAX_LOG_QP[n]


def masks_hold(answer: CipherMeta, coefficients: int) -> bool:
    """Whether an answer that releases so many coefficients stays masked under any public key."""
    unknown = answer.params.ring_degree - shown_coordinates(answer, coefficients)
    return unknown >= masking_dimension(answer)
