"""FedMD (Li, Wang 2019, "FedMD: Heterogenous Federated Learning via Model Distillation").

Participants agree on public samples. In a round each sends its class scores there (communicate), a
server sends the mean back (aggregate, distribute), each trains towards it (digest), and then on its
own samples again (revisit). Models stay at home.

The paper begins with training on the public samples' labels. Here these have none, so that nobody
has more labels than by other methods: everyone begins as before CYCle, alone. Its loss between
scores is not named; here it is the one of all our distillation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from securefair.model import TrainStates
from securefair.records import RoundRecord
from securefair.worth import LearningState
from securefair_lab.algorithms.averaging import through_server
from securefair_lab.algorithms.network_population import NetworkPopulation
from securefair_lab.algorithms.schedule import at_round
from securefair_lab.algorithms.settings import check_settings
from securefair_lab.papers.algorithms.public_samples import distilled, public_logits


@dataclass(frozen=True, kw_only=True)
class FedMd:
    """FedMD with all participants in every round.

    Args:
        digest_epochs: on the public samples, in a round.
        temperature: of the distillation.

    Raises:
        ConfigError: a setting out of range.
    """

    digest_epochs: int = 1
    temperature: float = 1.0
    name: str = "fedmd"

    def __post_init__(self) -> None:
        check_settings(
            self,
            digest_epochs=(self.digest_epochs >= 1, "1 or more"),
            temperature=(self.temperature > 0, "above 0"),
        )

    def init(self, population: NetworkPopulation, seed: int) -> LearningState[TrainStates]:
        """Everyone trains alone."""
        return LearningState(seed, 0, population.trained_alone(seed))

    def round(
        self, state: LearningState[TrainStates], population: NetworkPopulation
    ) -> tuple[LearningState[TrainStates], RoundRecord]:
        """Communicate, aggregate, distribute, digest, revisit."""
        t, vectors = state.round, state.train_states.vectors
        scores = public_logits(population, vectors, t, state.seed)
        digested = distilled(
            population,
            state.train_states,
            scores.mean(dim=0),
            epochs=self.digest_epochs,
            seed=state.seed,
            clock=f"round {t}",
            temperature=self.temperature,
            optimizer=at_round(population.schedule, population.optimizer, t),
        )
        revisited = population.trained_locally(
            replace(state, train_states=digested), population.names
        )
        count = len(population.names)
        record = population.record(
            self.name,
            t,
            revisited.vectors,
            links=through_server(count),
            numbers_sent=[scores[0].numel()] * count,
        )
        return LearningState(state.seed, t + 1, revisited), record
