"""What a simulation of CYCle and VPDL sees: opened values against the clear, and records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from securefair.circuit.planner import ExchangePlan, plan_exchange
from securefair.collaboration.distillation.agreement import DistillationAgreement
from securefair.collaboration.distillation.audit import ReleaseAudit
from securefair.collaboration.distillation.host import DistillingHost
from securefair.collaboration.facts import EncryptionFacts, RunFacts
from securefair.collaboration.observer import AskedPeers, Ends, Observer
from securefair.collaboration.privacy import privacy_results, spent_by
from securefair.data.dataset import Samples
from securefair.exchange import steps
from securefair.model.heads import Head
from securefair.model.quantize import QuantizationReport, rounding_report
from securefair.records import Matrix, PrivacyResult, RoundRecord

Hosts = Mapping[str, DistillingHost]


class DistillationObserver(Observer[DistillingHost]):
    """Of CYCle and VPDL.

    Args:
        algorithm: see `Observer`.
        collaboration: what was agreed.
        audit: compare every released value with the clear backend.

    Attributes:
        audit: of all that is opened; None where nobody asks.
    """

    def __init__(
        self,
        algorithm: str,
        collaboration: DistillationAgreement,
        *,
        audit: bool = True,
    ) -> None:
        super().__init__(algorithm)
        self.collaboration = collaboration
        self.audit = ReleaseAudit(collaboration) if audit else None

    def privacy(self, hosts: Hosts) -> dict[str, PrivacyResult] | None:
        """What is promised to every hospital's patients, and what that has cost by now."""
        alignments = {
            name: own.alignments.spent for name, own in hosts.items() if own.alignments is not None
        }
        teachers = {name: own.teacher for name, own in hosts.items() if own.teacher is not None}
        return privacy_results(
            teachers, decides=not self.collaboration.always_share, alignments=alignments
        )

    def heads(self, hosts: Hosts) -> dict[str, Head]:
        """See `Observer`."""
        return {name: own.train_state.model for name, own in hosts.items()}

    def facts(self, hosts: Hosts) -> RunFacts:
        """See `Observer`."""
        plan, backend = (
            plan_exchange(self.collaboration.spec),
            self.collaboration.encryption.backend,
        )
        return RunFacts(
            encryption=EncryptionFacts.of_exchange(plan, self.audit, backend=backend),
            quantization=self.quantization(hosts),
            ledger=self.ledger(hosts),
            traffic=[],
            problems=list(self.problems),
            privacy=self.privacy(hosts),
        )

    def quantization(self, hosts: Hosts) -> list[QuantizationReport]:
        """What rounding the weights, as they are now, does to each participant's test logits."""
        plan = plan_exchange(self.collaboration.spec)
        return [_rounded(plan, own.train_state.model, own.data.test) for own in hosts.values()]

    def exchanges(self, round: int, hosts: Hosts, ends: Ends) -> Iterator[AskedPeers]:
        """See `Observer`."""
        for student, end in ends.items():
            for teacher in end.asked:
                answered = hosts[teacher].rounds[round].teacher_seconds
                opened = hosts[student].rounds[round].student_seconds
                yield AskedPeers(
                    student=student,
                    teacher=teacher,
                    answered=teacher in end.opened,
                    teacher_seconds=answered.get(student, 0.0),
                    student_seconds=opened.get(teacher, 0.0),
                )

    def ends(self, round: int, hosts: Hosts, ends: Ends) -> RoundRecord:
        """See `Observer`."""
        if self.audit is not None:
            teachers = {name: own.answering(round) for name, own in hosts.items()}
            for own in hosts.values():
                self.audit.check(own, round, teachers)
        names = list(hosts)

        def matrix(attribute: str) -> Matrix:
            rows = [getattr(own.rounds[round], attribute) for own in hosts.values()]
            return [[row.get(name) for name in names] for row in rows]

        rows = [ends[name] for name in names]
        return RoundRecord(
            algorithm=self.algorithm,
            round=round,
            forced=rows[0].forced and not self.collaboration.always_share,
            accuracy=[one.measured["accuracy"] for one in rows],
            cross_entropy=[one.measured["cross_entropy"] for one in rows],
            reputation=[[one.reputations.get(name) for name in names] for one in rows],
            alignment=matrix("alignment"),
            distillation_loss=matrix("distillation_loss"),
            asked=[[name in one.asked for name in names] for one in rows],
            answered=[[name in one.opened for name in names] for one in rows],
            privacy_spent=spent_by(self.privacy(hosts), names),
        )

    def _numbers(self) -> tuple[float, ...]:
        return () if self.audit is None else self.audit.extremes

    def _restore(self, numbers: tuple[float, ...]) -> None:
        if self.audit is not None and numbers:
            error, lowest, highest = numbers
            self.audit.extremes = error, lowest, highest


def _rounded(plan: ExchangePlan, model: Head, test: Samples) -> QuantizationReport:
    compiled = steps.compile_model(plan, model)
    before, after = model.logits(test.features), compiled.logits(test.features)
    return rounding_report(before, after, test.labels, compiled.largest)
