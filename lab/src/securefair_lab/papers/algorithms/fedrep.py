"""FedRep (Collins, Hassani, Mokhtari, Shakkottai, ICML 2021): a common body, personal heads.

Algorithm 1. In a round everyone gets the common body phi, trains its own head h_i on it, then the
body under that head, and sends the body alone:

    h_i    <-  head steps on  f_i(h_i, phi)         phi fixed
    phi_i  <-  body steps on  f_i(h_i, phi_i)       h_i fixed
    phi    <-  sum_i (n_i / n) phi_i

The paper's participants have equally many samples; with unequal ones bodies are weighted by samples
here, as in FedAvg. The head is the last fully connected layer.

Assumes networks of one architecture with at least one layer before the last, and that one
representation suits everyone. Disclosure: a participant shows the server a body trained on its data
in every round; the head, which tells most of its labels, never leaves it.
"""

from __future__ import annotations

from dataclasses import dataclass

from securefair.records import RoundRecord
from securefair.worth import LearningState
from securefair_lab.algorithms.averaging import average, shares_of, through_server
from securefair_lab.algorithms.schedule import StepDecay, at_round
from securefair_lab.algorithms.settings import check_settings
from securefair_lab.algorithms.stacked_population import StackedPopulation
from securefair_lab.papers.algorithms.fedavg import FederatedState
from securefair_lab.papers.last_layer import head_mask


@dataclass(frozen=True, kw_only=True)
class FedRep:
    """FedRep with full participation. Records score body and own head together.

    Head and body steps of a round begin without momentum.

    Args:
        head_epochs: of each participant's head in a round (the paper's experiments: 10).
        body_epochs: of the body after it (the paper's experiments: mostly 1).
        schedule: of the learning rate.

    Raises:
        ConfigError: a setting out of range.
    """

    head_epochs: int = 10
    body_epochs: int = 1
    schedule: StepDecay | None = None
    name: str = "fedrep"

    def __post_init__(self) -> None:
        check_settings(
            self,
            head_epochs=(self.head_epochs >= 1, "1 or more"),
            body_epochs=(self.body_epochs >= 1, "1 or more"),
        )

    def init(self, population: StackedPopulation, seed: int) -> FederatedState:
        """One initialisation for all, of bodies and heads.

        Raises:
            ModelError: the network has no head, or nothing but a head.
        """
        head_mask(population.stacked)
        return LearningState(seed, 0, population.start(seed, common=True))

    def round(
        self, state: FederatedState, population: StackedPopulation
    ) -> tuple[FederatedState, RoundRecord]:
        """Everyone trains its head, then its body; the server averages the bodies it gets."""
        t, seed, stacked = state.round, state.seed, population.stacked
        head = head_mask(stacked)
        optimizer = at_round(self.schedule, population.optimizer, t)
        trained = state.train_states
        # Two calls a round that draw samples, so two clocks.
        for clock, epochs, frozen in (
            (2 * t, self.head_epochs, ~head),
            (2 * t + 1, self.body_epochs, head),
        ):
            trained = population.train(
                trained.momentum_reset(),
                epochs=epochs,
                seed=seed,
                clock=clock,
                optimizer=optimizer,
                frozen=frozen[: stacked.trained],
            )
        # Heads are not sent: free riders send bodies too, so nobody sees a head's numbers.
        bodies = population.sent(
            trained.vectors[:, ~head],
            t,
            seed,
            unchanged=state.train_states.vectors[:, ~head],
            part=~head,
        )
        vectors = trained.vectors.clone()
        vectors[:, ~head] = average(bodies, shares_of(population.sizes))
        count = len(population.names)
        record = population.record(
            self.name,
            t,
            vectors,
            links=through_server(count),
            numbers_sent=[int((~head).sum())] * count,
        )
        return LearningState(seed, t + 1, trained.moved(vectors)), record
