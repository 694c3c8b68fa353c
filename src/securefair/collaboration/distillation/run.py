"""A whole encrypted run: pre-training, rounds, and the records that it leaves behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec import convert, to_builtins

from securefair.circuit.planner import ExchangePlan, plan_exchange
from securefair.collaboration.distillation.agreement import DistillationAgreement
from securefair.collaboration.distillation.audit import ReleaseAudit
from securefair.collaboration.distillation.host import DistillingHost
from securefair.collaboration.distillation.participant import ModelConfig, Participant
from securefair.collaboration.facts import EncryptionFacts, RunFacts
from securefair.collaboration.privacy import privacy_results, spent_by
from securefair.collaboration.private import PrivateTeacher
from securefair.collaboration.simulated import SimulatedRun, SimulatedState, network_between
from securefair.config import DisclosureSection
from securefair.data.dataset import ParticipantData, Samples
from securefair.exchange import steps
from securefair.model.heads import Head
from securefair.model.quantize import QuantizationReport, rounding_report
from securefair.model.stored import Function, function_of
from securefair.model.training import TrainState, evaluate
from securefair.privacy import PrivateAlignments
from securefair.protocol.saved_state import SavedState
from securefair.records import (
    ExchangeRecord,
    Matrix,
    PrivacyResult,
    RoundRecord,
)
from securefair.simulation.engine import Engine, RoundLog
from securefair.simulation.network import Link


@dataclass(frozen=True, eq=False, kw_only=True)
class DistillationState(SimulatedState):
    """See `SimulatedState`."""

    train_states: Mapping[str, TrainState]
    machines: Mapping[str, dict[str, object]]  # `SavedState` of each, as plain values
    audit: tuple[float, float, float] | None


@dataclass(eq=False, kw_only=True)
class EncryptedRun(SimulatedRun[Participant]):
    """One algorithm on one seed, between participants that exchange bytes only.

    Iterate `rounds` to run it; the other attributes grow with every round.

    Attributes:
        collaboration: what was agreed.
        audit: of all that is opened; None where nobody asks.
    """

    collaboration: DistillationAgreement
    audit: ReleaseAudit | None

    def rounds(self, count: int) -> Iterator[RoundRecord]:
        """Run up to so many rounds; one record each, as soon as it is over.

        Raises:
            SecureFairError: a participant's own step failed (its training diverged, say), or it
                could not prepare what it uploads.
        """
        for number in range(self.finished, count):
            log = self._carried_out(number)
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
            **self._so_far(),
            train_states={name: own.train_state for name, own in participants.items()},
            machines={
                name: to_builtins(own.machine.saved_state) for name, own in participants.items()
            },
            audit=None if audit is None else audit.extremes,
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
        self._go_on(saved_state, exchanges)
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
        alignments = {
            name: own.alignments.spent
            for name, own in self.engine.participants.items()
            if own.alignments is not None
        }
        return privacy_results(
            self.teachers(), decides=not self.collaboration.always_share, alignments=alignments
        )

    def heads(self) -> dict[str, Head]:
        """Everyone's model as it trains."""
        return {name: own.train_state.model for name, own in self.engine.participants.items()}

    def models(self) -> dict[str, Function]:
        """Everyone's model as it is now."""
        return {name: function_of(head) for name, head in self.heads().items()}

    def facts(self) -> RunFacts:
        """What it leaves behind after its last round."""
        plan = plan_exchange(self.collaboration.spec)
        return RunFacts(
            encryption=EncryptionFacts.of_exchange(plan, self.audit, backend=self.backend),
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
                answered = participants[teacher].rounds[number].teacher_seconds
                opened = participants[student].rounds[number].student_seconds
                yield self._exchange(
                    log,
                    number,
                    student,
                    teacher,
                    answered=teacher in summary.opened,
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
    collaboration: DistillationAgreement,
    models: Sequence[ModelConfig],
    *,
    seed: int,
    backend: str,
    disclosure: DisclosureSection | None = None,
    link: Link | None = None,
    links: Mapping[tuple[str, str], Link] | None = None,
    audit: bool = True,
    given: Mapping[str, Head] | None = None,
    trained: bool = True,
    teachers: Mapping[str, PrivateTeacher] | None = None,
    alignments: Mapping[str, PrivateAlignments] | None = None,
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
        alignments: how hospitals form private alignments, by name; who is missing forms its own.
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
            alignments=None if alignments is None else alignments.get(own.name),
            required=required,
            given=None if given is None else given[own.name],
        )
        for own, model in zip(data, models, strict=True)
    ]
    if trained:
        for participant in participants:
            participant.train_alone()
    network = network_between(participants, seed=seed, link=link, links=links)
    return EncryptedRun(
        algorithm=algorithm,
        collaboration=collaboration,
        engine=Engine(participants, collaboration, network, seed=seed),
        network=network,
        audit=ReleaseAudit(collaboration) if audit else None,
        backend=backend,
    )
