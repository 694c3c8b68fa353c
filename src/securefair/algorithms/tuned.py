"""What hospitals reach without anyone: the controls that a transfer is measured against.

All of them come of a hospital's own regularised fits, tuned by cross-validation on its own
patients. They do not change from round to round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from securefair.algorithms.transfer import own_fits
from securefair.data.dataset import ParticipantData, Samples
from securefair.model.transfer import Degree, OwnFit, Polynomial
from securefair.model.transfer.baselines import most_common
from securefair.model.transfer.penalised import losses
from securefair.records import RoundRecord

Models = Mapping[str, Polynomial]


@dataclass(frozen=True, kw_only=True)
class TunedPopulation:
    """Hospitals and the degree of their fits."""

    participants: tuple[ParticipantData, ...]
    degree: Degree = 1

    def models(self, train_states: Models) -> Models:
        """Everybody's model, to be kept."""
        return train_states

    def record(self, algorithm: str, round: int, models: Models) -> RoundRecord:
        """What these models reach; nobody is asked."""
        names = [own.name for own in self.participants]
        nothing: list[list[float | None]] = [[None] * len(names) for _ in names]
        nobody = [[False] * len(names) for _ in names]
        return RoundRecord(
            algorithm=algorithm,
            round=round,
            forced=False,
            accuracy=[accuracy(models[own.name], own.test) for own in self.participants],
            cross_entropy=[
                float(losses(models[own.name].logits(own.train.features), own.train.labels).mean())
                for own in self.participants
            ],
            reputation=nothing,
            alignment=nothing,
            distillation_loss=nothing,
            asked=nobody,
            answered=nobody,
        )


def accuracy(model: Polynomial, samples: Samples) -> float:
    """The share of samples whose most probable class, the first of equals, is theirs."""
    predicted = model.predict_proba(samples.features).argmax(axis=1)
    return float(np.mean(predicted == samples.labels))


@dataclass(frozen=True, eq=False)
class TunedState:
    """Everybody's model, which no round changes."""

    seed: int
    round: int
    train_states: Models


@dataclass(frozen=True)
class Tuned:
    """One control: what is taken of everybody's own fits.

    Args:
        name: that records carry.
        taken: of a hospital's fits.
    """

    name: str
    taken: Callable[[OwnFit], Polynomial]

    def init(self, population: TunedPopulation, seed: int) -> TunedState:
        """Everybody has fitted."""
        own = own_fits(population.participants, population.degree, seed)
        return TunedState(seed, 0, {name: self.taken(fit) for name, fit in own.items()})

    def round(
        self, state: TunedState, population: TunedPopulation
    ) -> tuple[TunedState, RoundRecord]:
        """The same models again."""
        record = population.record(self.name, state.round, state.train_states)
        return replace(state, round=state.round + 1), record


def _most_common(own: OwnFit) -> Polynomial:
    return most_common(own.samples)


TUNED_ALONE = Tuned("standalone", lambda own: own.model)
"""The fit with the penalty that predicts held-out patients best."""

AVERAGED_ALONE = Tuned("averaged_alone", lambda own: own.averaged)
"""The same averaging as in a transfer, without peers."""

MOST_COMMON = Tuned("most_common", _most_common)
"""The same answer for every patient."""
