"""A whole encrypted run: pre-training, rounds, and the records that it leaves behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from msgspec import convert, to_builtins

from securefair.circuit.planner import ExchangePlan, plan_exchange
from securefair.collaboration.disclosure import DisclosureLimits
from securefair.collaboration.distillation.audit import ReleaseAudit
from securefair.collaboration.distillation.host import DistillingHost
from securefair.collaboration.distillation.participant import ModelConfig, Participant
from securefair.collaboration.distillation.setup import Collaboration
from securefair.collaboration.facts import EncryptionFacts, RunFacts
from securefair.collaboration.privacy import privacy_results, spent_by
from securefair.collaboration.private import PrivateTeacher
from securefair.data.dataset import ParticipantData, Samples
from securefair.exchange import steps
from securefair.model.heads import Head
from securefair.model.quantize import QuantizationReport, rounding_report
from securefair.model.stored import Function, function_of
from securefair.model.training import TrainState, evaluate
from securefair.privacy import PrivateOpinions
from securefair.protocol.codec import kind_of
from securefair.protocol.saved_state import SavedState
from securefair.records import (
    ExchangeRecord,
    LedgerRow,
    Matrix,
    PrivacyResult,
    RoundRecord,
    TrafficRow,
)
from securefair.simulation.engine import Engine, ExchangeBytes, RoundLog
from securefair.simulation.network import Link, Network
from securefair.simulation.traffic import joined, repeated_bytes


@dataclass(frozen=True, eq=False, kw_only=True)
class DistillationState:
    """What a run has come to after a finished round: numbers only, and no secret key."""

    finished: int
    train_states: Mapping[str, TrainState]
    machines: Mapping[str, dict[str, object]]  # `SavedState` of each, as plain values
    traffic: list[dict[str, object]]
    audit: tuple[float, float, float] | None
    problems: list[str]
    repeated_bytes: int


@dataclass(eq=False)
class EncryptedRun:
    """One algorithm on one seed, between participants that exchange bytes only.

    Iterate `rounds` to run it; the other attributes grow with every round.
    """

    algorithm: str
    collaboration: Collaboration
    engine: Engine[Participant]
    network: Network
    audit: ReleaseAudit | None
    backend: str
    exchanges: list[ExchangeRecord] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    finished: int = 0  # rounds
    earlier: list[TrafficRow] = field(default_factory=list)  # of the processes before this one
    repeated_before: int = 0  # bytes, by the processes before this one

    def rounds(self, count: int) -> Iterator[RoundRecord]:
        """Run up to so many rounds; one record each, as soon as it is over.

        Raises:
            SecureFairError: a participant's own step failed (its training diverged, say), or it
                could not prepare what it uploads.
        """
        for number in range(self.finished, count):
            log = self.engine.round(number)
            log.check_own_work(number)
            self.problems += [f"{name} blames {b.peer}: {b.reason}" for name, b in log.blames]
            self.problems += [f"{name}: {failed.error}" for name, failed in log.failures]
            if self.audit:
                self._check(number)
            self.exchanges += self._exchanges(number, log)
            self.finished = number + 1
            yield self._record(number, log)

    def saved_state(self) -> DistillationState:
        """What a later process needs to go on after the last finished round; no key is in it."""
        participants = self.engine.participants
        audit = self.audit
        return DistillationState(
            finished=self.finished,
            train_states={name: own.train_state for name, own in participants.items()},
            machines={
                name: to_builtins(own.machine.saved_state) for name, own in participants.items()
            },
            traffic=to_builtins(self.traffic),
            audit=None if audit is None else audit.extremes,
            problems=list(self.problems),
            repeated_bytes=self.repeated_bytes,
        )

    def restore(self, saved_state: DistillationState, exchanges: Sequence[ExchangeRecord]) -> None:
        """Go on where an earlier process stood, with new keys, before the first round of this one.

        Args:
            saved_state: of the earlier process.
            exchanges: that it had recorded.
        """
        for name, own in self.engine.participants.items():
            machine = convert(saved_state.machines[name], SavedState)
            own.restore(saved_state.train_states[name], machine)
        self.finished = saved_state.finished
        self.earlier = convert(saved_state.traffic, list[TrafficRow])
        self.problems = list(saved_state.problems)
        self.repeated_before = saved_state.repeated_bytes
        self.exchanges = list(exchanges)
        if self.audit is not None and saved_state.audit is not None:
            self.audit.extremes = saved_state.audit

    def teachers(self) -> dict[str, PrivateTeacher]:
        """The private models that answer, by hospital; none where nothing is private."""
        return {
            name: own.teacher
            for name, own in self.engine.participants.items()
            if own.teacher is not None
        }

    def privacy(self) -> dict[str, PrivacyResult] | None:
        """What is promised to every hospital's patients, and what that has cost by now."""
        opinions = {
            name: own.opinions.spent
            for name, own in self.engine.participants.items()
            if own.opinions is not None
        }
        return privacy_results(
            self.teachers(), decides=not self.collaboration.always_share, opinions=opinions
        )

    def heads(self) -> dict[str, Head]:
        """Everyone's model as it trains."""
        return {name: own.train_state.model for name, own in self.engine.participants.items()}

    def models(self) -> dict[str, Function]:
        """Everyone's model as it is now."""
        return {name: function_of(head) for name, head in self.heads().items()}

    def facts(self) -> RunFacts:
        """What it leaves behind after its last round."""
        plan, audit = plan_exchange(self.collaboration.spec), self.audit
        return RunFacts(
            encryption=EncryptionFacts(
                backend=self.backend,
                ring_degree=plan.params.ring_degree,
                log_qp=plan.params.log_qp,
                security_bits=plan.security_bits,
                release=plan.spec.release,
                flooding_bits=plan.spec.flooding_bits,
                max_abs_error=None if audit is None else audit.max_abs_error,
                error_over_range=None if audit is None else audit.error_over_range,
                error_bound=plan.error_bound,
                bits_per_number=plan.bits_per_number,
            ),
            quantization=self.quantization(),
            ledger=self.ledger,
            traffic=self.traffic,
            problems=self.problems,
            repeated=self.repeated_bytes,
            privacy=self.privacy(),
        )

    def quantization(self) -> list[QuantizationReport]:
        """What rounding the weights, as they are now, does to each participant's test logits."""
        plan = plan_exchange(self.collaboration.spec)
        return [
            _rounded(plan, own.train_state.model, own.data.test)
            for own in self.engine.participants.values()
        ]

    @property
    def ledger(self) -> list[LedgerRow]:
        """What every teacher has disclosed so far."""
        return [
            row
            for name, participant in self.engine.participants.items()
            for row in participant.machine.ledger.rows(algorithm=self.algorithm, teacher=name)
        ]

    @property
    def traffic(self) -> list[TrafficRow]:
        """Bytes by sender, receiver and message type so far.

        What a later process sends once more because its keys are new is left out
        (`repeated_bytes`), so that the figures are those of a run without interruption.
        """
        return joined(self.earlier, self.network.traffic_rows(self.algorithm))

    @property
    def repeated_bytes(self) -> int:
        """Introductions that were sent although an earlier process had sent its own."""
        now = self.network.traffic_rows(self.algorithm)
        return self.repeated_before + repeated_bytes(self.earlier, now)

    def _check(self, number: int) -> None:
        participants = self.engine.participants
        teachers = {name: p.answering(number) for name, p in participants.items()}
        for participant in participants.values():
            if self.audit:
                self.audit.check(participant, number, teachers)

    def _exchanges(self, number: int, log: RoundLog) -> Iterator[ExchangeRecord]:
        participants = self.engine.participants
        for student, summary in log.summaries.items():
            for teacher in summary.asked:
                size = log.sizes.get((student, teacher), ExchangeBytes())
                answered = participants[teacher].rounds[number].teacher_seconds
                opened = participants[student].rounds[number].student_seconds
                yield ExchangeRecord(
                    algorithm=self.algorithm,
                    round=number,
                    student=student,
                    teacher=teacher,
                    answered=teacher in summary.opened,
                    bytes_up=size.up,
                    bytes_down=size.down,
                    teacher_seconds=answered.get(student, 0.0),
                    student_seconds=opened.get(teacher, 0.0),
                )

    def _record(self, number: int, log: RoundLog) -> RoundRecord:
        participants = list(self.engine.participants.values())
        names = [p.name for p in participants]
        trained = [evaluate(p.train_state.model, p.data.train) for p in participants]
        tested = [evaluate(p.train_state.model, p.data.test) for p in participants]

        def matrix(attribute: str) -> Matrix:
            rows = [getattr(p.rounds[number], attribute) for p in participants]
            return [[row.get(name) for name in names] for row in rows]

        summaries = [log.summaries[name] for name in names]
        return RoundRecord(
            algorithm=self.algorithm,
            round=number,
            forced=summaries[0].forced and not self.collaboration.always_share,
            accuracy=[e.accuracy for e in tested],
            cross_entropy=[e.cross_entropy for e in trained],
            reputation=[[s.reputations.get(name) for name in names] for s in summaries],
            alignment=matrix("alignment"),
            distillation_loss=matrix("distillation_loss"),
            asked=[[name in s.asked for name in names] for s in summaries],
            answered=[[name in s.opened for name in names] for s in summaries],
            privacy_spent=spent_by(self.privacy(), names),
        )


