"""Masked sums of four senders, as those who attack them see them."""

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from securefair.averaging import (
    Gathering,
    SumSpec,
)
from securefair.averaging.masked import MaskedKeys, MaskedSums
from securefair.averaging.pairwise import public_bytes

SESSION = bytes(range(32))
NAMES = ("a", "b", "c", "d")
PARAMETERS = 40_000
SUMS = MaskedSums()


def keys_of(seed):
    private = X25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
    return MaskedKeys(public=public_bytes(private), private=private)


KEYS = {name: keys_of(seed + 1) for seed, name in enumerate((*NAMES, "r", "s"))}
PUBLICS = {name: keys.public for name, keys in KEYS.items()}


def plan_of(precision=2.0**-16, **changes):
    return SUMS.plan(
        SumSpec(parameters=PARAMETERS, senders=4, bound=4.0, precision=precision, **changes)
    )


def gathering_of(senders=NAMES, **changes):
    return Gathering(
        **{"session": SESSION, "round": 0, "receiver": "r", "senders": senders} | changes
    )


def words(plan, gathering, sender, vector, weights=None):
    """One unsealed message: more than a receiver sees before all keys are released."""
    weights = weights or dict.fromkeys(gathering.senders, 1 / len(gathering.senders))
    request = SUMS.ask(plan, KEYS["r"], gathering, weights)[sender]
    message = SUMS.message(plan, KEYS[sender], PUBLICS, gathering, sender, request, vector)
    return np.frombuffer(message, dtype=plan.fixed.word)


def vector_of(seed, parameters=PARAMETERS):
    """Parameters as of a network: most of them small."""
    return np.clip(np.random.default_rng(seed).normal(0, 0.1, parameters), -4, 4)


def looks_random(message, uniform):
    """Bytes and whole words uniform, and no word like the next."""
    width = 2.0 ** (8 * message.itemsize)
    if not (uniform(np.frombuffer(message.tobytes(), np.uint8), 256) and uniform(message, width)):
        return False
    scaled = message / width
    return abs(np.corrcoef(scaled[:-1], scaled[1:])[0, 1]) < 6.5 / np.sqrt(len(message))
