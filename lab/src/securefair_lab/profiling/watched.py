"""Participants that note what their jobs cost, and may hold reputations that never change."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from securefair.collaboration.distillation import (
    DistillationAgreement,
    DistillationObserver,
    DistillingHost,
)
from securefair.config import DisclosureSection
from securefair.data import ParticipantData
from securefair.profiling import Clock
from securefair.protocol.jobs import (
    AnswerAsk,
    ImportPeer,
    Job,
    JobResult,
    OpenAnswer,
    OpenedAnswer,
    PrepareAsk,
    PrepareKeysAndFeatures,
)
from securefair.sites.simulation import SimulatedRun, Town

AS_TEACHER = (ImportPeer, AnswerAsk)
AS_STUDENT = (PrepareKeysAndFeatures, PrepareAsk, OpenAnswer)

UNLIMITED = DisclosureSection(fraction=None)
"""A profile asks what answers cost: the ledger counts them and refuses none."""


class WatchedParticipant(DistillingHost):
    """A participant whose jobs are timed.

    With `reputation`, whatever it thinks of a teacher it reports that reputation instead. Machine,
    messages, ledger and encryption are those of any other participant, so sharing decisions
    against a fixed reputation r are answers with probability r outside forced rounds.

    Args:
        reputation: reputation that it reports of everyone, in [0, 1]; None for its own.
        data, collaboration, seed: as of every participant.
        clock: in seconds.
    """

    def __init__(
        self,
        data: ParticipantData,
        collaboration: DistillationAgreement,
        *,
        seed: int,
        reputation: float | None,
        clock: Clock = time.perf_counter,
    ) -> None:
        super().__init__(data, replace(collaboration, disclosure=UNLIMITED), seed=seed)
        self.reputation = reputation
        self._clock = clock
        self.teacher_seconds = 0.0
        self.student_seconds = 0.0

    def run(self, job: Job) -> JobResult:
        """Carry out a job and count its seconds to the role in which it is done."""
        started = self._clock()
        result = super().run(job)
        seconds = self._clock() - started
        if isinstance(job, AS_TEACHER):
            self.teacher_seconds += seconds
        elif isinstance(job, AS_STUDENT):
            self.student_seconds += seconds
        if isinstance(job, OpenAnswer) and job.score and self.reputation is not None:
            return OpenedAnswer(self.reputation)
        return result


def start_watched(
    name: str,
    data: Sequence[ParticipantData],
    collaboration: DistillationAgreement,
    *,
    seed: int,
    reputation: float | None = None,
    clock: Clock = time.perf_counter,
) -> tuple[SimulatedRun, list[WatchedParticipant]]:
    """An encrypted run before its first round, as any is.

    Returns:
        The run, and its participants.
    """
    participants = [
        WatchedParticipant(own, collaboration, seed=seed, reputation=reputation, clock=clock)
        for own in data
    ]
    for participant in participants:
        participant.train_alone()
    people = {own.name: own for own in participants}
    town = Town(list(people), lambda name, _: people[name], collaboration, seed=seed)
    observer = DistillationObserver(name, collaboration, audit=False)
    return SimulatedRun(town, observer), participants
