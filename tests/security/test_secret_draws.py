"""Nothing that a peer knows foretells a sharing decision or a first model.

In a simulation both come from one public seed, so that runs can be repeated. A site has a secret.
"""

import math

import numpy as np

from securefair.sites.site.starting import Rehearsal, _coins, weights_seed
from securefair.storage import Secret
from securefair.worth.sharing import coin, private_coin

ROUNDS, PEERS = range(40), ("south", "west")
PRIVATE = Secret(bytes(range(32)))


def draws(function):
    return [function(number, peer) for number in ROUNDS for peer in PEERS]


def test_a_site_starts_again_with_the_same_coins():
    assert draws(_coins("north", PRIVATE, None)) == draws(_coins("north", PRIVATE, None))


def test_coins_of_a_site_are_those_of_no_public_seed():
    own = draws(_coins("north", PRIVATE, None))
    for seed in range(2000):
        assert own[0] != coin(seed, 0, "north", "south")
    assert draws(_coins("north", Secret(bytes(32)), None)) != own


def test_a_rehearsal_alone_takes_a_public_seed():
    found = draws(_coins("north", PRIVATE, Rehearsal(seed=5)))
    assert found == [coin(5, number, "north", peer) for number in ROUNDS for peer in PEERS]


def test_first_weights_depend_on_the_secret():
    seeds = {weights_seed(Secret(bytes([at]) * 32)) for at in range(200)}
    assert len(seeds) == 200


def test_private_coins_are_uniform():
    found = np.array([private_coin(bytes(32), at, "south") for at in range(4000)])
    assert found.min() >= 0
    assert found.max() < 1
    assert abs(found.mean() - 0.5) < 5 * math.sqrt(1 / 12 / 4000)
