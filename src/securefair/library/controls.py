"""What everyone reaches without the others: the controls of a gain, from given models."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from securefair.algorithms.early_stopping import EarlyStopping
from securefair.algorithms.population import Population
from securefair.algorithms.standalone import Standalone
from securefair.errors import ModelError
from securefair.model.heads import Head
from securefair.model.training import TrainState, train_epochs
from securefair.records import RoundRecord
from securefair.run.resumable import ReferenceRun


@dataclass(frozen=True, kw_only=True)
class GivenHeads(Population):
    """A population whose heads are given, not drawn from a seed.

    Attributes:
        heads: by participant, before any training; they stay as they are.
    """

    heads: Mapping[str, Head]

    def trained_alone(self, seed: int) -> dict[str, TrainState]:
        """Everyone's learner before round 0.

        Raises:
            ModelError: a training diverged; names the hospital.
        """
        del seed  # full batches: nothing is drawn
        train_states = {}
        for own in self.participants:
            train_state = TrainState.start(copy.deepcopy(self.heads[own.name]), self.optimizer)
            with _about(own.name):
                train_epochs(train_state, own.train, self.local_epochs)
            train_states[own.name] = train_state
        return train_states


def controls(population: Population, rounds: int, seed: int) -> dict[str, list[RoundRecord]]:
    """Records of training alone as long as the others collaborate, and of stopping early."""
    alone = ReferenceRun(Standalone(), population, seed)
    stopped = ReferenceRun(EarlyStopping(rounds=rounds), population, seed)
    return {
        "standalone": list(alone.rounds(rounds)),
        "early_stopping": list(stopped.rounds(rounds)),
    }


@contextmanager
def _about(name: str) -> Iterator[None]:
    """Name the hospital whose training diverged."""
    try:
        yield
    except ModelError as error:
        raise ModelError(
            error.problem,
            where=", ".join(filter(None, [name, error.where])),
            found=error.found,
            expected=error.expected,
            hint=error.hint,
        ) from error
