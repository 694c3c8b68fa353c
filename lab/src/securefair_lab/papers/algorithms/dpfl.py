"""Decentralised personalised federated learning (Kharrat, Canini, Horvath, AISTATS 2025, Alg. 1).

Everyone has a model of its own and chooses whose models to average it with: before the rounds
under a budget among all (BGGC), in each round among those (GGC). `greedy_graph` is the choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from securefair.errors import ConfigError
from securefair.model import TrainStates, derive_seed
from securefair.records import RoundRecord
from securefair.worth import LearningState
from securefair_lab.algorithms.averaging import mixed, weights_of
from securefair_lab.algorithms.schedule import StepDecay, at_round
from securefair_lab.algorithms.settings import check_settings
from securefair_lab.algorithms.stacked_population import StackedPopulation
from securefair_lab.papers.algorithms.greedy_graph import Search, Walk, bggc, ggc

BEFORE_ROUNDS = -1  # the clock of what happens before round 0

Links = NDArray[np.bool_]  # (N, N), [k, j]: k takes models from j; the diagonal is false


@dataclass(frozen=True, eq=False)
class DpflState(LearningState[TrainStates]):
    """Everything that a next round depends on."""

    omega: Links  # Omega_k of Alg. 1: whom k may take models from
    chosen: Links  # C_k: whose models k last chose to average with
    sent: tuple[int, ...]  # numbers sent since the last record


@dataclass(frozen=True, kw_only=True)
class Dpfl:
    """DPFL; by default as in its experiments on CIFAR-10.

    Records show Omega_k (those online) as `asked` and the models averaged as `answered`.

    Args:
        budget: B_c, most peers of one participant; None: no bound.
        pretraining_epochs: tau_init, everyone alone before the first choice.
        local_epochs: tau_train, in a round.
        period: P, rounds between choices; in between, the last choice stays.
        graph: "greedy" is DPFL; "rebuilt" chooses among everyone in every round (repeated BGGC,
            the upper bound of Table 6); "random" takes as many peers as the budget allows, drawn
            once, and averages with all of them (Figure 4).
        reach: share of the others whom each participant can ever reach, drawn once (partial
            participation: 0.5).
        online: share of its Omega_k whom a participant gets models from in a round, drawn anew
            (partial participation: 0.8).
        alone: names of participants who train alone: others may take their models, but they take
            none (the first attack of section 4.3).
        count_self: count k among its own B_c, as the published code does.
        scored: whether records score the models that a round ends with ("averaged", line 11 of
            Alg. 1), or those trained before, from the last average ("trained", line 8): these the
            published code validates, keeps and tests.
        schedule: of the learning rate.

    Raises:
        ConfigError: a setting out of range.
    """

    budget: int | None = None
    pretraining_epochs: int = 10
    local_epochs: int = 5
    period: int = 1
    graph: Literal["greedy", "rebuilt", "random"] = "greedy"
    reach: float = 1.0
    online: float = 1.0
    alone: tuple[str, ...] = ()
    count_self: bool = False
    scored: Literal["averaged", "trained"] = "averaged"
    schedule: StepDecay | None = None
    name: str = "dpfl"

    def __post_init__(self) -> None:
        check_settings(
            self,
            budget=(self.budget is None or self.budget >= 1, "1 or more, or None"),
            pretraining_epochs=(self.pretraining_epochs >= 0, "0 or more"),
            local_epochs=(self.local_epochs >= 1, "1 or more"),
            period=(self.period >= 1, "1 or more rounds"),
            graph=(self.graph in ("greedy", "rebuilt", "random"), "greedy, rebuilt or random"),
            reach=(0 < self.reach <= 1, "in (0, 1]"),
            online=(0 < self.online <= 1, "in (0, 1]"),
            scored=(self.scored in ("averaged", "trained"), "averaged or trained"),
        )

    def init(self, population: StackedPopulation, seed: int) -> DpflState:
        """Lines 1 to 5: train alone, choose Omega_k, and average.

        Raises:
            ConfigError: nobody has a name of `alone`.
            DataError: a participant has no validation samples.
        """
        strangers = sorted(set(self.alone) - set(population.names))
        if strangers:
            raise ConfigError(
                "no such participant",
                where="alone",
                found=", ".join(strangers),
                expected=", ".join(population.names),
            )
        started = population.start(seed, common=True)
        trained = population.train(
            started,
            epochs=self.pretraining_epochs,
            seed=seed,
            clock=BEFORE_ROUNDS,
            optimizer=at_round(self.schedule, population.optimizer, 0),
        )
        received = population.sent(trained.vectors, BEFORE_ROUNDS, seed, unchanged=started.vectors)
        traffic = _Traffic(population)
        omega = self._reachable(population, seed)
        if self.graph == "random":
            omega = _subset(omega, population.names, seed, "random graph", self.budget)
            traffic.add(omega)
        else:
            omega = self._chosen(
                population, seed, BEFORE_ROUNDS, omega, trained.vectors, received, traffic
            )
        averaged = trained.moved(averages(population, omega, received, trained.vectors))
        return DpflState(seed, 0, averaged, omega, omega, traffic.sent)

    def round(
        self, state: DpflState, population: StackedPopulation
    ) -> tuple[DpflState, RoundRecord]:
        """Lines 7 to 12, all participants at once: everyone averages models of before."""
        t, before = state.round, state.train_states.momentum_reset()
        trained = population.train(
            before,
            epochs=self.local_epochs,
            seed=state.seed,
            clock=t,
            optimizer=at_round(self.schedule, population.optimizer, t),
        )
        received = population.sent(trained.vectors, t, state.seed, unchanged=before.vectors)
        traffic = _Traffic(population, state.sent)
        rebuilt = self.graph == "rebuilt"
        omega = self._reachable(population, state.seed) if rebuilt else state.omega
        omega_now = self._online(omega, population.names, state.seed, t)
        chosen = state.chosen
        if self.graph == "random":
            used = omega_now
            traffic.add(used)
        elif t % self.period == 0:
            used = chosen = self._chosen(
                population, state.seed, t, omega_now, trained.vectors, received, traffic
            )
        else:
            used = chosen & omega_now
            traffic.add(used)
        after = trained.moved(averages(population, used, received, trained.vectors))
        record = population.record(
            self.name,
            t,
            (trained if self.scored == "trained" else after).vectors,
            links=torch.from_numpy(used),
            asked=torch.from_numpy(omega_now),
            numbers_sent=traffic.sent,
        )
        none = (0,) * len(population.names)
        return replace(state, round=t + 1, train_states=after, chosen=chosen, sent=none), record

    def _chosen(
        self,
        population: StackedPopulation,
        seed: int,
        round: int,
        candidates: Links,
        own: Tensor,
        received: Tensor,
        traffic: _Traffic,
    ) -> Links:
        """What everyone chooses: by BGGC among everyone, or by GGC among its Omega_k."""
        batched = round == BEFORE_ROUNDS or self.graph == "rebuilt"
        if not batched:
            traffic.add(candidates)
        walks: dict[int, Walk] = {}
        for k, name in enumerate(population.names):
            search = self._search(population, seed, round, name, candidates[k])
            if batched:
                walks[k] = bggc(search, own[k], traffic.counted(received))
            else:
                walks[k] = ggc(search, own[k], received)
        chosen = np.zeros_like(candidates)
        for k, peers in walked(walks, population).items():
            chosen[k, list(peers)] = True
        return chosen

    def _search(
        self,
        population: StackedPopulation,
        seed: int,
        round: int,
        name: str,
        candidates: NDArray[np.bool_],
    ) -> Search:
        rng = np.random.default_rng(derive_seed(seed, f"collaborators {round}", name))
        order = rng.permutation(np.flatnonzero(candidates)).tolist()
        return Search(
            own=population.names.index(name),
            order=order,
            coins=rng.random(len(order)).tolist(),
            sizes=population.sizes.to(population.stacked.device),
            budget=self.budget,
            count_self=self.count_self,
            resolution=16 * torch.finfo(population.stacked.dtype).eps,
        )

    def _reachable(self, population: StackedPopulation, seed: int) -> Links:
        """Whom everyone could ever take models from."""
        count = len(population.names)
        others = ~np.eye(count, dtype=np.bool_)
        others[[name in self.alone for name in population.names]] = False
        most = max(1, round(self.reach * (count - 1)))
        return _subset(others, population.names, seed, "reach", most)

    def _online(self, omega: Links, names: Sequence[str], seed: int, round_: int) -> Links:
        """Of each Omega_k, those who check in this round."""
        if self.online == 1:
            return omega
        result = omega.copy()
        for k in range(len(names)):
            most = round(self.online * int(omega[k].sum()))
            purpose = f"online {round_}"
            result[k] = _subset(omega[k : k + 1], names[k : k + 1], seed, purpose, most)[0]
        return result


def walked(walks: Mapping[int, Walk], population: StackedPopulation) -> dict[int, frozenset[int]]:
    """What each walk of a participant chooses; their models are evaluated together."""
    chosen: dict[int, frozenset[int]] = {}
    asking = {k: next(walk) for k, walk in walks.items()}
    while asking:
        own = [k for k in asking for _ in range(2)]
        losses = population.scores_each(torch.cat(list(asking.values())), own).cross_entropy
        rewards = (-losses).view(-1, 2).tolist()
        going = {}
        for k, (first, second) in zip(asking, rewards, strict=True):
            try:
                going[k] = walks[k].send((first, second))
            except StopIteration as over:
                chosen[k] = over.value
        asking = going
    return chosen


def averages(population: StackedPopulation, links: Links, received: Tensor, own: Tensor) -> Tensor:
    """w_k = sum of p_i w_i over i in C_k and k, divided by the sum of these p_i (Eq. 4)."""
    return mixed(torch.from_numpy(weights_of(links, population.sizes)), received, own)


class _Traffic:
    """Numbers that participants sent, counted while they are."""

    def __init__(self, population: StackedPopulation, before: Sequence[int] | None = None) -> None:
        self._length = population.stacked.length
        self._sent = np.array(before or [0] * len(population.names), dtype=np.int64)

    @property
    def sent(self) -> tuple[int, ...]:
        """By each participant."""
        return tuple(self._sent.tolist())

    def add(self, links: Links) -> None:
        """One model over each link."""
        self._sent += self._length * links.sum(axis=0)

    def counted(self, received: Tensor) -> Callable[[Sequence[int]], Tensor]:
        """A way to ask for models that counts each of them."""

        def receive(senders: Sequence[int]) -> Tensor:
            self._sent[list(senders)] += self._length
            return received[list(senders)]

        return receive


def _subset(links: Links, names: Sequence[str], seed: int, purpose: str, most: int | None) -> Links:
    """Of each row, at most so many, drawn at random."""
    if most is None:
        return links
    result = np.zeros_like(links)
    for k, name in enumerate(names):
        rng = np.random.default_rng(derive_seed(seed, purpose, name))
        result[k, rng.permutation(np.flatnonzero(links[k]))[:most]] = True
    return result
