"""This participant as student: whom it asks, what it makes of the replies.

One question per teacher and round, whose answer is opened by itself; those for a sum are in
`summing`. A round is settled when no question is waiting, asked or opening any more; what has not
been opened by the deadline is missed, and its result, should it still come, is dropped: reputations
change only by answers opened in time.
"""

from __future__ import annotations

from dataclasses import replace

from securefair.errors import LocalProtocolError, RemoteProtocolError
from securefair.protocol import linking
from securefair.protocol.effects import Blame
from securefair.protocol.flows import QUERY_BITS
from securefair.protocol.jobs import OpenAnswer, OpenedAnswer, PrepareAsk, Questions
from securefair.protocol.messages import Answer, Ask, Decline, DeclineReason, name_of
from securefair.protocol.states import (
    ASKING,
    PREPARATION,
    AdmissionState,
    AskingState,
    Event,
    PreparationState,
    RoundState,
)
from securefair.protocol.turn import Asking, OwnQuestions, Peer, Turn

UNSETTLED = (AskingState.WAITING, AskingState.ASKED, AskingState.OPENING)


def begin(turn: Turn) -> None:
    """Choose whom to ask (every peer if forced, else those with r > 0; nobody who is away)."""
    forced = turn.settings.forced(turn.round)
    if turn.settings.scored(turn.round):
        turn.memory = replace(turn.memory, ledger=turn.memory.ledger.with_new_choices())
    for name, peer in turn.memory.peers.items():
        asking = Asking()
        may_ask = _may_ask(turn, name)
        if may_ask and _wanted(peer, forced):
            asking = Asking(ASKING.next(asking.state, Event.CHOSEN))
        if may_ask and not turn.settings.free(turn.round):
            turn.tell_choice(name, QUERY_BITS)
        turn.set_asking(name, asking)
    turn.memory = replace(turn.memory, questions=OwnQuestions())
    if turn.settings.needs_question and unsettled(turn):
        state = PREPARATION.next(turn.memory.questions.state, Event.START)
        turn.memory = replace(turn.memory, questions=OwnQuestions(state))
        turn.run(PrepareAsk(turn.round, 0, unsettled(turn)))
    ask_waiting(turn)


def unsettled(turn: Turn) -> tuple[str, ...]:
    """The teachers whose exchange of this round has not come to an end."""
    return tuple(name for name, peer in turn.memory.peers.items() if peer.asking.state in UNSETTLED)


def ask_waiting(turn: Turn) -> None:
    """Ask every chosen teacher that has what it needs to answer."""
    if turn.settings.needs_question and turn.memory.questions.state is not PreparationState.READY:
        return
    for name, peer in turn.memory.peers.items():
        if peer.asking.state is AskingState.WAITING and _introduced_to(turn, name):
            turn.set_asking(name, Asking(ASKING.next(peer.asking.state, Event.ASK_SENT)))
            turn.send(name, _question(turn, name))


def cannot_ask(turn: Turn, name: str) -> None:
    """Give up on a teacher that has been refused."""
    asking = turn.peer(name).asking
    if asking.state in (AskingState.WAITING, AskingState.ASKED):
        turn.set_asking(name, replace(asking, state=ASKING.next(asking.state, Event.CANNOT_ASK)))


def cannot_ask_anyone(turn: Turn) -> None:
    """Give up on every teacher that still waits for something of this participant's own."""
    for name, peer in turn.memory.peers.items():
        if peer.asking.state is AskingState.WAITING:
            cannot_ask(turn, name)


def on_prepared(turn: Turn, job: PrepareAsk, questions: Questions) -> None:
    """The questions are made: ask. Dropped if their round is over."""
    if job.round != turn.round:
        return
    state = PREPARATION.next(turn.memory.questions.state, Event.DONE)
    turn.memory = replace(turn.memory, questions=OwnQuestions(state, questions.payloads))
    for name, peer in turn.memory.peers.items():
        if peer.asking.state is AskingState.WAITING and name not in questions.payloads:
            turn.set_asking(name, Asking(ASKING.next(peer.asking.state, Event.NOTHING)))
    ask_waiting(turn)


def on_preparation_failed(turn: Turn, job: PrepareAsk) -> None:
    """Without its questions nobody can be asked this round."""
    if job.round != turn.round:
        return
    state = PREPARATION.next(turn.memory.questions.state, Event.FAILED)
    turn.memory = replace(turn.memory, questions=OwnQuestions(state))
    cannot_ask_anyone(turn)


def on_reply(turn: Turn, name: str, message: Answer | Decline) -> None:
    """Take the reply that was asked for; let late and repeated ones pass; blame all others."""
    peer = turn.peer(name)
    asking = peer.asking
    if isinstance(message, Decline) and message.reason is DeclineReason.DISCLOSURE_LIMIT:
        linking.on_spent(turn, name)  # late or not
        peer = turn.peer(name)
    if message.round < turn.round:  # late
        return
    _check_asked(turn, name, message)
    if asking.state is not AskingState.ASKED:
        _check_repeat(name, asking, message)
        return
    if isinstance(message, Decline):
        state = ASKING.next(asking.state, Event.DECLINED)
        turn.set_asking(name, replace(asking, state=state, reply=message))
        return
    state = ASKING.next(asking.state, Event.ANSWERED)
    turn.set_asking(name, replace(asking, state=state, reply=message))
    sums = turn.settings.sums
    if sums is not None:
        for told in sums.neighbours if sums.told_to_all else (name,):
            turn.tell(told, sums.alignment_bits)
    score = turn.settings.scored(turn.round)
    turn.run(OpenAnswer(name, message.round, message.payload, score, peer.reputation))


