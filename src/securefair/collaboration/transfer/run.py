"""A whole transfer: own fits, one gathering for everybody, and the records that it leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced

import numpy as np
from msgspec import convert, to_builtins
from msgspec.structs import replace
from numpy.typing import NDArray

from securefair.collaboration.facts import EncryptionFacts, RunFacts
from securefair.collaboration.privacy import privacy_results, spent_by
from securefair.collaboration.private import PrivateTeacher
from securefair.collaboration.simulated import SimulatedRun, SimulatedState, network_between
from securefair.collaboration.transfer.agreement import TransferAgreement
from securefair.collaboration.transfer.audit import TransferAudit
from securefair.collaboration.transfer.host import TransferHost, both, scored
from securefair.collaboration.transfer.participant import TransferNotes, TransferParticipant
from securefair.collaboration.transfer.telling import ROUNDS
from securefair.config import DisclosureSection
from securefair.data.dataset import ParticipantData
from securefair.errors import ConfigError
from securefair.exchange import steps
from securefair.model.heads import Head
from securefair.model.quantize import QuantizationReport, rounding_report
from securefair.model.transfer import ALL, PeerWeight, Polynomial
from securefair.model.transfer.answers import determines_logits, determines_model
from securefair.records import (
    ExchangeRecord,
    LedgerRow,
    PrivacyResult,
    RoundRecord,
    TrafficRow,
    TrustResult,
)
from securefair.simulation.engine import Engine, RoundLog
from securefair.simulation.network import Link

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class TransferState(SimulatedState):
    """See `SimulatedState`."""

    models: Mapping[str, Polynomial]
    trust: Mapping[str, PeerWeight]
    temperatures: Mapping[str, float]
    ledger: list[dict[str, object]]
    errors: tuple[float, float, float]
    lost: int


@dataclass(eq=False, kw_only=True)
class TransferRun(SimulatedRun[TransferParticipant]):
    """One seed, between hospitals that exchange bytes only. Iterate `rounds` to run it.

    Attributes:
        agreement: what was agreed.
        audit: of all that is opened.
        renewals: hospitals whose patients change later, as they are then; one a round, in order.
        lost: how often a teacher was asked and did not answer in time.
    """

    agreement: TransferAgreement
    audit: TransferAudit
    renewals: Sequence[ParticipantData] = ()
    lost: int = 0
    _restored: TransferState | None = None

    def rounds(self, count: int) -> Iterator[RoundRecord]:
        """Run the one exchange; later rounds only where patients changed since.

        Raises:
            SecureFairError: a hospital could not prepare its own keys, or make its own fits.
        """
        while self.finished < count:
            if self._restored is None and 0 < self.finished <= len(self.renewals):
                self.renew(self.renewals[self.finished - ROUNDS])
            if not (asking := self._asking()):
                return
            yield self._round(asking)

    def renew(self, data: ParticipantData) -> None:
        """One hospital has other patients: it asks anew in the next round.

        Raises:
            ConfigError: this run was restored when it was over, or a private model answers.
            DataError: the patients do not fit what was agreed.
        """
        if self._restored is not None:
            raise ConfigError(
                "a transfer that was restored is over",
                where=data.name,
                expected="a new collaboration",
            )
        self.engine.participants[data.name].renew(data)

    def _asking(self) -> list[TransferParticipant]:
        if self._restored is not None:
            return []
        return [own for own in self._participants if own.asks]

    def _round(self, asking: Sequence[TransferParticipant]) -> RoundRecord:
        for own in asking:
            own.notes = TransferNotes()
        log = self._carried_out(self.finished)
        self.lost += sum(len({*s.lost, *s.missed}) for s in log.summaries.values())
        for own in asking:
            own.asks = False  # whoever got no answer goes on without
            if not own.notes.senders:
                missing = self.agreement.missing_of(own.name)
                self.problems.append(_unanswered(own.name, missing, anew=self.finished > 0))
            elif own.transferred.trust.left_out:
                self.problems.append(_left_out(own.name, own.transferred.trust.left_out))
            self.audit.check(own, self.engine.participants)
        self.exchanges += self._exchanges(log, asking)
        self.finished += 1
        return self._record(self.finished - 1, asking)

    def heads(self) -> Mapping[str, Head]:
        """Nobody trains a head."""
        return {}

    def models(self) -> Mapping[str, Polynomial]:
        """What everybody deploys, by name."""
        if self._restored is not None:
            return self._restored.models
        return {own.name: own.transferred.model for own in self._participants}

    @property
    def trust(self) -> Mapping[str, PeerWeight]:
        """What everybody thinks of its peers, by name."""
        if self._restored is not None:
            return self._restored.trust
        return {own.name: own.transferred.trust for own in self._participants}

    @property
    def temperatures(self) -> Mapping[str, float]:
        """What everybody's logits are to be divided by, by name."""
        if self._restored is not None:
            return self._restored.temperatures
        return {own.name: own.transferred.temperature for own in self._participants}

    def saved_state(self) -> TransferState:
        """What a later process needs to go on."""
        return TransferState(
            **self._so_far(),
            models=self.models(),
            trust=self.trust,
            temperatures=self.temperatures,
            ledger=to_builtins(self.ledger),
            errors=self.audit.extremes,
            lost=self.lost,
        )

    def restore(self, saved_state: TransferState, exchanges: Sequence[ExchangeRecord]) -> None:
        """Go on where an earlier process stood.

        Keys are not stored, nor what was opened: where somebody is still to ask anew, exchanges
        are made once more, and counted once.
        """
        if 0 < saved_state.finished <= len(self.renewals):
            list(self.rounds(saved_state.finished))
            self.repeated_before = saved_state.repeated_bytes + sum(
                row.bytes for row in convert(saved_state.traffic, list[TrafficRow])
            )
            return
        if saved_state.finished:
            self._restored = saved_state
        self._go_on(saved_state, exchanges)
        self.lost = saved_state.lost
        self.audit.extremes = saved_state.errors

    def quantization(self) -> list[QuantizationReport]:
        """What rounding each hospital's own fit, as it answers, does to its test logits."""
        plan = self.agreement.plan
        reports = []
        for own in self._participants:
            compiled = steps.compile_model(plan, own.answering)
            test = own.data.test
            before = own.answering.logits(test.features)
            after = compiled.logits(test.features)
            reports.append(
                rounding_report(both(before), both(after), test.labels, compiled.largest)
            )
        return reports

    @property
    def ledger(self) -> list[LedgerRow]:
        """What every teacher has disclosed."""
        if self._restored is not None:
            return convert(self._restored.ledger, list[LedgerRow])
        return [
            self._told(row)
            for own in self._participants
            for row in own.ledger.rows(algorithm=self.algorithm, teacher=own.name)
        ]

    def _told(self, row: LedgerRow) -> LedgerRow:
        """With what one answer of it says, of one teacher or of their mean."""
        agreed = self.agreement
        numbers = row.numbers_total // max(1, row.answers)
        q, samples = numbers // agreed.outputs, row.student_logits // agreed.outputs
        return replace(
            row,
            numbers_per_answer=numbers,
            determines=determines_model(q, agreed.features, agreed.degree, samples)
            or determines_logits(q, samples),
            in_mean=agreed.opens == "mean",
        )

    def facts(self) -> RunFacts:
        """See `Run`."""
        return RunFacts(
            encryption=EncryptionFacts.of_exchange(
                self.agreement.plan, self.audit, backend=self.backend
            ),
            quantization=self.quantization(),
            ledger=self.ledger,
            traffic=self.traffic,
            problems=self.problems,
            repeated=self.repeated_bytes,
            trust={name: trust_result(one) for name, one in self.trust.items()},
            temperatures=dict(self.temperatures),
            privacy=self.privacy(),
        )

    def privacy(self) -> dict[str, PrivacyResult] | None:
        """What is promised to every hospital's patients."""
        private = {own.name: own.teacher for own in self._participants if own.teacher is not None}
        return privacy_results(private, decides=False)

    @property
    def _participants(self) -> list[TransferParticipant]:
        return list(self.engine.participants.values())

    def _exchanges(
        self, log: RoundLog, asking: Sequence[TransferParticipant]
    ) -> Iterator[ExchangeRecord]:
        for own in asking:
            for teacher in self.agreement.teachers_of(own.name):
                seconds = self.engine.participants[teacher].notes.answered_seconds
                yield self._exchange(
                    log,
                    self.finished,
                    own.name,
                    teacher,
                    answered=teacher in own.notes.senders,
                    teacher_seconds=seconds.get(own.name, 0.0),
                    student_seconds=own.notes.asked_seconds
                    / len(self.agreement.teachers_of(own.name)),
                )

    def _record(self, round: int, asking: Sequence[TransferParticipant]) -> RoundRecord:
        everyone = self._participants
        names = [own.name for own in everyone]
        models = self.models()

        weights = [own.transferred.trust.weights for own in everyone]
        asked = [self.agreement.teachers_of(own.name) if own in asking else () for own in everyone]
        return RoundRecord(
            algorithm=self.algorithm,
            round=round,
            forced=False,
            accuracy=[scored(models[own.name], own.data.test)[0] for own in everyone],
            cross_entropy=[scored(models[own.name], own.data.train)[1] for own in everyone],
            reputation=[
                [min(1.0, max(0.0, row[name])) if name in row else None for name in names]
                for row in weights
            ],
            alignment=[[None] * len(names) for _ in names],
            distillation_loss=[[None] * len(names) for _ in names],
            asked=[[name in row for name in names] for row in asked],
            answered=[
                [own in asking and name in own.notes.senders for name in names] for own in everyone
            ],
            privacy_spent=spent_by(self.privacy(), names),
        )


