"""Fair swarm learning of networks (Tajabadi, Heider 2024, Algorithm 1).

Participants are ordered by how many samples they have. In cycle c, everyone who is still there
trains on its c-th section, which has as many samples as the smallest of them has left, and models
are merged after every epoch. Then the smallest leaves with the model it helped to make; the others
go on with data it never matched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from securefair.model import TrainStates, derive_seed
from securefair.records import RoundRecord
from securefair_lab.algorithms.settings import check_settings
from securefair_lab.algorithms.stacked_population import StackedPopulation

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, eq=False)
class FairSlState:
    """Everything that a next round depends on."""

    seed: int
    round: int
    train_states: TrainStates
    sections: tuple[tuple[NDArray[np.int64], ...], ...]  # [cycle][participant]: its samples


@dataclass(frozen=True, kw_only=True)
class FairSl:
    """One round is one epoch and one merge; cycle c takes `epochs_per_cycle[c]` of them.

    Cycles are counted by distinct sizes: participants of equal size leave together. Rounds after
    the last cycle change nothing. The paper trains with Adam; here it is SGD, as everywhere.

    Args:
        epochs_per_cycle: the last number counts for all further cycles.
        rate_factors: of the learning rate, of each cycle; the last for all further cycles.
        frozen_layers: how many tensors of the network, counted from the input, stay as they are
            after the first cycle.

    Raises:
        ConfigError: a setting out of range.
    """

    epochs_per_cycle: tuple[int, ...] = (20,)
    rate_factors: tuple[float, ...] = (1.0, 0.1)
    frozen_layers: int = 0
    name: str = "fairsl"

    def __post_init__(self) -> None:
        epochs, factors = self.epochs_per_cycle, self.rate_factors
        check_settings(
            self,
            epochs_per_cycle=(bool(epochs) and min(epochs) >= 1, "one or more, each 1 or more"),
            rate_factors=(bool(factors) and min(factors) > 0, "one or more, each above 0"),
            frozen_layers=(self.frozen_layers >= 0, "0 or more"),
        )

    def init(self, population: StackedPopulation, seed: int) -> FairSlState:
        """One initialisation for all; everyone cuts its samples, shuffled once, into sections."""
        sizes = [len(p.train) for p in population.participants]
        orders = [
            np.random.default_rng(derive_seed(seed, "sections", name)).permutation(size)
            for name, size in zip(population.names, sizes, strict=True)
        ]
        return FairSlState(
            seed=seed,
            round=0,
            train_states=population.start(seed, common=True),
            sections=tuple(
                tuple(order[start:stop] for order in orders) for start, stop in cycles(sizes)
            ),
        )

    def rounds(self, population: StackedPopulation) -> int:
        """How many rounds all cycles take."""
        count = len(cycles([len(p.train) for p in population.participants]))
        return sum(_of(self.epochs_per_cycle, cycle) for cycle in range(count))

    def round(
        self, state: FairSlState, population: StackedPopulation
    ) -> tuple[FairSlState, RoundRecord]:
        """One epoch of everyone who is still there, and one merge by the unweighted mean."""
        count = len(population.names)
        cycle = self._cycle(state)
        here = [] if cycle is None else [n for n in range(count) if len(state.sections[cycle][n])]
        train_states = state.train_states
        if cycle is not None:
            train_states = self._trained(state, population, cycle, here)
        links = torch.zeros(count, count, dtype=torch.bool)
        numbers_sent = [0] * count
        if len(here) > 1:
            vectors = train_states.vectors.clone()
            sent = population.sent(
                vectors, round=state.round, seed=state.seed, unchanged=state.train_states.vectors
            )
            vectors[here] = sent[here].mean(dim=0)  # 1 / (n - c + 1), not 1 / (n - i) as printed
            train_states = train_states.moved(vectors)
            links[np.ix_(here, here)] = True
            links.fill_diagonal_(False)
            numbers_sent = self._traffic(state, population, here)
        record = population.record(
            self.name,
            state.round,
            train_states.vectors,
            links=links,
            numbers_sent=numbers_sent,
            present=[n in here for n in range(count)],
        )
        return FairSlState(state.seed, state.round + 1, train_states, state.sections), record

    def _cycle(self, state: FairSlState) -> int | None:
        """The cycle of this round; None after the last."""
        end = 0
        for cycle in range(len(state.sections)):
            end += _of(self.epochs_per_cycle, cycle)
            if state.round < end:
                return cycle
        return None

    def _trained(
        self, state: FairSlState, population: StackedPopulation, cycle: int, here: Sequence[int]
    ) -> TrainStates:
        frozen: Tensor | None = None
        if cycle > 0 and self.frozen_layers:
            stacked = population.stacked
            frozen = torch.zeros(stacked.trained, dtype=torch.bool, device=stacked.device)
            for layer in stacked.layers[: self.frozen_layers]:
                frozen[layer.start : layer.stop] = True
        rows = torch.tensor(here)
        trained = population.train(
            TrainStates(state.train_states.vectors[rows], state.train_states.momentum[rows]),
            epochs=1,
            seed=state.seed,
            clock=state.round,
            frozen=frozen,
            optimizer=population.optimizer.scaled(_of(self.rate_factors, cycle)),
            only=here,
            within=state.sections[cycle],
        )
        vectors, momentum = state.train_states.vectors.clone(), state.train_states.momentum.clone()
        vectors[rows], momentum[rows] = trained.vectors, trained.momentum
        return TrainStates(vectors, momentum)

    def _traffic(
        self, state: FairSlState, population: StackedPopulation, here: Sequence[int]
    ) -> list[int]:
        """Everyone sends its model to a coordinator drawn anew, which sends the mean back."""
        draw = np.random.default_rng(derive_seed(state.seed, f"coordinator {state.round}", ""))
        coordinator = here[int(draw.integers(len(here)))]
        sent = [population.stacked.length if n in here else 0 for n in range(len(population.names))]
        sent[coordinator] *= len(here) - 1
        return sent


def cycles(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """The section [S_(c-1), S_c) of each cycle, by distinct sizes: L_c = S_c - S_(c-1).

    Eq. 3 prints S_c minus the sum of all sizes before it, which the paper's own example contradicts
    and which would be negative for nearly equal participants.
    """
    bounds = [0, *sorted(set(sizes))]
    return list(pairwise(bounds))


def _of(values: Sequence[Number], cycle: int) -> Number:
    return values[min(cycle, len(values) - 1)]
