"""One algorithm on one seed as rounds that can be left and taken up again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from securefair.collaboration.facts import RunFacts
from securefair.collaboration.state import NotStorableError, decode_state, encode_state
from securefair.model.heads import Head
from securefair.model.stored import Function
from securefair.records import ExchangeRecord, RoundRecord
from securefair.worth.algorithm import Algorithm


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


class ResumableRun(Protocol):
    """What the checkpoint needs of anything that runs in rounds.

    Law: a run that restores the saved state of another goes on with the records that the other
    would have gone on with.
    """

    @property
    def exchanges(self) -> Sequence[ExchangeRecord]:
        """Of all rounds so far, those before `restore` included."""
        ...

    def rounds(self, count: int) -> Iterator[RoundRecord]:
        """Run until so many rounds are finished, counted from the first."""
        ...

    def saved_state(self) -> bytes | None:
        """All that the next round depends on; None where that cannot be stored."""
        ...

    def restore(
        self, saved_state: bytes, finished: int, exchanges: Sequence[ExchangeRecord]
    ) -> None:
        """Go on from a saved state, taken after so many rounds with these exchanges.

        Raises:
            DataError: it is no saved state of this run.
        """
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


class ReferenceRun(Generic[State, Members]):
    """A reference algorithm: no exchanges, no encryption.

    Args:
        algorithm, population, seed: what is run.
        untrained: the same population where `init` trains nothing, if it is to go on from a
            saved state: such a state has its structure, and training takes time.
    """

    def __init__(
        self,
        algorithm: Algorithm[State, Members],
        population: Members,
        seed: int,
        *,
        untrained: Members | None = None,
    ) -> None:
        self.exchanges: Sequence[ExchangeRecord] = ()
        self._algorithm, self._population = algorithm, population
        self._state = algorithm.init(population if untrained is None else untrained, seed)
        self._finished = 0

    def rounds(self, count: int) -> Iterator[RoundRecord]:
        """See `ResumableRun`."""
        while self._finished < count:
            self._state, record = self._algorithm.round(self._state, self._population)
            self._finished += 1
            yield record

    def saved_state(self) -> bytes | None:
        """See `ResumableRun`."""
        try:
            return encode_state(self._state)
        except NotStorableError:
            return None

    def restore(
        self, saved_state: bytes, finished: int, exchanges: Sequence[ExchangeRecord]
    ) -> None:
        """See `ResumableRun`."""
        self._state = decode_state(saved_state, self._state)
        self._finished, self.exchanges = finished, exchanges

    def facts(self) -> RunFacts | None:
        """Nothing."""
        return None

    def models(self) -> Mapping[str, Function]:
        """See `ResumableRun`."""
        return self._population.models(self._state.train_states)

    def heads(self) -> Mapping[str, Head]:
        """Nobody goes on with them."""
        return {}
