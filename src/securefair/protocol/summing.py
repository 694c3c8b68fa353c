"""This participant as student of a sum: how it gets the answers of all its senders, and opens them.

    ask each sender -> all answers, closed: ask for the keys -> all keys: combine
    some keys do not come: ask the others for parts of them -> enough parts: combine

An answer that is late costs its sender its place: the sum is asked for again without it, under
fresh masks, as long as enough are left and no key has been asked for. Whoever declines may name the
senders of a smaller sum that it would answer for: then the next attempt is over those. After keys
were asked for there is no other attempt: senders that have given a key away answer for no other sum
of this round. If so few keys do not come that the others can stand in for them
(`SumSettings.spare`), they are asked to. Whoever gets no sum goes on with what it has, and the
summary says so.
"""

from __future__ import annotations

from dataclasses import replace

from securefair.errors import RemoteProtocolError
from securefair.protocol import opening
from securefair.protocol.effects import SetDeadline
from securefair.protocol.jobs import Combine, PrepareAsk, Questions
from securefair.protocol.messages import (
    Answer,
    Ask,
    Decline,
    Key,
    Parts,
    name_of,
)
from securefair.protocol.states import ASKING, ROUND, AskingState, Event, RoundState
from securefair.protocol.turn import Asking, Sum, Turn

AWAITED = (
    AskingState.WAITING,
    AskingState.ASKED,
    AskingState.REVEALING,
    AskingState.RECOVERING,
)
_EXPIRING = (AskingState.ASKED, AskingState.REVEALING, AskingState.RECOVERING)


def ask(turn: Turn, attempt: int, senders: tuple[str, ...]) -> None:
    """Begin an attempt; until its questions are made nobody in it has been asked for anything."""
    chosen = Asking(ASKING.next(ASKING.initial, Event.CHOSEN))
    turn.set_sum(Sum(attempt, dict.fromkeys(senders, chosen)))
    turn.run(PrepareAsk(turn.round, attempt, senders, summed=True))


def on_prepared(turn: Turn, job: PrepareAsk, questions: Questions) -> None:
    """Ask every sender; without a question keep what there is."""
    current = _current(turn, job)
    if current is None:
        return
    if not questions.payloads:
        turn.ending = Event.ALONE, None
        return
    turn.effects.append(SetDeadline(turn.round, turn.settings.round_seconds))
    for name in job.teachers:
        turn.move_part(name, Event.ASK_SENT)
        turn.send(name, Ask(job.round, job.attempt, questions.payloads[name], 0, job.teachers))


def on_preparation_failed(turn: Turn, job: PrepareAsk, error: str) -> None:
    """An own failure; the step has been taken, the sum is given up."""
    if _current(turn, job) is not None:
        turn.ending = Event.ALONE, error


def on_reply(turn: Turn, name: str, message: Answer | Decline | Key | Parts) -> None:
    """An answer, a key, parts of keys, or that there is none of these.

    Late ones pass, unasked ones are blamed.
    """
    current = turn.memory.averaging.sum
    if message.round < turn.round or (
        message.round == turn.round and current is not None and message.attempt < current.attempt
    ):
        return
    asking = None if current is None else current.teachers.get(name)
    asked = (
        current is not None
        and asking is not None
        and (message.round, message.attempt) == (turn.round, current.attempt)
        and asking.state is not AskingState.WAITING
    )
    if not asked or asking is None:
        raise RemoteProtocolError(
            "sent a part of a sum that it was not asked for",
            culprit=name,
            where=name_of(type(message)),
            found=f"round {message.round}, attempt {message.attempt}",
        )
    if turn.memory.state is not RoundState.SUMMING:
        return  # repeated after the end
    match message:
        case Answer():
            _on_answer(turn, name, asking, message)
        case Key():
            opening.on_key(turn, name, asking, message)
        case Parts():
            opening.on_parts(turn, name, asking, message)
        case Decline():
            _on_decline(turn, name, asking, message)
    _go_on(turn)


def expire(turn: Turn) -> None:
    """A deadline: go on without the answers, keys or parts that are not there."""
    current = turn.memory.averaging.sum
    if current is not None:
        for name, asking in current.teachers.items():
            if asking.state in _EXPIRING:
                turn.move_part(name, Event.EXPIRED)
        _go_on(turn)


