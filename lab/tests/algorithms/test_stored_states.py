"""Any algorithm goes on from a stored state as it would have gone on."""

from dataclasses import replace

import pytest

from securefair.collaboration.state import decode_state, encode_state
from securefair.worth import EarlyStopping
from securefair_lab.algorithms import Cycle, Population, Standalone, Vpdl


@pytest.mark.parametrize(
    "algorithm", [Standalone(), EarlyStopping(rounds=6), Vpdl(), Cycle()], ids=lambda a: a.name
)
def test_every_algorithm_on_heads_goes_on_alike(algorithm, hospitals):
    population = Population(participants=tuple(hospitals), local_epochs=3, forced_every=2)
    population = replace(population, release=replace(population.release, q=5))
    state = algorithm.init(population, 4)
    for _ in range(3):
        state, _ = algorithm.round(state, population)
    restored = decode_state(encode_state(state), algorithm.init(population, 4))
    for _ in range(3):
        state, expected = algorithm.round(state, population)
        restored, found = algorithm.round(restored, population)
        assert found == expected
