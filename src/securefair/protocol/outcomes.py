"""Who goes on when a job of the host has ended, well or not."""

from __future__ import annotations

from securefair.protocol import admission, receiving, rounds, sending, student, teacher
from securefair.protocol.effects import Blame, Done, Failed
from securefair.protocol.jobs import (
    Adapt,
    Adapted,
    Answered,
    AnswerQuery,
    AskSum,
    Combine,
    Combined,
    ImportPeer,
    KeyReleased,
    MakeShare,
    OpenAnswer,
    Opened,
    Predictions,
    Prepared,
    PrepareKeysAndFeatures,
    PrepareQuery,
    ReleaseKey,
    ShareMade,
    Step,
    SumAsked,
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
        case PrepareQuery() as job, Predictions(payload=payload):
            student.on_predictions(turn, job, payload)
        case AnswerQuery() as job, Answered(payload=payload):
            teacher.on_answered(turn, job, payload)
        case OpenAnswer() as job, Opened() as opened:
            student.on_opened(turn, job, opened)
        case Step(), _:
            rounds.end(turn, Event.STEPPED, None)
        case Adapt() as job, Adapted() as adapted:
            sending.on_adapted(turn, job, adapted)
        case AskSum() as job, SumAsked() as asked:
            receiving.on_asked(turn, job, asked)
        case MakeShare() as job, ShareMade(payload=payload):
            sending.on_share_made(turn, job, payload)
        case ReleaseKey() as job, KeyReleased(key=key):
            sending.on_key_released(turn, job, key)
        case Combine() as job, Combined():
            receiving.on_combined(turn, job)


def failed(turn: Turn, event: Failed) -> None:
    """Go on without the result of a job."""
    turn.finish(event.job)
    match event.job:
        case PrepareKeysAndFeatures():
            admission.on_preparation_failed(turn)
        case ImportPeer() as job:
            admission.on_import_failed(turn, job, event.error)
        case PrepareQuery() as job:
            student.on_predictions_failed(turn, job)
        case AnswerQuery() as job:
            teacher.on_answer_failed(turn, job)
        case OpenAnswer() as job:
            student.on_open_failed(turn, job, event.error)
        case Step() | Adapt():
            rounds.end(turn, Event.STEP_FAILED, event.error)
        case AskSum() as job:
            receiving.on_ask_failed(turn, job, event.error)
        case MakeShare() as job:
            sending.on_share_failed(turn, job)
        case ReleaseKey() as job:
            sending.on_release_failed(turn, job)
        case Combine():
            rounds.end(turn, Event.COMBINE_FAILED, None)
    culprit = event.culprit
    blamed = isinstance(event.job, ImportPeer)  # when it was refused
    if culprit is not None and culprit in turn.memory.peers and not blamed:
        turn.effects.append(Blame(culprit, event.error))
