"""One-shot distillation of an ensemble (Guha, Talwalkar, Smith 2019, One-Shot Federated Learning).

Participants train alone to the end and send their models once. A server makes an ensemble of them
and distils it into one model on unlabelled public samples. Everyone gets that model.

The ensemble's answer is the mean of its members' logits. The server's network begins as a fresh one
does, and so tells what the public samples have brought alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from securefair.model import TrainStates
from securefair.records import RoundRecord
from securefair.worth import LearningState
from securefair_lab.algorithms.averaging import through_server
from securefair_lab.algorithms.network_population import NetworkPopulation
from securefair_lab.algorithms.settings import check_settings
from securefair_lab.papers.algorithms.public_samples import distilled, public_logits


@dataclass(frozen=True, kw_only=True)
class OneShot:
    """Training alone, and one distillation after it; later rounds change nothing.

    Args:
        after: rounds of training alone before models are sent, 0 or more.
        epochs: of the server on the public samples.
        temperature: of the distillation.

    Raises:
        ConfigError: a setting out of range.
    """

    after: int
    epochs: int
    temperature: float = 1.0
    name: str = "one-shot"

    def __post_init__(self) -> None:
        check_settings(
            self,
            after=(self.after >= 0, "0 or more"),
            epochs=(self.epochs >= 1, "1 or more"),
            temperature=(self.temperature > 0, "above 0"),
        )

    def init(self, population: NetworkPopulation, seed: int) -> LearningState[TrainStates]:
        """Everyone trains alone."""
        return LearningState(seed, 0, population.trained_alone(seed))

    def round(
        self, state: LearningState[TrainStates], population: NetworkPopulation
    ) -> tuple[LearningState[TrainStates], RoundRecord]:
        """One more local round, or the distillation."""
        t, count = state.round, len(population.names)
        train_states, links, sent = state.train_states, None, None
        if t < self.after:
            train_states = population.trained_locally(state, population.names)
        elif t == self.after:
            answers = public_logits(population, train_states.vectors, t, state.seed)
            server = distilled(
                population,
                population.start(state.seed, common=True).of([0]),
                answers.mean(dim=0),
                epochs=self.epochs,
                seed=state.seed,
                clock="server",
                temperature=self.temperature,
                optimizer=population.optimizer,
            )
            train_states = train_states.moved(server.vectors.repeat(count, 1)).momentum_reset()
            links, sent = through_server(count), [population.stacked.length] * count
        record = population.record(
            self.name, t, train_states.vectors, links=links, numbers_sent=sent
        )
        return LearningState(state.seed, t + 1, train_states), record
