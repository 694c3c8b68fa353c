"""A whole run of participants that average models: rounds, and the records they leave behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from msgspec import convert, to_builtins
from numpy.typing import NDArray

from securefair.collaboration.facts import EncryptionFacts, RunFacts
from securefair.collaboration.gossip.agreement import GossipAgreement
from securefair.collaboration.gossip.host import GossipHost, evaluated
from securefair.collaboration.gossip.participant import vector_of
from securefair.collaboration.simulated import SimulatedRun, SimulatedState, network_between
from securefair.config import DisclosureSection
from securefair.data.dataset import ParticipantData
from securefair.model.heads import Head
from securefair.model.stacked_training import TrainStates
from securefair.model.stored import Function
from securefair.model.training import OptimizerConfig
from securefair.protocol.effects import RoundSummary
from securefair.protocol.saved_state import SavedState
from securefair.records import (
    AveragingResult,
    ExchangeRecord,
    Matrix,
    RoundRecord,
)
from securefair.simulation.engine import Engine, RoundLog
from securefair.simulation.network import Link

CLEAR = "clear"


@dataclass(frozen=True, eq=False, kw_only=True)
class GossipState(SimulatedState):
    """See `SimulatedState`."""

    train_states: Mapping[str, TrainStates]
    unnormalised: Mapping[str, NDArray[np.float64]]  # rows of W but for a factor (`Row`)
    similarities: Mapping[str, NDArray[np.float64]]
    machines: Mapping[str, dict[str, object]]  # `SavedState` of each, as plain values
    kept_own: int
    lost: int
    max_sum_error: float


@dataclass(eq=False, kw_only=True)
class GossipRun(SimulatedRun[GossipHost]):
    """One seed, between participants that exchange bytes only.

    Iterate `rounds` to run it; the other attributes grow with every round.

    Attributes:
        agreement: what was agreed.
        kept_own: how often a participant kept its own model, having fewer than two senders.
        lost: how often a sender that shared sent no share in time.
        max_sum_error: largest |coordinate of an average - the same in float64 from all models|,
            which only a simulation can know.
    """

    agreement: GossipAgreement
    kept_own: int = 0
    lost: int = 0
    max_sum_error: float = 0.0

    def rounds(self, count: int) -> Iterator[RoundRecord]:
        """Run up to so many rounds; one record each, as soon as it is over.

        Raises:
            SecureFairError: a participant's own step failed: its training diverged, or left the
                range that sums are planned for.
        """
        for number in range(self.finished, count):
            log = self._carried_out(number)
            self.kept_own += sum(not s.combined for s in log.summaries.values())
            self.lost += sum(len(s.lost) for s in log.summaries.values())
            self.exchanges += self._exchanges(number, log)
            for name, summary in log.summaries.items():
                if summary.combined:
                    self.max_sum_error = max(self.max_sum_error, self._error(number, name))
            self.finished = number + 1
            yield self._record(number, log)

    def saved_state(self) -> GossipState:
        """What a later process needs to go on after the last finished round; no key is in it."""
        participants = self.engine.participants
        return GossipState(
            **self._so_far(),
            train_states={name: own.train_states for name, own in participants.items()},
            unnormalised={name: own.row.unnormalised for name, own in participants.items()},
            similarities={name: own.row.similarities for name, own in participants.items()},
            machines={
                name: to_builtins(own.machine.saved_state) for name, own in participants.items()
            },
            kept_own=self.kept_own,
            lost=self.lost,
            max_sum_error=self.max_sum_error,
        )

    def restore(self, saved_state: GossipState, exchanges: Sequence[ExchangeRecord]) -> None:
        """Go on where an earlier process stood, with new keys, before the first round of this one.

        Args:
            saved_state: of the earlier process.
            exchanges: that it had recorded.
        """
        for name, own in self.engine.participants.items():
            own.restore(
                saved_state.train_states[name],
                replace(
                    own.row,
                    unnormalised=saved_state.unnormalised[name],
                    similarities=saved_state.similarities[name],
                ),
                convert(saved_state.machines[name], SavedState),
            )
        self._go_on(saved_state, exchanges)
        self.kept_own, self.lost = saved_state.kept_own, saved_state.lost
        self.max_sum_error = saved_state.max_sum_error

    def heads(self) -> dict[str, Head]:
        """None: networks train side by side, as one vector each."""
        return {}

    def models(self) -> dict[str, Function]:
        """Everyone's model as it is now."""
        return {name: own.model() for name, own in self.engine.participants.items()}

    def facts(self) -> RunFacts:
        """What it leaves behind after its last round; the backend is that of the alignments."""
        agreement = self.agreement
        inner, sums = agreement.alignment.inner, agreement.sums
        return RunFacts(
            encryption=EncryptionFacts(
                backend=self.backend if sums.hides_parameters else CLEAR,
                ring_degree=inner.params.ring_degree,
                log_qp=inner.params.log_qp,
                security_bits=inner.security_bits,
                release="alignment",
                flooding_bits=inner.spec.flooding_bits,
                max_abs_error=self.max_sum_error,
                error_over_range=self.max_sum_error / agreement.gossip.bound,
                averaging=AveragingResult(
                    averaging=agreement.gossip.averaging,
                    hides_weights=sums.hides_weights,
                    hides_parameters=sums.hides_parameters,
                    parameters=agreement.stacked.length,
                    average_error_bound=agreement.average_error_bound,
                    cosine_error_bound=agreement.alignment.error_bound,
                    min_senders=agreement.gossip.min_senders,
                    kept_own=self.kept_own,
                    lost=self.lost,
                    max_share=agreement.gossip.max_share,
                    max_sums=agreement.max_sums,
                ),
            ),
            quantization=[],
            ledger=self.ledger,
            traffic=self.traffic,
            problems=self.problems,
            repeated=self.repeated_bytes,
        )

    def _exchanges(self, number: int, log: RoundLog) -> Iterator[ExchangeRecord]:
        participants = self.engine.participants
        for receiver, summary in log.summaries.items():
            for sender in dict.fromkeys((*summary.asked, *summary.offered)):
                notes, peers = (participants[one].rounds[number] for one in (receiver, sender))
                yield self._exchange(
                    log,
                    number,
                    receiver,
                    sender,
                    answered=sender in summary.opened or sender in summary.combined,
                    teacher_seconds=peers.answered_seconds.get(receiver, 0.0),
                    student_seconds=notes.asked_seconds.get(sender, 0.0),
                )

    def _error(self, number: int, name: str) -> float:
        """Of the average that a participant got in a round."""
        people = self.engine.participants
        mixed = people[name].rounds[number].mixed
        if mixed is None:
            raise LookupError("a sum that was combined was asked for")
        difference = people[name].vector
        for weight, peer in zip(mixed.tolist(), people.values(), strict=True):
            adapted = peer.rounds[number].adapted
            if weight and adapted is not None:
                difference = difference - weight * vector_of(adapted)
        return float(np.abs(difference).max())

    def _record(self, number: int, log: RoundLog) -> RoundRecord:
        participants = list(self.engine.participants.values())
        names, stacked = [p.name for p in participants], self.agreement.stacked
        trained = [evaluated(stacked, p.train_states.vectors, p.data.train) for p in participants]
        tested = [evaluated(stacked, p.train_states.vectors, p.data.test) for p in participants]
        summaries = [log.summaries[name] for name in names]
        beside = self.agreement.graph
        weights: Matrix = [
            [float(w) if beside[i, j] and i != j else None for j, w in enumerate(p.row.weights)]
            for i, p in enumerate(participants)
        ]
        alignment: Matrix = [
            [p.rounds[number].alignment.get(name) for name in names] for p in participants
        ]
        return RoundRecord(
            algorithm=self.algorithm,
            round=number,
            forced=summaries[0].forced,
            accuracy=[e.accuracy for e in tested],
            cross_entropy=[e.cross_entropy for e in trained],
            reputation=weights,
            alignment=alignment,
            distillation_loss=[[None] * len(names) for _ in names],
            asked=[[name in s.offered for name in names] for s in summaries],
            answered=[[name in s.combined for name in names] for s in summaries],
            numbers_sent=self._sent(names, summaries),
        )

    def _sent(self, names: Sequence[str], summaries: Sequence[RoundSummary]) -> list[int]:
        """By each participant: a model for every sum it is in, a number for every alignment."""
        length = self.agreement.stacked.length
        return [
            sum(length * (name in s.combined) + (name in s.opened) for s in summaries)
            for name in names
        ]


