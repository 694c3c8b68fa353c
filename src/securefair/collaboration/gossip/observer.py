"""What a simulation of averaged models sees: averages against all models, and records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from securefair.collaboration.facts import EncryptionFacts, RunFacts
from securefair.collaboration.gossip.agreement import GossipAgreement
from securefair.collaboration.gossip.host import GossipHost
from securefair.collaboration.gossip.participant import vector_of
from securefair.collaboration.observer import AskedPeers, Ends, Observer, SiteRecord
from securefair.records import AveragingResult, Matrix, RoundRecord

Hosts = Mapping[str, GossipHost]


class GossipObserver(Observer[GossipHost]):
    """Of CYCle gossip.

    Args:
        algorithm: see `Observer`.
        agreement: what was agreed.

    Attributes:
        kept_own: how often a participant kept its own model, having fewer than two senders.
        lost: how often a sender that shared sent no share in time.
        max_sum_error: largest |coordinate of an average - the same in float64 from all models|.
    """

    def __init__(self, algorithm: str, agreement: GossipAgreement) -> None:
        super().__init__(algorithm)
        self.agreement = agreement
        self.kept_own, self.lost, self.max_sum_error = 0, 0, 0.0

    def ends(self, round: int, hosts: Hosts, ends: Ends) -> RoundRecord:
        """See `Observer`."""
        self.kept_own += sum(not one.combined for one in ends.values())
        self.lost += sum(len(one.lost) for one in ends.values())
        for name, one in ends.items():
            if one.combined:
                self.max_sum_error = max(self.max_sum_error, self._error(round, name, hosts))
        names, rows = list(hosts), [ends[name] for name in hosts]
        beside = self.agreement.graph
        weights: Matrix = [
            [float(w) if beside[i, j] and i != j else None for j, w in enumerate(own.row.weights)]
            for i, own in enumerate(hosts.values())
        ]
        alignment: Matrix = [
            [own.rounds[round].alignment.get(name) for name in names] for own in hosts.values()
        ]
        return RoundRecord(
            algorithm=self.algorithm,
            round=round,
            forced=rows[0].forced,
            accuracy=[one.measured["accuracy"] for one in rows],
            cross_entropy=[one.measured["cross_entropy"] for one in rows],
            reputation=weights,
            alignment=alignment,
            distillation_loss=[[None] * len(names) for _ in names],
            asked=[[name in one.offered for name in names] for one in rows],
            answered=[[name in one.combined for name in names] for one in rows],
            numbers_sent=self._sent(names, rows),
        )

    def exchanges(self, round: int, hosts: Hosts, ends: Ends) -> Iterator[AskedPeers]:
        """See `Observer`."""
        for receiver, end in ends.items():
            for sender in dict.fromkeys((*end.asked, *end.offered)):
                notes, peers = (hosts[one].rounds[round] for one in (receiver, sender))
                yield AskedPeers(
                    student=receiver,
                    teacher=sender,
                    answered=sender in end.opened or sender in end.combined,
                    teacher_seconds=peers.answered_seconds.get(receiver, 0.0),
                    student_seconds=notes.asked_seconds.get(sender, 0.0),
                )

    def facts(self, hosts: Hosts) -> RunFacts:
        """See `Observer`; the backend is that of the alignments."""
        agreement = self.agreement
        inner, sums = agreement.alignment.inner, agreement.sums
        return RunFacts(
            encryption=EncryptionFacts(
                backend=agreement.encryption.backend,
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
            ledger=self.ledger(hosts),
            traffic=[],
            problems=list(self.problems),
        )

    def _numbers(self) -> tuple[float, ...]:
        return self.kept_own, self.lost, self.max_sum_error

    def _restore(self, numbers: tuple[float, ...]) -> None:
        kept_own, lost, self.max_sum_error = numbers
        self.kept_own, self.lost = int(kept_own), int(lost)

    def _error(self, round: int, name: str, people: Hosts) -> float:
        """Of the average that a participant got in a round."""
        mixed = people[name].rounds[round].mixed
        if mixed is None:
            raise LookupError("a sum that was combined was asked for")
        difference = people[name].vector
        for weight, peer in zip(mixed.tolist(), people.values(), strict=True):
            adapted = peer.rounds[round].adapted
            if weight and adapted is not None:
                difference = difference - weight * vector_of(adapted)
        return float(np.abs(difference).max())

    def _sent(self, names: Sequence[str], ends: Sequence[SiteRecord]) -> list[int]:
        """By each participant: a model for every sum it is in, a number for every alignment."""
        length = self.agreement.stacked.length
        return [
            sum(length * (name in s.combined) + (name in s.opened) for s in ends) for name in names
        ]
