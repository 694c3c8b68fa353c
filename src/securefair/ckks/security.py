"""How large a modulus 128-bit security allows.

Source: Bossuat, Cammarota, Chillotti, Curtis, Dai, Gong, Hales, Kim, Kumara, Lee, Lu, Maple,
Pedrouzo-Ulloa, Player, Polyakov, Lopez, Song, Yhee, "Security Guidelines for Implementing
Homomorphic Encryption", ePrint 2024/463, Table 5.2: ternary secret, error deviation 3.19,
classical attacks. The bound counts the key-switching prime, because public and evaluation keys
live modulo the product of all primes.
"""

from __future__ import annotations

import math

SECURITY_BITS = 128

MAX_LOG_QP: dict[int, int] = {4096: 106, 8192: 214, 16384: 430, 32768: 868}
"""Ring degree N -> largest bit length of the whole modulus at 128-bit security."""

ERROR_STD = math.sqrt(21 / 2)
"""Standard deviation of fresh encryption error: SEAL's centred binomial over 21 + 21 bits."""
