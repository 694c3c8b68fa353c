"""What every reference algorithm is: a start, and a round that turns one state into the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeVar

from securefair.records import RoundRecord

State = TypeVar("State")
Members = TypeVar("Members", contravariant=True)


class Algorithm(Protocol[State, Members]):
    """State in, state out.

    `Members` says who takes part and what they agreed on: `population.Population` where encrypted
    heads are distilled, `stacked_population.StackedPopulation` where whole networks are trained in
    the clear.

    The seed enters once and is kept in the state, and every random draw of a later round is a pure
    function of it and of the round's number. So a round is a pure function of the state: runs are
    repeatable, and separate participants, who share no
    generator, can take the same draws.
    """

    @property
    def name(self) -> str:
        """What records call the algorithm."""
        ...

    def init(self, population: Members, seed: int) -> State:
        """The state before round 0."""
        ...

    def round(self, state: State, population: Members) -> tuple[State, RoundRecord]:
        """One round; `state` is left as it was."""
        ...


def run(
    algorithm: Algorithm[State, Members], population: Members, seed: int, rounds: int
) -> Iterator[RoundRecord]:
    """The records of so many rounds from the start, one after the other as they are computed."""
    state = algorithm.init(population, seed)
    for _ in range(rounds):
        state, record = algorithm.round(state, population)
        yield record
