"""Many participants in one process: machines, their jobs, and a network that carries bytes.

The engine owns the clock (the network's virtual time), runs jobs as soon as a machine asks for
them, and hands every message over as bytes. It decides nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from securefair.errors import LocalProtocolError, RemoteProtocolError, SecureFairError
from securefair.protocol.codec import Limits, decode, encode
from securefair.protocol.effects import (
    Begin,
    Blame,
    Done,
    Effect,
    Expired,
    Failed,
    Input,
    Received,
    RoundOver,
    RoundSummary,
    Run,
    Send,
    SetDeadline,
)
from securefair.protocol.jobs import Job, PrepareKeysAndFeatures, Result
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import DOWN, UP
from securefair.simulation.network import Network
from securefair.worth.sharing import coin


class Hosted(Protocol):
    """What the engine needs of a participant, whatever it computes."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def machine(self) -> ParticipantMachine:
        """What decides for it."""
        ...

    def begin(self, round: int) -> None:
        """Keep what all answers of the round come from."""
        ...

    def run(self, job: Job) -> Result:
        """Carry out one job of its machine."""
        ...


class Agreed(Protocol):
    """What the engine needs of an agreement."""

    @property
    def limits(self) -> Limits:
        """Most bytes of every field of every message."""
        ...


H_co = TypeVar("H_co", bound=Hosted, covariant=True)


@dataclass(frozen=True)
class ExchangeBytes:
    """What one exchange put on the wire in one round."""

    up: int = 0
    down: int = 0


@dataclass(eq=False)
class RoundLog:
    """What happened in one round, over all participants."""

    summaries: dict[str, RoundSummary] = field(default_factory=dict)
    sizes: dict[tuple[str, str], ExchangeBytes] = field(default_factory=dict)
    blames: list[tuple[str, Blame]] = field(default_factory=list)
    failures: list[tuple[str, Failed]] = field(default_factory=list)

    def check_own_work(self, round: int) -> None:
        """Stop where a participant failed by its own fault; peers' faults are only recorded.

        Raises:
            SecureFairError: its own keys could not be prepared, or its own step failed.
        """
        for name, failed in self.failures:
            if isinstance(failed.job, PrepareKeysAndFeatures):
                raise SecureFairError(failed.error, where=f"{name}, round {round}")
        for name, summary in self.summaries.items():
            if summary.step_error:
                raise SecureFairError(summary.step_error, where=f"{name}, round {round}")


class Engine(Generic[H_co]):
    """Hosts the machines of all participants.

    Args:
        participants: in the order of the collaboration.
        collaboration: what they agreed on; most bytes of every message.
        network: carries their messages; bytes only.
        seed: of the sharing coins, the same that the reference algorithms use.
    """

    def __init__(
        self,
        participants: Sequence[H_co],
        collaboration: Agreed,
        network: Network,
        *,
        seed: int,
    ) -> None:
        self._participants = {p.name: p for p in participants}
        self._limits = collaboration.limits
        self._network = network
        self._seed = seed
        self._deadlines: dict[str, tuple[float, int]] = {}
        self._log = RoundLog()

    @property
    def participants(self) -> Mapping[str, H_co]:
        """By name."""
        return self._participants

    def round(self, number: int) -> RoundLog:
        """Run one round to its end for everybody.

        Raises:
            LocalProtocolError: nothing is under way and no deadline is left, yet the round has
                not ended: a bug.
        """
        self._log = RoundLog()
        for participant in self._participants.values():
            participant.begin(number)
        for name, participant in self._participants.items():
            coins = {
                peer: coin(self._seed, number, name, peer)
                for peer in participant.machine.reputations
            }
            self._feed(name, Begin(number, coins, teacher_version=number))
        while len(self._log.summaries) < len(self._participants):
            self._advance()
        while (delivery := self._network.deliver_next()) is not None:  # late answers and repeats
            self._deliver(delivery.sender, delivery.receiver, delivery.data)
        return self._log

    def _advance(self) -> None:
        """The next delivery, or the earliest deadline if it comes first or nothing is under way."""
        due = min(
            (
                (time, name)
                for name, (time, _) in self._deadlines.items()
                if name not in self._log.summaries
            ),
            default=None,
        )
        arrival = self._network.next_time
        if arrival is not None and (due is None or arrival <= due[0]):
            delivery = self._network.deliver_next()
            if delivery is not None:
                self._deliver(delivery.sender, delivery.receiver, delivery.data)
            return
        if due is None:
            raise LocalProtocolError("the round is stuck: nothing under way and no deadline left")
        self._network.advance(due[0])
        _, number = self._deadlines.pop(due[1])
        self._feed(due[1], Expired(number))

    def _deliver(self, sender: str, receiver: str, data: bytes) -> None:
        try:
            message = decode(data, sender=sender, limits=self._limits)
        except SecureFairError as error:
            self._log.blames.append((receiver, Blame(sender, str(error))))
            return
        self._feed(receiver, Received(sender, message))

    def _feed(self, name: str, event: Input) -> None:
        """Feed one input and carry out all effects, jobs included, in order."""
        machine = self._participants[name].machine
        effects: deque[Effect] = deque(machine.handle(event))
        while effects:
            effect = effects.popleft()
            if isinstance(effect, Run):
                effects.extend(machine.handle(self._run(name, effect)))
            else:
                self._carry_out(name, effect)

    def _run(self, name: str, effect: Run) -> Done | Failed:
        try:
            return Done(effect.job, self._participants[name].run(effect.job))
        except SecureFairError as error:
            culprit = error.culprit if isinstance(error, RemoteProtocolError) else None
            failed = Failed(effect.job, str(error), culprit)
            self._log.failures.append((name, failed))
            return failed

    def _carry_out(self, name: str, effect: Effect) -> None:
        match effect:
            case Send(peer=peer, message=message):
                data = encode(message, self._limits)
                self._count(name, peer, message, len(data))
                self._network.send(name, peer, data)
            case SetDeadline(round=number, seconds=seconds):
                self._deadlines[name] = (self._network.now + seconds, number)
            case Blame():
                self._log.blames.append((name, effect))
            case RoundOver(summary=summary):
                self._log.summaries[name] = summary

    def _count(self, sender: str, receiver: str, message: object, size: int) -> None:
        """Bytes by (student, teacher): queries go up, answers come down."""
        if isinstance(message, UP):
            before = self._log.sizes.get((sender, receiver), ExchangeBytes())
            after = ExchangeBytes(before.up + size, before.down)
            self._log.sizes[sender, receiver] = after
        elif isinstance(message, DOWN):
            before = self._log.sizes.get((receiver, sender), ExchangeBytes())
            after = ExchangeBytes(before.up, before.down + size)
            self._log.sizes[receiver, sender] = after
