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
from securefair.protocol.effects import SetDeadline
from securefair.protocol.jobs import Combine, PrepareAsk, Questions
from securefair.protocol.messages import (
    Answer,
    Ask,
    Decline,
    Key,
    Parts,
    Recover,
    Reveal,
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
_LOST = (AskingState.DECLINED, AskingState.MISSED)


def ask(turn: Turn, attempt: int, senders: tuple[str, ...]) -> None:
    """Begin an attempt; until its questions are made nobody in it has been asked for anything."""
    chosen = Asking(ASKING.next(ASKING.initial, Event.CHOSEN))
    _set_sum(turn, Sum(attempt, dict.fromkeys(senders, chosen)))
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
        _move(turn, name, Event.ASK_SENT)
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
            _on_key(turn, name, asking, message)
        case Parts():
            _on_parts(turn, name, asking, message)
        case Decline():
            _on_decline(turn, name, asking, message)
    _go_on(turn)


def expire(turn: Turn) -> None:
    """A deadline: go on without the answers, keys or parts that are not there."""
    current = turn.memory.averaging.sum
    if current is not None:
        for name, asking in current.teachers.items():
            if asking.state in _EXPIRING:
                _move(turn, name, Event.EXPIRED)
        _go_on(turn)


def give_up(turn: Turn, name: str) -> None:
    """A sender is away, and will not send what it was asked for."""
    current = turn.memory.averaging.sum
    asking = None if current is None else current.teachers.get(name)
    if turn.memory.state is RoundState.SUMMING and asking and asking.state in _EXPIRING:
        _move(turn, name, Event.EXPIRED)
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
        _set(turn, name, replace(asking, reply=message))
        _move(turn, name, Event.ANSWERED_CLOSED)


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
            _set(turn, name, replace(asking, reply=message))
        averaging = turn.memory.averaging
        said = {**averaging.declined, name: message.reason}
        turn.set_averaging(replace(averaging, declined=said))
        _move(turn, name, Event.DECLINED)


def _on_key(turn: Turn, name: str, asking: Asking, message: Key) -> None:
    early = asking.state in (AskingState.ASKED, AskingState.CLOSED)
    if early or (asking.key is not None and asking.key != message):
        raise RemoteProtocolError(
            "sent a key that it was not asked for",
            culprit=name,
            where=f"round {message.round}, attempt {message.attempt}",
        )
    if asking.state in (AskingState.REVEALING, AskingState.RECALLED):
        _set(turn, name, replace(asking, key=message))
        _move(turn, name, Event.KEY)


def _on_parts(turn: Turn, name: str, asking: Asking, message: Parts) -> None:
    current = turn.memory.averaging.sum
    recalled = () if current is None else current.recalled
    known = asking.parts is None or asking.parts == message
    if name in recalled or len(message.parts) != len(recalled) or not known:
        raise RemoteProtocolError(
            "sent parts of keys that it was not asked for",
            culprit=name,
            where=f"round {message.round}, attempt {message.attempt}",
            found=len(message.parts),
            expected=", ".join(recalled) or "none",
        )
    if asking.state is AskingState.RECOVERING:
        _set(turn, name, replace(asking, parts=message))
        _move(turn, name, Event.PARTS)


def _go_on(turn: Turn) -> None:
    """What follows once nothing is awaited: another attempt, the keys, the sum, or nothing."""
    current = turn.memory.averaging.sum
    if current is None or turn.memory.state is not RoundState.SUMMING:
        return
    states = {asking.state for asking in current.teachers.values()}
    if _opens(turn, current):
        _combine(turn, current)
    elif states & set(AWAITED):
        return
    elif current.recalled:
        _give_up(turn, (*current.recalled, *_lost_of(current)))
    elif states & set(_LOST):
        _without_lost(turn, current)
    elif states == {AskingState.CLOSED}:
        for name in current.teachers:
            _move(turn, name, Event.REVEAL_SENT)
            turn.send(name, Reveal(turn.round, current.attempt))
        _await_long(turn)


def _await_long(turn: Turn) -> None:
    """Nothing can be asked again now: who was gone for a day costs no sum."""
    seconds = turn.settings.round_seconds + turn.settings.setup_seconds
    turn.effects.append(SetDeadline(turn.round, seconds))


def _opens(turn: Turn, current: Sum) -> bool:
    """Whether all keys are there, or enough parts of those that are not."""
    teachers = current.teachers.values()
    if all(asking.key is not None for asking in teachers):
        return True
    helping = sum(asking.parts is not None for asking in teachers)
    return bool(current.recalled) and helping >= len(teachers) - _spare(turn, current)


def _spare(turn: Turn, current: Sum) -> int:
    sums = turn.settings.sums
    return 0 if sums is None else sums.spare(sums.name, tuple(current.teachers))


def _combine(turn: Turn, current: Sum) -> None:
    teachers = current.teachers
    lost = [name for name in current.recalled if teachers[name].key is None]
    turn.memory = replace(turn.memory, state=ROUND.next(turn.memory.state, Event.ALL_OPEN))
    turn.run(
        Combine(
            turn.round,
            current.attempt,
            tuple(teachers),
            {
                name: asking.reply.payload
                for name, asking in teachers.items()
                if isinstance(asking.reply, Answer)
            },
            {name: asking.key.key for name, asking in teachers.items() if asking.key is not None},
            {
                name: {
                    other: asking.parts.parts[current.recalled.index(name)]
                    for other, asking in teachers.items()
                    if asking.parts is not None
                }
                for name in lost
            },
        )
    )


def _recover(turn: Turn, current: Sum) -> None:
    """Ask those whose keys are there for parts of the others', if so few are missing."""
    lost = _lost_of(current)
    if len(lost) > _spare(turn, current):
        _give_up(turn, lost)
        return
    _set_sum(turn, replace(current, recalled=lost))
    for name in current.teachers:
        if name in lost:
            _move(turn, name, Event.RECALLED)
        else:
            _move(turn, name, Event.RECOVER_SENT)
            turn.send(name, Recover(turn.round, current.attempt, lost))
    _await_long(turn)


def _give_up(turn: Turn, lost: tuple[str, ...]) -> None:
    averaging = turn.memory.averaging
    turn.set_averaging(replace(averaging, lost=(*averaging.lost, *lost)))
    turn.ending = Event.ALONE, None


def _lost_of(current: Sum) -> tuple[str, ...]:
    return tuple(name for name, asking in current.teachers.items() if asking.state in _LOST)


def _without_lost(turn: Turn, current: Sum) -> None:
    # Keys are asked for as soon as all answers are there, and whoever was asked for one may have
    # given it away, even if it never arrived.
    if all(isinstance(asking.reply, Answer) for asking in current.teachers.values()):
        _recover(turn, current)
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
    answered = {name for name, asking in current.teachers.items() if asking.state not in _LOST}
    together = (answered | set(named)).intersection(*named.values())
    chosen = together if len(together) >= fewest else answered
    return tuple(name for name in current.teachers if name in chosen)


def _current(turn: Turn, job: PrepareAsk) -> Sum | None:
    """The sum, if this attempt of it is still under way."""
    current = turn.memory.averaging.sum
    if turn.memory.state is not RoundState.SUMMING or current is None:
        return None
    return current if (job.round, job.attempt) == (turn.round, current.attempt) else None


def _move(turn: Turn, name: str, event: Event) -> None:
    current = turn.memory.averaging.sum
    if current is not None:
        asking = current.teachers[name]
        _set(turn, name, replace(asking, state=ASKING.next(asking.state, event)))


def _set(turn: Turn, name: str, asking: Asking) -> None:
    current = turn.memory.averaging.sum
    if current is not None:
        _set_sum(turn, replace(current, teachers={**current.teachers, name: asking}))


def _set_sum(turn: Turn, current: Sum) -> None:
    turn.set_averaging(replace(turn.memory.averaging, sum=current))