def give_up(turn: Turn, name: str) -> None:
    """A sender is away, and will not send what it was asked for."""
    current = turn.memory.averaging.sum
    asking = None if current is None else current.teachers.get(name)
    if turn.memory.state is RoundState.SUMMING and asking and asking.state in _EXPIRING:
        turn.move_part(name, Event.EXPIRED)
        _go_on(turn)


def on_combined(turn: Turn, job: Combine) -> None:
    """The round is over, with a sum."""
    turn.set_averaging(replace(turn.memory.averaging, combined=job.senders))
    turn.ending = Event.COMBINED, None


def _on_answer(turn: Turn, name: str, asking: Asking, message: Answer) -> None:
    if asking.reply is not None and asking.reply != message:
        raise RemoteProtocolError(
            "sent two different answers for one sum",
            culprit=name,
            where=f"round {message.round}, attempt {message.attempt}",
        )
    if asking.state is AskingState.ASKED:
        turn.set_part(name, replace(asking, reply=message))
        turn.move_part(name, Event.ANSWERED_CLOSED)


def _on_decline(turn: Turn, name: str, asking: Asking, message: Decline) -> None:
    current, named = turn.memory.averaging.sum, message.senders
    asked = set() if current is None else set(current.teachers)
    if named and not (list(named) == sorted(set(named)) and name in named and set(named) < asked):
        raise RemoteProtocolError(
            "declines a sum and names one that was not asked for",
            culprit=name,
            where=f"round {message.round}, attempt {message.attempt}",
            found=", ".join(named),
            expected=f"fewer of {', '.join(sorted(asked))} in ascending order, {name} among them",
        )
    if asking.state in _EXPIRING:
        if asking.state is AskingState.ASKED:
            turn.set_part(name, replace(asking, reply=message))
        averaging = turn.memory.averaging
        said = {**averaging.declined, name: message.reason}
        turn.set_averaging(replace(averaging, declined=said))
        turn.move_part(name, Event.DECLINED)


def _go_on(turn: Turn) -> None:
    """What follows once nothing is awaited: another attempt, the keys, the sum, or nothing."""
    current = turn.memory.averaging.sum
    if current is None or turn.memory.state is not RoundState.SUMMING:
        return
    states = {asking.state for asking in current.teachers.values()}
    if opening.opens(turn, current):
        opening.combine(turn, current)
    elif states & set(AWAITED):
        return
    elif current.recalled:
        opening.give_up(turn, (*current.recalled, *opening.lost_of(current)))
    elif states & set(opening.LOST):
        _without_lost(turn, current)
    elif states == {AskingState.CLOSED}:
        opening.reveal(turn, current)


def _without_lost(turn: Turn, current: Sum) -> None:
    # Keys are asked for as soon as all answers are there, and whoever was asked for one may have
    # given it away, even if it never arrived.
    if all(isinstance(asking.reply, Answer) for asking in current.teachers.values()):
        opening.recover(turn, current)
        return
    averaging, sums = turn.memory.averaging, turn.settings.sums
    left = _left(current, 0 if sums is None else sums.fewest(sums.name))
    lost = tuple(name for name in current.teachers if name not in left)
    turn.set_averaging(replace(averaging, lost=(*averaging.lost, *lost)))
    if sums is None or len(left) < sums.fewest(sums.name):
        turn.ending = Event.ALONE, None
        return
    turn.memory = replace(turn.memory, state=ROUND.next(turn.memory.state, Event.LOST))
    ask(turn, current.attempt + 1, left)


def _left(current: Sum, fewest: int) -> tuple[str, ...]:
    """Who is asked next: all but the lost, of those whom everybody named that declined.

    Names of fewer than are enough count for nothing, so that one liar costs itself or one other. If
    all names together leave too few, those that named any are lost instead.
    """
    named = {
        name: set(asking.reply.senders)
        for name, asking in current.teachers.items()
        if isinstance(asking.reply, Decline) and len(asking.reply.senders) >= fewest
    }
    answered = {
        name for name, asking in current.teachers.items() if asking.state not in opening.LOST
    }
    together = (answered | set(named)).intersection(*named.values())
    chosen = together if len(together) >= fewest else answered
    return tuple(name for name in current.teachers if name in chosen)


def _current(turn: Turn, job: PrepareAsk) -> Sum | None:
    """The sum, if this attempt of it is still under way."""
    current = turn.memory.averaging.sum
    if turn.memory.state is not RoundState.SUMMING or current is None:
        return None
    return current if (job.round, job.attempt) == (turn.round, current.attempt) else None