def _rounded(plan: ExchangePlan, model: Head, test: Samples) -> QuantizationReport:
    compiled = steps.compile_model(plan, model)
    before, after = model.logits(test.features), compiled.logits(test.features)
    return rounding_report(before, after, test.labels, compiled.largest)


def start_run(
    algorithm: str,
    data: Sequence[ParticipantData],
    collaboration: Collaboration,
    models: Sequence[ModelConfig],
    *,
    seed: int,
    backend: str,
    disclosure: DisclosureLimits | None = None,
    link: Link | None = None,
    links: Mapping[tuple[str, str], Link] | None = None,
    audit: bool = True,
    given: Mapping[str, Head] | None = None,
    trained: bool = True,
    teachers: Mapping[str, PrivateTeacher] | None = None,
    opinions: Mapping[str, PrivateOpinions] | None = None,
    required: tuple[float, float] | None = None,
    made_by: type[DistillingHost] = DistillingHost,
) -> EncryptedRun:
    """Participants with keys and locally trained models, ready for round 0.

    Args:
        algorithm: the name that records carry.
        data: one entry a participant, in the collaboration's order.
        collaboration: what was agreed; `always_share` makes it VPDL.
        models: one entry a participant.
        seed: of initialisation, batches, sharing coins and the network's faults.
        backend: encryption engine.
        disclosure: the same limits for everyone.
        link: of the network between all pairs; instantaneous by default.
        links: particular directions, by (sender, receiver).
        audit: compare every released value with the clear backend.
        teachers: private models that answer, by name; None: everyone answers from its own model.
        opinions: how hospitals form private opinions, by name; who is missing forms its own.
        required: (epsilon, delta) that everyone requires of its peers; None: nothing.
        given: models to start from, by name, instead of new ones.
        made_by: what every participant is.
        trained: False leaves local training out, for a run that is to `restore` an earlier one.
    """
    participants = [
        made_by(
            own,
            collaboration,
            model,
            seed=seed,
            backend=backend,
            disclosure=disclosure,
            teacher=None if teachers is None else teachers[own.name],
            opinions=None if opinions is None else opinions.get(own.name),
            required=required,
            given=None if given is None else given[own.name],
        )
        for own, model in zip(data, models, strict=True)
    ]
    if trained:
        for participant in participants:
            participant.train_alone()
    network = Network(
        [p.name for p in participants],
        classify=kind_of,
        link=link,
        links=links,
        rng=np.random.default_rng(seed),
    )
    return EncryptedRun(
        algorithm=algorithm,
        collaboration=collaboration,
        engine=Engine(participants, collaboration, network, seed=seed),
        network=network,
        audit=ReleaseAudit(collaboration) if audit else None,
        backend=backend,
    )