def on_opened(turn: Turn, job: OpenAnswer, result: OpenedAnswer) -> None:
    """An answer is open, and scored if the round asks for it."""
    if job.score and not (result.reputation is not None and 0 <= result.reputation <= 1):
        raise LocalProtocolError(
            "scoring returned no reputation",
            where=f"OpenAnswer of {job.peer}",
            found=result.reputation,
            expected="a number in [0, 1]",
        )
    peer = turn.peer(job.peer)
    if job.round != turn.round or peer.asking.state is not AskingState.OPENING:
        return
    state = ASKING.next(peer.asking.state, Event.ANSWER_OPENED)
    reputation = result.reputation if job.score else peer.reputation
    asking = replace(peer.asking, state=state, doubtful=result.doubtful)
    turn.set_peer(job.peer, replace(peer, asking=asking, reputation=reputation))


def on_open_failed(turn: Turn, job: OpenAnswer, error: str, *, doubtful: bool) -> None:
    """The answer is unusable: blame the teacher unless it is only doubtful, go on without it."""
    if not doubtful:
        fault = RemoteProtocolError(
            "its answer cannot be opened", culprit=job.peer, where=f"round {job.round}", found=error
        )
        turn.effects.append(Blame(job.peer, str(fault)))
    asking = turn.peer(job.peer).asking
    if job.round != turn.round or asking.state is not AskingState.OPENING:
        return
    state = ASKING.next(asking.state, Event.OPEN_FAILED)
    turn.set_asking(job.peer, replace(asking, state=state, doubtful=doubtful))


def expire(turn: Turn) -> None:
    """The deadline has passed: whatever is not settled is missed."""
    for name in unsettled(turn):
        _miss(turn, name)


def give_up(turn: Turn, name: str) -> None:
    """A teacher is away: its answer is missed, unless it is here already."""
    if turn.peer(name).asking.state in (AskingState.WAITING, AskingState.ASKED):
        _miss(turn, name)


def ask_who_is_back(turn: Turn, name: str) -> None:
    """Ask a teacher that was away, as the round began or since, as long as others are waited for.

    A round in which one comes back as another goes would otherwise end without either. Questions
    that say something are made for all together: who has none is asked in the next round.
    """
    peer, round = turn.peer(name), turn.round
    late = peer.asking.state in (AskingState.NOT_ASKED, AskingState.MISSED)
    if turn.memory.state is not RoundState.EXCHANGING or not late:
        return
    made = not turn.settings.needs_question or name in turn.memory.questions.payloads
    if made and _may_ask(turn, name) and _wanted(peer, turn.settings.forced(round)):
        turn.set_asking(name, Asking(ASKING.next(ASKING.initial, Event.CHOSEN)))
        ask_waiting(turn)


def ask_again(turn: Turn, name: str) -> None:
    """Repeat the question to a teacher that may have lost it."""
    if turn.peer(name).asking.state is AskingState.ASKED:
        turn.send(name, _question(turn, name))


def _introduced_to(turn: Turn, name: str) -> bool:
    """Whether a teacher has been sent all that it needs before it is asked."""
    introduction = turn.peer(name).introduction
    if turn.settings.needs_keys:
        return introduction.upload_sent
    return introduction.state is AdmissionState.ADMITTED


def _question(turn: Turn, name: str) -> Ask:
    prepared = turn.memory.upload.prepared
    key_epoch = 0 if prepared is None else prepared.keys.key_epoch
    return Ask(turn.round, 0, turn.memory.questions.payloads.get(name, b""), key_epoch)


def _miss(turn: Turn, name: str) -> None:
    asking = turn.peer(name).asking
    turn.set_asking(name, replace(asking, state=ASKING.next(asking.state, Event.EXPIRED)))


def _may_ask(turn: Turn, name: str) -> bool:
    """Whether a peer may be asked in this round; a neighbour only for the sake of a sum."""
    return turn.settings.asks(name, turn.round) and linking.linkable(turn, name)


def _wanted(peer: Peer, forced: bool) -> bool:
    if peer.introduction.state is AdmissionState.REFUSED or peer.away:
        return False
    return forced or (peer.reputation is not None and peer.reputation > 0)


def _check_asked(turn: Turn, name: str, message: Answer | Decline) -> None:
    """Raise for a reply to a question that was not asked in this round."""
    asked = turn.peer(name).asking.state not in (AskingState.NOT_ASKED, AskingState.WAITING)
    if not asked or (message.round, message.attempt) != (turn.round, 0):
        raise RemoteProtocolError(
            "replied to a question that was never asked",
            culprit=name,
            where=name_of(type(message)),
            found=f"round {message.round}, attempt {message.attempt}",
            expected=f"round {turn.round}, attempt 0" if asked else "no reply: it was not asked",
        )


def _check_repeat(name: str, asking: Asking, message: Answer | Decline) -> None:
    """Let pass what an honest teacher may send once its reply is in; raise for anything else.

    That is: its reply again, a reply after the deadline, and, from a teacher that has gone on to
    later rounds, "stale" for a repeated question whose answer is on the way or was here before.
    """
    reply = asking.reply
    if reply is None or reply == message:
        return
    if any(isinstance(m, Decline) and m.reason is DeclineReason.STALE for m in (message, reply)):
        return
    raise RemoteProtocolError(
        "sent two different replies to one question",
        culprit=name,
        where=f"round {message.round}",
        found=type(message).__name__.lower(),
        expected=f"the {type(reply).__name__.lower()} it sent before, or nothing",
    )