def _unanswered(student: str, missing: int | None, *, anew: bool) -> str:
    rule = ""
    if missing is not None:
        rule = f" (a mean is over all its teachers{f' but {missing}' if missing else ''})"
    if not anew:
        return f"{student} opened no answer{rule} and goes on without peers"
    return (
        f"{student} opened no further answer{rule} and goes on with what its peers said of its "
        "earlier patients"
    )


def _left_out(student: str, teachers: Sequence[str]) -> str:
    if teachers == (ALL,):
        what = "the mean of its peers' answers, and goes on without peers: it"
    else:
        what = f"{', '.join(teachers)}, whose answer"
    return f"{student} leaves out {what} does not follow from the features"


def trust_result(trust: PeerWeight) -> TrustResult:
    """As it is written into files."""
    return TrustResult(
        in_peers=trust.in_peers,
        gain=trust.gain,
        gain_se=trust.gain_se,
        left_out=list(trust.left_out),
        weights=dict(trust.weights),
    )


def start_transfer(
    algorithm: str,
    data: Sequence[ParticipantData],
    agreement: TransferAgreement,
    *,
    seed: int,
    backend: str,
    disclosure: DisclosureSection | None = None,
    link: Link | None = None,
    links: Mapping[tuple[str, str], Link] | None = None,
    teachers: Mapping[str, PrivateTeacher] | None = None,
    required: tuple[float, float] | None = None,
    renewals: Sequence[str] = (),
) -> TransferRun:
    """Hospitals with their own fits and keys, ready for the exchange.

    Args:
        algorithm: the name that records carry.
        data: one entry a participant, in the agreement's order.
        agreement: what was agreed.
        seed: of the folds and the network's faults.
        backend: encryption engine.
        disclosure: the same limits for everyone.
        link: of the network between all pairs; instantaneous by default.
        links: particular directions, by (sender, receiver).
        teachers: private linear models that answer, by name; None: everyone's own fit answers.
        required: (epsilon, delta) that everyone requires of its peers; None: nothing.
        renewals: whose patients change after the exchange, one a round; a name stands here as often
            as its data have an earlier state.
    """
    states = {own.name: [*own.earlier, replaced(own, earlier=())] for own in data}
    begun = [states[own.name].pop(0) for own in data]
    participants = [
        TransferHost(
            own,
            agreement,
            seed=seed,
            backend=backend,
            disclosure=disclosure,
            teacher=None if teachers is None else teachers[own.name],
            required=required,
        )
        for own in begun
    ]
    network = network_between(participants, seed=seed, link=link, links=links)
    return TransferRun(
        algorithm=algorithm,
        agreement=agreement,
        engine=Engine(participants, agreement, network, seed=seed),
        network=network,
        audit=TransferAudit(agreement),
        backend=backend,
        renewals=[states[name].pop(0) for name in renewals],
    )
