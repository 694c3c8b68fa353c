"""What hospitals reach without anyone: the controls that a transfer is measured against.

Most come of a hospital's own regularised fits, tuned by cross-validation on its own patients. They
do not change from round to round. The ceiling, one fit on everybody's patients, is no control.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from securefair.data.dataset import ParticipantData, Samples, together
from securefair.model.outcomes import outcome_of
from securefair.model.seeds import derived_seed
from securefair.model.transfer import Degree, OwnFit, Polynomial, own_fit
from securefair.model.transfer.baselines import most_common
from securefair.records import RoundRecord
from securefair.worth.learners import lonely_record

Models = Mapping[str, Polynomial]


@dataclass(frozen=True, kw_only=True)
class TunedPopulation:
    """Hospitals and the degree of their fits, which several controls share."""

    participants: tuple[ParticipantData, ...]
    degree: Degree = 1
    _fits: dict[int, Mapping[str, OwnFit]] = field(default_factory=dict, init=False, repr=False)

    def fits(self, seed: int) -> Mapping[str, OwnFit]:
        """Everybody's, by name; those of a seed are computed once."""
        if seed not in self._fits:
            self._fits[seed] = own_fits(self.participants, self.degree, seed)
        return self._fits[seed]

    def models(self, train_states: Models) -> Models:
        """Everybody's model, to be kept."""
        return train_states

    def record(self, algorithm: str, round: int, models: Models) -> RoundRecord:
        """What these models reach; nobody is asked."""
        own = self.participants
        return lonely_record(
            algorithm,
            round,
            accuracy=[headline(models[one.name], one) for one in own],
            cross_entropy=[mean_loss(models[one.name], one.train) for one in own],
        )


def own_fits(
    participants: Sequence[ParticipantData], degree: Degree, seed: int
) -> dict[str, OwnFit]:
    """Everybody's fits on its own training patients."""
    return {
        one.name: own_fit(
            one.train, degree, rng=np.random.default_rng(derived_seed(seed, "folds", one.name))
        )
        for one in participants
    }


def headline(model: Polynomial, own: ParticipantData) -> float:
    """The outcome's headline score on a hospital's test samples, such as accuracy; 0 if undefined.

    Its own part of predictions is made of its training samples.
    """
    outcome = outcome_of(own.test)
    part = outcome.own_part(model.logits(own.train.features), own.train)
    said = outcome.said(model.logits(own.test.features), part)
    return outcome.point_scores(said, own.test)[outcome.headline] or 0.0


def mean_loss(model: Polynomial, samples: Samples) -> float:
    """The outcome's loss on samples, nats each."""
    losses = outcome_of(samples).losses(model.logits(samples.features), samples)
    return float(losses.sum() / len(samples))


@dataclass(frozen=True, eq=False)
class TunedState:
    """Everybody's model, which no round changes."""

    seed: int
    round: int
    train_states: Models


@dataclass(frozen=True)
class Tuned:
    """Models that follow from everybody's patients and a seed, and that no round changes.

    Args:
        name: that records carry.
        models: of everybody, by name.
    """

    name: str
    models: Callable[[TunedPopulation, int], Models]

    def init(self, population: TunedPopulation, seed: int) -> TunedState:
        """Everybody has fitted."""
        return TunedState(seed, 0, self.models(population, seed))

    def round(
        self, state: TunedState, population: TunedPopulation
    ) -> tuple[TunedState, RoundRecord]:
        """The same models again."""
        record = population.record(self.name, state.round, state.train_states)
        return replace(state, round=state.round + 1), record


def _alone(population: TunedPopulation, seed: int) -> Models:
    return {name: fit.model for name, fit in population.fits(seed).items()}


def _averaged(population: TunedPopulation, seed: int) -> Models:
    return {name: fit.averaged for name, fit in population.fits(seed).items()}


def _common(population: TunedPopulation, seed: int) -> Models:
    del seed
    return {own.name: most_common(own.train) for own in population.participants}


def _pooled(population: TunedPopulation, seed: int) -> Models:
    everyone = together([own.train for own in population.participants])
    rng = np.random.default_rng(derived_seed(seed, "folds", ""))
    model = own_fit(everyone, population.degree, rng=rng).averaged
    return {own.name: model for own in population.participants}


TUNED_ALONE = Tuned("standalone", _alone)
"""The fit with the penalty that predicts held-out patients best."""

AVERAGED_ALONE = Tuned("averaged_alone", _averaged)
"""The same averaging as in a transfer, without peers."""

MOST_COMMON = Tuned("most_common", _common)
"""The same answer for every patient."""

POOLED = Tuned("pooled", _pooled)
"""The ceiling: the averaged fits on everybody's patients together."""
