"""Sums whose keys are fixed, so that their bytes are as well."""

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from securefair.averaging import Gathering, SumSpec
from securefair.averaging.masked import MaskedKeys, MaskedSums
from securefair.averaging.pairwise import public_bytes

SESSION = bytes(range(32))


@pytest.fixture(scope="session")
def fixed_private():
    """The X25519 key of a seed."""
    return lambda seed: X25519PrivateKey.from_private_bytes(bytes([seed + 1]) * 32)


@pytest.fixture(scope="session")
def gathering_of():
    """A gathering of a fixed session; a dictionary of changes makes another."""

    def make(senders=("a", "b", "c"), **changes):
        facts = {"session": SESSION, "round": 0, "receiver": "r", "senders": tuple(senders)}
        return Gathering(**facts | changes)

    return make


@pytest.fixture(scope="session")
def masked_messages(fixed_private):
    """Every sender's unsealed masked message of one sum, with the plan."""

    def make(gathering, vectors, weights, **spec):
        sums = MaskedSums()
        parameters = len(next(iter(vectors.values())))
        plan = sums.plan(SumSpec(parameters=parameters, senders=len(vectors), **spec))
        names = sorted({*vectors, gathering.receiver})
        private = {name: fixed_private(seed) for seed, name in enumerate(names)}
        keys = {
            name: MaskedKeys(public=public_bytes(key), private=key) for name, key in private.items()
        }
        publics = {name: key.public for name, key in keys.items()}
        requests = sums.ask(plan, keys[gathering.receiver], gathering, weights)
        messages = {
            name: sums.message(
                plan,
                keys[name],
                publics,
                gathering,
                name,
                requests[name],
                np.asarray(vectors[name]),
            )
            for name in gathering.senders
        }
        return sums, plan, keys[gathering.receiver], messages

    return make