def start_gossip(
    algorithm: str,
    data: Sequence[ParticipantData],
    agreement: GossipAgreement,
    optimizer: OptimizerConfig,
    *,
    pretraining_epochs: int = 0,
    seed: int,
    backend: str,
    disclosure: DisclosureSection | None = None,
    link: Link | None = None,
    links: Mapping[tuple[str, str], Link] | None = None,
) -> GossipRun:
    """Participants with keys and one initial network, ready for round 0.

    Args:
        algorithm: the name that records carry.
        data: one entry a participant, in the agreement's order.
        agreement: what was agreed.
        optimizer: of everyone's local steps.
        pretraining_epochs: everyone alone, before round 0.
        seed: of batches, coins and the network's faults.
        backend: encryption engine of alignments.
        disclosure: the same limits for everyone.
        link: of the network between all pairs; instantaneous by default.
        links: particular directions, by (sender, receiver).
    """
    participants = [
        GossipHost(
            own,
            agreement,
            optimizer,
            pretraining_epochs=pretraining_epochs,
            seed=seed,
            backend=backend,
            disclosure=disclosure,
        )
        for own in data
    ]
    for participant in participants:
        participant.train_alone()
    network = network_between(participants, seed=seed, link=link, links=links)
    engine = Engine(participants, agreement, network, seed=seed)
    return GossipRun(
        algorithm=algorithm, agreement=agreement, engine=engine, network=network, backend=backend
    )
