"""One algorithm on one seed, from where it stands to its end, written down after each round.

Everything that is run in rounds comes through here: `securefair run`, `sf.collaborate` and the
experiments of the papers. A collaboration goes on from the stores of its sites; a control, and a
reference algorithm of a paper, begins anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from securefair.collaboration.facts import RunFacts
from securefair.collaboration.host import FittedToAll
from securefair.collaboration.observer import Seen
from securefair.model.stored import Function, is_stored, to_bytes
from securefair.model.transfer import LinearEstimates
from securefair.prediction.effects import ColumnEstimate
from securefair.records import ExchangeRecord, RoundRecord
from securefair.run.entry import Entry, RunState
from securefair.worth import Algorithm

if TYPE_CHECKING:
    from securefair.model.heads import Head


class RunInRounds(Protocol):
    """Anything that is run in rounds and leaves records."""

    @property
    def exchanges(self) -> Sequence[ExchangeRecord]:
        """Of all rounds so far, those of earlier processes included."""
        ...

    def rounds(self, count: int) -> Iterator[RoundRecord]:
        """Run until so many rounds are finished, counted from the first."""
        ...

    @property
    def seen(self) -> Seen | None:
        """What no store of a site remembers; None where there are no stores to go on from."""
        ...

    def facts(self) -> RunFacts | None:
        """What an encrypted run leaves behind; None in the clear."""
        ...

    def models(self) -> Mapping[str, Function]:
        """Everyone's model as it is now, by name, to be kept."""
        ...

    def heads(self) -> Mapping[str, Head]:
        """The same as they train, where others go on with them; none otherwise."""
        ...

    def estimates(self) -> Mapping[str, LinearEstimates]:
        """Everyone's coefficients, by name, where models have some."""
        ...

    def fitted_to_all(self) -> Mapping[str, FittedToAll]:
        """Models fitted anew to all own samples, by name, where that can be done."""
        ...


def run_rounds(
    run: RunInRounds,
    entry: Entry,
    total: int,
    heard: Callable[[RoundRecord], None],
    *,
    keeps_models: bool = True,
    estimated: Callable[[], dict[str, list[ColumnEstimate]]] = dict,
    refitted: Callable[[], Mapping[str, FittedToAll]] = dict,
) -> None:
    """Run what is left of so many rounds.

    Args:
        run: as the entry has it, or before its first round.
        entry: what is known of it already; says all of it afterwards.
        total: rounds, those of earlier processes included.
        heard: is told of every round that is run here, when it is written down.
        keeps_models: whether a finished entry holds everyone's model; where only records count
            these are large and of no use.
        estimated: what a finished entry holds of coefficients.
        refitted: models that it holds, fitted anew to all own samples.
    """
    earlier, started = entry.state, time.perf_counter()

    def state(*, finished: bool) -> RunState:
        return RunState(
            rounds=len(entry.rounds),
            exchanges=len(entry.exchanges),
            seconds=time.perf_counter() - started + (earlier.seconds if earlier else 0.0),
            seen=run.seen,
            finished=finished,
            facts=run.facts() if finished else None,
            interrupted=earlier.interrupted + 1 if earlier else 0,
            models=_stored(run.models()) if finished and keeps_models else {},
            estimates=estimated() if finished else {},
            refitted=_refits(refitted()) if finished else {},
        )

    for record in run.rounds(total):
        entry.append([record], run.exchanges[len(entry.exchanges) :])
        if entry.path is not None and run.seen is not None:
            entry.save(state(finished=False))
        heard(record)
    entry.save(state(finished=True))


def _refits(models: Mapping[str, FittedToAll]) -> dict[str, tuple[bytes, float]]:
    return {name: (to_bytes(one.function), one.temperature) for name, one in models.items()}


def _stored(models: Mapping[str, Function]) -> dict[str, bytes]:
    """Everyone's model as bytes; none where some only predict: whoever wants them begins again."""
    if not all(map(is_stored, models.values())):
        return {}
    return {name: to_bytes(model) for name, model in models.items()}


class Learning(Protocol):
    """A state that holds everyone's model, in whatever form its population keeps them."""

    @property
    def train_states(self) -> Any:
        """Of everyone."""
        ...


class Keeping(Protocol):
    """A population that knows what to keep of its models."""

    def models(self, train_states: Any) -> Mapping[str, Function]:
        """Everyone's model."""
        ...


State = TypeVar("State", bound=Learning)
Members = TypeVar("Members", bound=Keeping)


class ReferenceRun(Generic[State, Members]):
    """A control or a reference algorithm: no exchanges, no encryption, and no stores.

    Args:
        algorithm, population, seed: what is run.
    """

    exchanges: Sequence[ExchangeRecord] = ()
    seen = None

    def __init__(self, algorithm: Algorithm[State, Members], population: Members, seed: int):
        self._algorithm, self._population = algorithm, population
        self._state = algorithm.init(population, seed)

    def rounds(self, count: int) -> Iterator[RoundRecord]:
        """The first so many rounds; to be called once."""
        for _ in range(count):
            self._state, record = self._algorithm.round(self._state, self._population)
            yield record

    def facts(self) -> None:
        """Nothing is encrypted."""
        return

    def models(self) -> Mapping[str, Function]:
        """See `RunInRounds`."""
        return self._population.models(self._state.train_states)

    def heads(self) -> Mapping[str, Head]:
        """Nobody goes on with them."""
        return {}

    def estimates(self) -> Mapping[str, LinearEstimates]:
        """See `RunInRounds`: nobody asks for those of controls."""
        return {}

    def fitted_to_all(self) -> Mapping[str, FittedToAll]:
        """See `RunInRounds`: nobody keeps a control."""
        return {}
