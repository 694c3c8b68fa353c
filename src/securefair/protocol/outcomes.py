"""Who goes on when a job of the host has ended, well or not."""

from __future__ import annotations

from securefair.protocol import admission, keys, linking, rounds, student, summing, teacher
from securefair.protocol.effects import Blame, Done, Failed
from securefair.protocol.jobs import (
    Adapt,
    Adapted,
    AnswerAsk,
    Answered,
    Combine,
    Combined,
    ImportPeer,
    KeyReleased,
    OpenAnswer,
    OpenedAnswer,
    PartsReleased,
    PrepareAsk,
    Prepared,
    PrepareKeysAndFeatures,
    Questions,
    ReleaseKey,
    ReleaseParts,
    Step,
)
from securefair.protocol.states import Event
from securefair.protocol.turn import Turn


def done(turn: Turn, event: Done) -> None:
    """Take the result of a job."""
    turn.finish(event.job, event.result)
    match event.job, event.result:
        case PrepareKeysAndFeatures(), Prepared() as prepared:
            admission.on_prepared(turn, prepared)
        case ImportPeer() as job, _:
            admission.on_imported(turn, job)
        case PrepareAsk(summed=True) as job, Questions() as questions:
            summing.on_prepared(turn, job, questions)
        case PrepareAsk() as job, Questions() as questions:
            student.on_prepared(turn, job, questions)
        case AnswerAsk() as job, Answered() as answered:
            teacher.on_answered(turn, job, answered)
        case OpenAnswer() as job, OpenedAnswer() as opened:
            student.on_opened(turn, job, opened)
        case Step(), _:
            rounds.end(turn, Event.STEPPED, None)
        case Adapt() as job, Adapted() as adapted:
            linking.on_adapted(turn, job, adapted)
        case ReleaseKey() as job, KeyReleased(key=key):
            keys.on_key_released(turn, job, key)
        case ReleaseParts() as job, PartsReleased(parts=parts):
            keys.on_parts_released(turn, job, parts)
        case Combine() as job, Combined():
            summing.on_combined(turn, job)


def failed(turn: Turn, event: Failed) -> None:
    """Go on without the result of a job."""
    turn.finish(event.job)
    match event.job:
        case PrepareKeysAndFeatures():
            admission.on_preparation_failed(turn)
        case ImportPeer() as job:
            admission.on_import_failed(turn, job, event.error)
        case PrepareAsk(summed=True) as job:
            summing.on_preparation_failed(turn, job, event.error)
        case PrepareAsk() as job:
            student.on_preparation_failed(turn, job)
        case AnswerAsk() as job:
            teacher.on_answer_failed(turn, job, event.senders)
        case OpenAnswer() as job:
            student.on_open_failed(turn, job, event.error, doubtful=event.doubtful)
        case Step() | Adapt():
            rounds.end(turn, Event.STEP_FAILED, event.error)
        case ReleaseKey() | ReleaseParts() as job:
            keys.on_release_failed(turn, job)
        case Combine():
            rounds.end(turn, Event.COMBINE_FAILED, None, sum_error=event.error)
    culprit = event.culprit
    told = isinstance(event.job, ImportPeer | OpenAnswer)  # whether it is blamed, and for what
    if culprit is not None and culprit in turn.memory.peers and not told:
        turn.effects.append(Blame(culprit, event.error))
