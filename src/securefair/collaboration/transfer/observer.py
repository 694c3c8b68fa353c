"""What a simulation of a transfer sees: opened numbers against the clear, and records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from securefair.collaboration.facts import RunFacts
from securefair.collaboration.observer import AskedPeers, Ends, Observer, Seen
from securefair.collaboration.privacy import privacy_results, spent_by
from securefair.collaboration.transfer.agreement import TransferAgreement
from securefair.collaboration.transfer.answering import stand_ins
from securefair.collaboration.transfer.audit import TransferAudit
from securefair.collaboration.transfer.host import TransferHost, both
from securefair.collaboration.transfer.notes import TransferNotes
from securefair.collaboration.transfer.telling import ROUNDS
from securefair.data.dataset import ParticipantData
from securefair.exchange import steps
from securefair.model.quantize import QuantizationReport, rounding_report
from securefair.model.transfer import ALL, PeerWeight
from securefair.records import LedgerRow, PrivacyResult, RoundRecord, TrustResult

Own = TypeVar("Own", bound=TransferHost)


class TransferObserver(Observer[Own]):
    """Of one exchange, and of one more for everyone whose patients change.

    Args:
        algorithm: see `Observer`.
        agreement: what was agreed.
        renewals: hospitals whose patients change later, as they are then; one a round, in order.

    Attributes:
        audit: of all that is opened.
        lost: how often a teacher was asked and did not answer in time.
    """

    def __init__(
        self,
        algorithm: str,
        agreement: TransferAgreement,
        renewals: Sequence[ParticipantData] = (),
    ) -> None:
        super().__init__(algorithm)
        self.agreement, self.renewals = agreement, renewals
        self.audit, self.lost = TransferAudit(agreement), 0
        self._asking: list[str] = []

    def begins(self, round: int, hosts: Mapping[str, Own]) -> bool:
        """See `Observer`: later rounds only where patients changed since."""
        if 0 < round <= len(self.renewals):
            changed = self.renewals[round - ROUNDS]
            hosts[changed.name].renew(changed)
        self._asking = [name for name, own in hosts.items() if own.asks]
        for name in self._asking if round else ():
            hosts[name].notes = TransferNotes()
        return bool(self._asking)

    def ends(self, round: int, hosts: Mapping[str, Own], ends: Ends) -> RoundRecord:
        """See `Observer`."""
        self.lost += sum(len({*one.lost, *one.missed}) for one in ends.values())
        for own in (hosts[name] for name in self._asking):
            own.asks = False  # whoever got no answer goes on without
            if not own.notes.senders:
                missing = self.agreement.missing_of(own.name)
                self.problems.append(_unanswered(own.name, missing, anew=round > 0))
            elif own.transferred.trust.left_out:
                self.problems.append(_left_out(own.name, own.transferred.trust.left_out))
            self.audit.check(own, hosts)
        names, rows = list(hosts), [ends[name] for name in hosts]
        weights = [own.transferred.trust.weights for own in hosts.values()]
        asked = [self.agreement.teachers_of(name) if name in self._asking else () for name in names]
        return RoundRecord(
            algorithm=self.algorithm,
            round=round,
            forced=False,
            accuracy=[one.measured["accuracy"] for one in rows],
            cross_entropy=[one.measured["cross_entropy"] for one in rows],
            reputation=[
                [min(1.0, max(0.0, row[name])) if name in row else None for name in names]
                for row in weights
            ],
            alignment=[[None] * len(names) for _ in names],
            distillation_loss=[[None] * len(names) for _ in names],
            asked=[[name in row for name in names] for row in asked],
            answered=[
                [student in self._asking and name in own.notes.senders for name in names]
                for student, own in hosts.items()
            ],
            privacy_spent=spent_by(self.privacy(hosts), names),
            headline=self.agreement.outcome.headline,
        )

    def exchanges(self, round: int, hosts: Mapping[str, Own], ends: Ends) -> Iterator[AskedPeers]:
        """See `Observer`."""
        del round, ends
        for own in (hosts[name] for name in self._asking):
            teachers = self.agreement.teachers_of(own.name)
            for teacher in teachers:
                yield AskedPeers(
                    student=own.name,
                    teacher=teacher,
                    answered=teacher in own.notes.senders,
                    teacher_seconds=hosts[teacher].notes.answered_seconds.get(own.name, 0.0),
                    student_seconds=own.notes.asked_seconds / len(teachers),
                )

    def facts(self, hosts: Mapping[str, Own]) -> RunFacts:
        """See `Observer`."""
        return RunFacts(
            encryption=self.agreement.question.encryption(self.audit),
            sums=self.agreement.chosen_sum.name,
            quantization=self.quantization(hosts),
            ledger=self.ledger(hosts),
            traffic=[],
            problems=list(self.problems),
            stand_ins=stand_ins({name: own.answers for name, own in hosts.items()}),
            trust={name: trust_result(own.transferred.trust) for name, own in hosts.items()},
            temperatures={name: own.transferred.temperature for name, own in hosts.items()},
            privacy=self.privacy(hosts),
        )

    def privacy(self, hosts: Mapping[str, Own]) -> dict[str, PrivacyResult] | None:
        """What is promised to every hospital's patients."""
        private = {name: own.teacher for name, own in hosts.items() if own.teacher is not None}
        return privacy_results(private, decides=False)

    def quantization(self, hosts: Mapping[str, Own]) -> list[QuantizationReport]:
        """What rounding each hospital's own fit, as it answers, does to its test logits."""
        reports: list[QuantizationReport] = []
        for own in hosts.values() if self.agreement.question.encrypts else ():
            compiled = steps.compile_model(self.agreement.plan, own.answering)
            test = self.agreement.asked(own.data.test)
            before = own.answering.logits(test.features)
            after = compiled.logits(test.features)
            reports.append(
                rounding_report(both(before), both(after), test.labels, compiled.largest)
            )
        return reports

    def ledger(self, hosts: Mapping[str, Own]) -> list[LedgerRow]:
        """See `Observer`."""
        return [self._told(row, hosts[row.student].data) for row in super().ledger(hosts)]

    def go_on(self, seen: Seen, hosts: Mapping[str, Own]) -> None:
        """See `Observer`: who asked in an earlier process does not ask again."""
        super().go_on(seen, hosts)
        for own in hosts.values():
            own.asks = False

    def _numbers(self) -> tuple[float, ...]:
        return (*self.audit.extremes, self.lost)

    def _restore(self, numbers: tuple[float, ...]) -> None:
        error, lowest, highest, lost = numbers
        self.audit.extremes, self.lost = (error, lowest, highest), int(lost)

    def _told(self, row: LedgerRow, student: ParticipantData) -> LedgerRow:
        """With what one answer of it says, of one teacher or of their mean."""
        agreed = self.agreement
        numbers = row.numbers_total // max(1, row.answers)
        question = agreed.question
        # Who asks for a sum names no patients: its teachers count the most that anybody has.
        samples = (
            row.student_logits // agreed.outputs
            if question.encrypts
            else len(agreed.patients_of(student))
        )
        return replace(
            row,
            numbers_per_answer=numbers,
            teacher_parameters=agreed.parameters,
            student_logits=samples * agreed.outputs,
            determines=question.determines_fit(samples) or question.determines_logits(samples),
            in_mean=agreed.opens == "mean",
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
        families=dict(trust.families),
    )
