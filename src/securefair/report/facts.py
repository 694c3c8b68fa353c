"""What the records say, summed and sorted once, for every output alike."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from securefair.collaboration.wording import encrypts
from securefair.records import (
    CEILING,
    STANDALONE,
    WEIGHTED_SUM,
    EncryptionResult,
    ExchangeRecord,
    GainResult,
    LedgerRow,
    ParticipantResult,
    RoundRecord,
    RunResult,
    TrafficRow,
)

MILESTONES = 6


@dataclass(frozen=True)
class MessageTotal:
    """All messages of one type.

    Attributes:
        summed: in a run that adds up under masks, and encrypts nothing.
        unencrypted: in a run whose backend keeps nothing secret.
    """

    algorithm: str
    message: str
    count: int
    bytes: int
    summed: bool = False
    unencrypted: bool = False


@dataclass(frozen=True)
class PartnerTotal:
    """What one participant put on the wire and took from it, in bytes."""

    name: str
    sent: int
    received: int


@dataclass(frozen=True)
class ExchangeSummary:
    """Cost of the exchanges of one algorithm; medians over answered ones, 0.0 without any."""

    answers: int
    declines: int
    median_teacher_seconds: float
    median_student_seconds: float


@dataclass(frozen=True)
class SharingSummary:
    """Who was asked and who answered over all rounds, from the records of the rounds."""

    rounds: int
    asked: int
    answered: int
    possible: int  # answers if every participant always answered every other


@dataclass(frozen=True)
class SenderDisclosure:
    """What one participant let out where models are averaged, over all its neighbours."""

    sender: str
    receivers: int
    cosines: int  # numbers about its gradients
    sums: int  # that its model is a part of
    parameters: int
    bits: float  # of opened values, that its control messages told one peer at most


@dataclass(frozen=True)
class TaughtRounds:
    """How often each participant answered each other one over all rounds.

    Attributes:
        rounds: most that one can have answered another.
        answers: indexed [student][teacher].
        received, given: sums of its rows, and of its columns.
    """

    rounds: int
    answers: list[list[int]]
    received: list[int]
    given: list[int]


@dataclass(frozen=True)
class TeacherDisclosure:
    """Everything one teacher let out, over all its students: the bound if they collude."""

    teacher: str
    students: int
    numbers: int
    parameters: int
    bits: float  # of opened values, that its control messages told one peer at most


def collaborative(result: RunResult) -> list[str]:
    """The algorithms of the run in which participants learn from each other."""
    return [name for name in result.algorithms if name not in (*result.controls, CEILING)]


def problems_of(result: RunResult) -> list[tuple[str, str]]:
    """What failed or was left out, after its seed; that is empty where there is only one."""
    several = len(result.seeds) > 1
    return [
        (seed if several else "", problem)
        for seed, problems in result.problems.items()
        for problem in problems
    ]


def problem_lines(result: RunResult) -> list[str]:
    """The same as lines, with the seed where there are several."""
    return [f"Seed {seed}: {problem}" if seed else problem for seed, problem in problems_of(result)]


def best_control(result: RunResult) -> str:
    """What the run's gains are stated against: the control that is hardest to beat."""
    return result.algorithms[result.algorithm].best_control or STANDALONE


def over_best(result: RunResult, algorithm: str) -> GainResult | None:
    """Gains of an algorithm over the best control; None for that control itself."""
    return result.algorithms[algorithm].gain_over.get(best_control(result))


def rounding_cost(participants: Sequence[ParticipantResult]) -> float | None:
    """Largest change of anyone's accuracy, in [0, 1], when weights are rounded for encryption."""
    known = [one.quantization for one in participants if one.quantization]
    changes = [abs(one.accuracy_after - one.accuracy_before) for one in known]
    return max(changes, default=None)


def rounds_of(rounds: Sequence[RoundRecord], algorithm: str) -> list[RoundRecord]:
    """The rounds of one algorithm in ascending order."""
    chosen = [record for record in rounds if record.algorithm == algorithm]
    return sorted(chosen, key=lambda record: record.round)


def adds_up(encryption: EncryptionResult | None) -> bool:
    """Whether all that passed was sums under masks: nobody was asked, and no noise was drawn."""
    return encryption is not None and encryption.averaging is None and not encryption.ring_degree


def message_totals(
    traffic: Sequence[TrafficRow], algorithm: str, encryption: EncryptionResult | None = None
) -> list[MessageTotal]:
    """Traffic of one algorithm by message type, in the order of a round's conversation."""
    order = (*("hello", "keys", "features", "offer", "ask", "answer", "decline", "reveal", "key"),)
    rows = [row for row in traffic if row.algorithm == algorithm]
    messages = sorted(
        {row.message for row in rows},
        key=lambda name: (order.index(name) if name in order else len(order), name),
    )
    return [
        MessageTotal(
            algorithm=algorithm,
            message=message,
            count=sum(row.count for row in rows if row.message == message),
            bytes=sum(row.bytes for row in rows if row.message == message),
            summed=encryption is not None and not encryption.ring_degree,
            unencrypted=encryption is not None and not encrypts(encryption),
        )
        for message in messages
    ]


