"""This participant as student of a sum of which all parts are there: their keys, and the sum.

If so few keys do not come that the others can stand in for them (`SumSettings.spare`), these are
asked for their parts of them. There is no other attempt once a key was asked for.
"""

from __future__ import annotations

from dataclasses import replace

from securefair.errors import RemoteProtocolError
from securefair.protocol.effects import SetDeadline
from securefair.protocol.jobs import Combine
from securefair.protocol.messages import SALT_BYTES, Answer, Key, Parts, Recover, Reveal
from securefair.protocol.states import ROUND, AskingState, Event
from securefair.protocol.turn import Asking, Sum, Turn

LOST = (AskingState.DECLINED, AskingState.MISSED)
"""Of a sender that sends nothing more of what it was asked for."""


def reveal(turn: Turn, current: Sum) -> None:
    """All parts are there: ask for their keys."""
    for name in current.teachers:
        turn.move_part(name, Event.REVEAL_SENT)
        turn.send(name, Reveal(turn.round, current.attempt))
    _await_long(turn)


def on_key(turn: Turn, name: str, asking: Asking, message: Key) -> None:
    """A key, in time or late; one that nobody asked for is blamed."""
    early = asking.state in (AskingState.ASKED, AskingState.CLOSED)
    if early or (asking.key is not None and asking.key != message):
        raise RemoteProtocolError(
            "sent a key that it was not asked for",
            culprit=name,
            where=f"round {message.round}, attempt {message.attempt}",
        )
    if asking.state in (AskingState.REVEALING, AskingState.RECALLED):
        turn.set_part(name, replace(asking, key=message))
        turn.move_part(name, Event.KEY)


def on_parts(turn: Turn, name: str, asking: Asking, message: Parts) -> None:
    """Parts of the keys that are recalled; others are blamed."""
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
        turn.set_part(name, replace(asking, parts=message))
        turn.move_part(name, Event.PARTS)


def opens(turn: Turn, current: Sum) -> bool:
    """Whether all keys are there, or enough parts of those that are not."""
    teachers = current.teachers.values()
    if all(asking.key is not None for asking in teachers):
        return True
    helping = sum(asking.parts is not None for asking in teachers)
    return bool(current.recalled) and helping >= len(teachers) - _spare(turn, current)


def _spare(turn: Turn, current: Sum) -> int:
    sums = turn.settings.sums
    return 0 if sums is None else sums.spare(sums.name, tuple(current.teachers))


def combine(turn: Turn, current: Sum) -> None:
    """Open the sum, with keys and with parts of those that are lost."""
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


def recover(turn: Turn, current: Sum) -> None:
    """Ask those whose keys are there for parts of the others', if so few are missing."""
    lost = lost_of(current)
    if len(lost) > _spare(turn, current):
        give_up(turn, lost)
        return
    recalling = replace(current, recalled=lost)
    turn.set_sum(recalling)
    for name in current.teachers:
        if name in lost:
            turn.move_part(name, Event.RECALLED)
        else:
            turn.move_part(name, Event.RECOVER_SENT)
            turn.send(name, _recover(turn, recalling))
    _await_long(turn)


def ask_again(turn: Turn) -> None:
    """Repeat requests for keys, and for parts of them; no other attempt comes after these."""
    current = turn.memory.averaging.sum
    if current is None:
        return
    for name, asking in current.teachers.items():
        if asking.state is AskingState.REVEALING:
            turn.send(name, Reveal(turn.round, current.attempt))
        elif asking.state is AskingState.RECOVERING:
            turn.send(name, _recover(turn, current))


def _recover(turn: Turn, current: Sum) -> Recover:
    lost = current.recalled
    salts = tuple(_salt(current.teachers[name]) for name in lost)
    return Recover(turn.round, current.attempt, lost, salts)


def _salt(asking: Asking) -> bytes:
    """The end of an answer. Zeros stand for what one lacks that is too short to be opened."""
    payload = asking.reply.payload if isinstance(asking.reply, Answer) else b""
    return payload[-SALT_BYTES:].rjust(SALT_BYTES, b"\0")


def _await_long(turn: Turn) -> None:
    """Nothing can be asked again now: who was gone for a day costs no sum."""
    seconds = turn.settings.round_seconds + turn.settings.setup_seconds
    turn.effects.append(SetDeadline(turn.round, seconds))


def give_up(turn: Turn, lost: tuple[str, ...]) -> None:
    """End the round without a sum, for want of these senders."""
    averaging = turn.memory.averaging
    turn.set_averaging(replace(averaging, lost=(*averaging.lost, *lost)))
    turn.ending = Event.ALONE, None


def lost_of(current: Sum) -> tuple[str, ...]:
    """Senders that send nothing more of what they were asked for."""
    return tuple(name for name, asking in current.teachers.items() if asking.state in LOST)
