"""This participant as student of a sum: how it gets the answers of all its senders, and opens them.

    ask each sender -> all answers, closed: ask for the keys -> all keys: combine

An answer that is late costs its sender its place: the sum is asked for again without it, under
fresh masks, as long as enough are left and no key has been asked for. Whoever declines may name the
senders of a smaller sum that it would answer for: then the next attempt is over those. After keys
were asked for it is given up: senders that have given a key away answer for no other sum of this
round. Whoever gets no sum goes on with what it has, and the summary says so.
"""

from __future__ import annotations

from dataclasses import replace

from securefair.errors import RemoteProtocolError
from securefair.protocol.effects import SetDeadline
from securefair.protocol.jobs import Combine, PrepareAsk, Questions
from securefair.protocol.messages import Answer, Ask, Decline, Key, Reveal, name_of
from securefair.protocol.states import ASKING, ROUND, AskingState, Event, RoundState
from securefair.protocol.turn import Asking, Sum, Turn

AWAITED = (AskingState.WAITING, AskingState.ASKED, AskingState.REVEALING)
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


def on_reply(turn: Turn, name: str, message: Answer | Decline | Key) -> None:
    """An answer, a key, or that there is none; late ones pass, unasked ones are blamed."""
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
        case Decline():
            _on_decline(turn, name, asking, message)
    _go_on(turn)


def expire(turn: Turn) -> None:
    """A deadline: go on without the answers or keys that are not there."""
    current = turn.memory.averaging.sum
    if current is not None:
        for name, asking in current.teachers.items():
            if asking.state in (AskingState.ASKED, AskingState.REVEALING):
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
    if asking.state in (AskingState.ASKED, AskingState.REVEALING):
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
    if asking.state is AskingState.REVEALING:
        _set(turn, name, replace(asking, key=message))
        _move(turn, name, Event.KEY)


def _go_on(turn: Turn) -> None:
    """What follows once nothing is awaited: another attempt, the keys, the sum, or nothing."""
    current = turn.memory.averaging.sum
    if current is None or turn.memory.state is not RoundState.SUMMING:
        return
    states = {asking.state for asking in current.teachers.values()}
    if states & set(AWAITED):
        return
    if states & set(_LOST):
        _without_lost(turn, current)
    elif states == {AskingState.CLOSED}:
        for name in current.teachers:
            _move(turn, name, Event.REVEAL_SENT)
            turn.send(name, Reveal(turn.round, current.attempt))
        # Nothing can be asked again now: who was gone for a day costs no sum.
        seconds = turn.settings.round_seconds + turn.settings.setup_seconds
        turn.effects.append(SetDeadline(turn.round, seconds))
    else:
        turn.memory = replace(turn.memory, state=ROUND.next(turn.memory.state, Event.ALL_OPEN))
        turn.run(
            Combine(
                turn.round,
                current.attempt,
                tuple(current.teachers),
                {
                    name: asking.reply.payload
                    for name, asking in current.teachers.items()
                    if isinstance(asking.reply, Answer)
                },
                {
                    name: asking.key.key
                    for name, asking in current.teachers.items()
                    if asking.key is not None
                },
            )
        )


def _without_lost(turn: Turn, current: Sum) -> None:
    averaging, sums = turn.memory.averaging, turn.settings.sums
    left = _left(current, 0 if sums is None else sums.fewest(sums.name))
    lost = tuple(name for name in current.teachers if name not in left)
    turn.set_averaging(replace(averaging, lost=(*averaging.lost, *lost)))
    # Keys are asked for as soon as all answers are there, and whoever was asked for one may have
    # given it away, even if it never arrived.
    asked_for_keys = all(isinstance(asking.reply, Answer) for asking in current.teachers.values())
    if asked_for_keys or sums is None or len(left) < sums.fewest(sums.name):
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