def partner_totals(
    traffic: Sequence[TrafficRow], algorithm: str, names: Sequence[str]
) -> list[PartnerTotal]:
    """Traffic of one algorithm by participant."""
    rows = [row for row in traffic if row.algorithm == algorithm]
    return [
        PartnerTotal(
            name=name,
            sent=sum(row.bytes for row in rows if row.sender == name),
            received=sum(row.bytes for row in rows if row.receiver == name),
        )
        for name in names
    ]


def exchange_summary(exchanges: Sequence[ExchangeRecord], algorithm: str) -> ExchangeSummary:
    """Answers, declines and typical times of one algorithm."""
    rows = [row for row in exchanges if row.algorithm == algorithm]
    answered = [row for row in rows if row.answered]
    return ExchangeSummary(
        answers=len(answered),
        declines=len(rows) - len(answered),
        median_teacher_seconds=_median([row.teacher_seconds for row in answered]),
        median_student_seconds=_median([row.student_seconds for row in answered]),
    )


def sharing_summary(rounds: Sequence[RoundRecord]) -> SharingSummary:
    """Asked, answered and possible answers over the rounds of one algorithm."""
    participants = len(rounds[0].asked) if rounds else 0
    return SharingSummary(
        rounds=len(rounds),
        asked=sum(sum(row) for record in rounds for row in record.asked),
        answered=sum(sum(row) for record in rounds for row in record.answered),
        possible=len(rounds) * participants * (participants - 1),
    )


def taught(rounds: Sequence[RoundRecord]) -> TaughtRounds:
    """Who taught whom how often, over the rounds of one algorithm (at least one)."""
    people = range(len(rounds[0].answered))
    answers = [[sum(record.answered[n][k] for record in rounds) for k in people] for n in people]
    return TaughtRounds(
        rounds=len(rounds),
        answers=answers,
        received=[sum(row) for row in answers],
        given=[sum(column) for column in zip(*answers, strict=True)],
    )


def milestones(rounds: Sequence[RoundRecord]) -> list[RoundRecord]:
    """Rounds that tell how reputations came about: those that changed them, and the last.

    Of more than `MILESTONES`, that many are chosen evenly, the first and the last among them.
    """
    changed = [record for record in rounds if record.forced or record is rounds[-1]]
    if len(changed) <= MILESTONES:
        return changed
    steps = MILESTONES - 1
    return [changed[at * (len(changed) - 1) // steps] for at in range(MILESTONES)]


def ledger_of(ledger: Sequence[LedgerRow], algorithm: str) -> list[LedgerRow]:
    """The ledger of one algorithm, most disclosed first."""
    rows = [row for row in ledger if row.algorithm == algorithm]
    return sorted(rows, key=lambda row: (-row.numbers_total, row.teacher, row.student))


def teacher_disclosures(ledger: Sequence[LedgerRow], algorithm: str) -> list[TeacherDisclosure]:
    """The ledger of one algorithm summed over students, most disclosed first."""
    rows = ledger_of(ledger, algorithm)
    totals = [
        TeacherDisclosure(
            teacher=teacher,
            students=sum(1 for row in rows if row.teacher == teacher and row.answers),
            numbers=sum(row.numbers_total for row in rows if row.teacher == teacher),
            parameters=next(row.teacher_parameters for row in rows if row.teacher == teacher),
            bits=max(row.control_bits for row in rows if row.teacher == teacher),
        )
        for teacher in {row.teacher for row in rows}
    ]
    return sorted(totals, key=lambda total: (-total.numbers, total.teacher))


def sender_disclosures(ledger: Sequence[LedgerRow], algorithm: str) -> list[SenderDisclosure]:
    """The ledger of one algorithm that averages, by participant, most sums first."""
    rows = [row for row in ledger if row.algorithm == algorithm]
    totals = []
    for sender in dict.fromkeys(row.teacher for row in rows):
        own = [row for row in rows if row.teacher == sender]
        sums = [row for row in own if row.release == WEIGHTED_SUM]
        totals.append(
            SenderDisclosure(
                sender=sender,
                receivers=len({row.student for row in sums}),
                cosines=sum(row.numbers_total for row in own if row.release != WEIGHTED_SUM),
                sums=sum(row.answers for row in sums),
                parameters=own[0].teacher_parameters,
                bits=max(row.control_bits for row in own),
            )
        )
    return sorted(totals, key=lambda total: (-total.sums, total.sender))


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else 0.0
