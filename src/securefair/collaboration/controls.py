"""What participants reach without the others: the controls that every gain is measured against.

Whatever a run is about, its controls are tuned on everybody's own training samples:

- `standalone`: regularised fits with a penalty chosen by cross-validation; where a network is
  trained, the network with a number of epochs chosen by cross-validation.
- `early_stopping`: the run's own model, stopped where a fifth of the samples, set aside, says so,
  from the first epoch on.
- `averaged_alone`: the regularised fits averaged as a transfer averages them, without peers.
- `alone-forest`, `alone-ensemble`: a random forest; the equal average of the averaged fits, a
  forest and a Gaussian process. Of classes, where they are cheap (`MOST_NUMBERS`).
- `most_common`: one answer for all, such as the class frequencies or the mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from securefair.data import ParticipantData
from securefair.model.outcomes import outcome_of
from securefair.model.stored import Function
from securefair.model.transfer.folds import FOLDS
from securefair.model.transfer.polynomial import Degree
from securefair.model.usual import LIBRARIES
from securefair.records import STANDALONE
from securefair.worth import Algorithm, EarlyStopping, SelfTaught
from securefair.worth.tuned import (
    AVERAGED_ALONE,
    ENSEMBLE_ALONE,
    FOREST_ALONE,
    MOST_COMMON,
    POOLED,
    TUNED_ALONE,
    TunedPopulation,
)

MOST_NUMBERS = 200_000
"""Features of all training samples of the largest participant up to which a forest is cheap."""


@dataclass(frozen=True, eq=False)
class Control:
    """What everyone reaches without the others.

    Attributes:
        algorithm: computes it; `members` is what it takes.
        rounds: that it takes.
        loads: see `Kind.loads`.
        shares: whether `members` remember fits that other controls with the same members take.
        trainings: of the run's own model, each as long as in a collaboration.
    """

    algorithm: Algorithm[Any, Any]
    members: Any
    rounds: int
    loads: tuple[str, ...] = ()
    shares: bool = False
    trainings: int = 0

    def models(self, seed: int) -> Mapping[str, Function]:
        """Everyone's model at its end, by name."""
        state = self.algorithm.init(self.members, seed)
        for _ in range(self.rounds):
            state, _ = self.algorithm.round(state, self.members)
        found: Mapping[str, Function] = self.members.models(state.train_states)
        return found


def controls_of(
    data: Sequence[ParticipantData],
    trained: SelfTaught[Any],
    *,
    epochs: int,
    degree: Degree,
    fits: bool,
) -> Mapping[str, Control]:
    """All controls, by name.

    Args:
        data: of everyone.
        trained: everyone with the run's model as it starts, before any epoch, and one epoch a
            round.
        epochs: most that the run's model is trained.
        degree: of everybody's own regularised fit.
        fits: whether regularised fits can stand in for the run's model: not for networks.
    """
    early = Control(EarlyStopping(rounds=epochs), trained, 1)
    of_classes = outcome_of(data[0].train).tells_classes
    own = TunedPopulation(participants=tuple(data), degree=degree)
    common = Control(MOST_COMMON, own, 1, shares=True)
    if not fits:
        tuned = EarlyStopping(rounds=epochs, folds=FOLDS, name=STANDALONE)
        return {
            STANDALONE: Control(tuned, trained, 1, trainings=FOLDS + 1),
            "early_stopping": early,
            "most_common": common,
        }
    cheap = max(one.train.features.size for one in data) <= MOST_NUMBERS
    cheap = cheap and of_classes
    usual = (FOREST_ALONE, ENSEMBLE_ALONE) if cheap else ()
    return {
        STANDALONE: Control(TUNED_ALONE, own, 1, shares=True),
        **({"early_stopping": early} if of_classes else {}),  # a head is trained to classes
        "averaged_alone": Control(AVERAGED_ALONE, own, 1, shares=True),
        **{one.name: Control(one, own, 1, LIBRARIES, shares=True) for one in usual},
        "most_common": common,
    }


def ceiling_of(data: Sequence[ParticipantData], degree: Degree) -> Control:
    """What one fit on everybody's samples reaches: head-room, in experiments only."""
    return Control(POOLED, TunedPopulation(participants=tuple(data), degree=degree), 1)
