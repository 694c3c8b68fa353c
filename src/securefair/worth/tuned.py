"""What hospitals reach without anyone: the controls that a transfer is measured against.

Most come of a hospital's own regularised fits, tuned by cross-validation on its own patients; some
are what a hospital with a statistician has. They do not change from round to round. The ceiling,
one fit on everybody's patients, is no control.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import ParticipantData, Samples, together
from securefair.model.outcomes import outcome_of
from securefair.model.outcomes.pictures import Shown
from securefair.model.seeds import derive_seed
from securefair.model.stored import Function, logits_of, own_part_of
from securefair.model.transfer import Degree, OwnFit, own_fit
from securefair.model.transfer.baselines import most_common
from securefair.model.usual import Estimated, averaged, usual_model
from securefair.records import RoundRecord
from securefair.worth.learners import lonely_record

Models = Mapping[str, Function]


@dataclass(frozen=True, kw_only=True)
class TunedPopulation:
    """Hospitals and the degree of their fits, which several controls share."""

    participants: tuple[ParticipantData, ...]
    degree: Degree = 1
    _fits: dict[int, Mapping[str, OwnFit]] = field(default_factory=dict, init=False, repr=False)
    _usual: dict[tuple[str, int], Mapping[str, Estimated]] = field(
        default_factory=dict, init=False, repr=False
    )

    def fits(self, seed: int) -> Mapping[str, OwnFit]:
        """Everybody's, by name; those of a seed are computed once."""
        if seed not in self._fits:
            self._fits[seed] = own_fits(self.participants, self.degree, seed)
        return self._fits[seed]

    def usual(self, name: str, seed: int) -> Mapping[str, Estimated]:
        """Everybody's usual model of that name; those of a seed are fitted once."""
        if (name, seed) not in self._usual:
            self._usual[name, seed] = {
                one.name: usual_model(name, one.train, derive_seed(seed, name, one.name) % 2**32)
                for one in self.participants
            }
        return self._usual[name, seed]

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
            headline=outcome_of(own[0].train).headline,
        )


def own_fits(
    participants: Sequence[ParticipantData], degree: Degree, seed: int
) -> dict[str, OwnFit]:
    """Everybody's fits on its own training patients."""
    return {
        one.name: own_fit(
            one.train, degree, rng=np.random.default_rng(derive_seed(seed, "folds", one.name))
        )
        for one in participants
    }


def headline(model: Function, own: ParticipantData) -> float:
    """The outcome's headline score on a hospital's test samples, such as accuracy; 0 if undefined.

    Its own part of predictions is made of its training samples.
    """
    said = said_of(model, own)
    outcome = outcome_of(own.test)
    return outcome.point_scores(said, own.test)[outcome.headline] or 0.0


def said_of(model: Function, own: ParticipantData) -> NDArray[np.float64]:
    """What a model says of a hospital's test samples, (B, K), with its own part of predictions."""
    return shown_of(model, own).said


def shown_of(model: Function, own: ParticipantData) -> Shown:
    """The same with that part and these samples."""
    outcome = outcome_of(own.test)
    part = own_part_of(model, own.train)
    return Shown(outcome.said(logits_of(model, own.test.features), part), part, own.test)


def mean_loss(model: Function, samples: Samples) -> float:
    """The outcome's loss on samples, nats each."""
    losses = outcome_of(samples).losses(logits_of(model, samples.features), samples)
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


def _forest(population: TunedPopulation, seed: int) -> Models:
    return population.usual("forest", seed)


def _ensemble(population: TunedPopulation, seed: int) -> Models:
    usual = [population.usual(name, seed) for name in ENSEMBLE]
    return {
        own.name: averaged(
            [
                population.fits(seed)[own.name].averaged.predict_proba,
                *(models[own.name].probabilities for models in usual),
            ],
            own.train,
        )
        for own in population.participants
    }


def _pooled(population: TunedPopulation, seed: int) -> Models:
    everyone = together([own.train.common for own in population.participants])
    rng = np.random.default_rng(derive_seed(seed, "folds", ""))
    model = own_fit(everyone, population.degree, rng=rng).averaged
    return {own.name: model.widened(own.train.further) for own in population.participants}


TUNED_ALONE = Tuned("standalone", _alone)
"""The fit with the penalty that predicts held-out patients best."""

AVERAGED_ALONE = Tuned("averaged_alone", _averaged)
"""The same averaging as in a transfer, without peers."""

ENSEMBLE = ("forest", "gaussian process")
"""Usual models in the ensemble, beside the averaged fits."""

FOREST_ALONE = Tuned("alone-forest", _forest)
"""A random forest of own patients."""

ENSEMBLE_ALONE = Tuned("alone-ensemble", _ensemble)
"""The mean probability of averaged fits, a forest and a Gaussian process: what a competent hospital
has without anyone."""

MOST_COMMON = Tuned("most_common", _common)
"""The same answer for every patient."""

POOLED = Tuned("pooled", _pooled)
"""The ceiling: the averaged fits on everybody's patients together."""
