"""This participant as teacher of a sum: when it gives its key, and parts of those of others.

A key is given once a student and round, for the last attempt, and none is made after it. Parts of
the keys of others are given for that same attempt and after the own key, and only where all that
were agreed on are in the sum (`SumSettings.spare`). So whoever helps to open one sum helps to open
no other.
"""

from __future__ import annotations

from dataclasses import replace

from securefair.errors import RemoteProtocolError
from securefair.protocol.jobs import ReleaseKey, ReleaseParts
from securefair.protocol.messages import (
    Decline,
    DeclineReason,
    Key,
    Parts,
    Recover,
    Reveal,
)
from securefair.protocol.states import SERVING, Event, ServingState
from securefair.protocol.turn import Serving, Turn


def on_reveal(turn: Turn, name: str, message: Reveal) -> None:
    """Give the key of the last attempt away, once; again the same to whoever asks again."""
    if _is_stale(turn, name, message):
        return
    serving = _last_attempt(turn, name, message)
    closed = serving is not None and serving.state in (ServingState.ANSWERED, ServingState.REVEALED)
    if serving is None or not closed:
        raise RemoteProtocolError(
            "asked for a key that does not exist",
            culprit=name,
            where=f"round {message.round}, attempt {message.attempt}",
            expected="the last attempt, after its answer was sent",
        )
    if serving.key is not None:
        turn.send(name, serving.key)
    elif serving.state is ServingState.ANSWERED:
        state = SERVING.next(serving.state, Event.REVEALED)
        turn.set_serving(name, replace(serving, state=state))
        turn.run(ReleaseKey(name, message.round, message.attempt, serving.asked.senders))


def on_key_released(turn: Turn, job: ReleaseKey, key: bytes) -> None:
    """Send the key, and keep it for repeated requests."""
    serving = turn.peer(job.peer).serving.get((job.round, True))
    if serving is not None:
        message = Key(job.round, job.attempt, key)
        turn.set_serving(job.peer, replace(serving, key=message))
        turn.send(job.peer, message)


def on_recover(turn: Turn, name: str, message: Recover) -> None:
    """Give parts of the keys of some others, once; again the same to whoever asks again."""
    if _is_stale(turn, name, message):
        return
    serving = _last_attempt(turn, name, message)
    if serving is None or not isinstance(serving.key, Key):
        raise RemoteProtocolError(
            "asked for parts of keys before the own one was given",
            culprit=name,
            where=f"round {message.round}, attempt {message.attempt}",
        )
    _check_lost(turn, name, serving, message)
    if serving.parts is not None:
        turn.send(name, serving.parts)
    elif serving.recalled is None:
        turn.set_serving(name, replace(serving, recalled=message))
        asked, lost, salts = serving.asked, message.lost, message.salts
        turn.run(ReleaseParts(name, asked.round, asked.attempt, asked.senders, lost, salts))


def on_parts_released(turn: Turn, job: ReleaseParts, parts: tuple[bytes, ...]) -> None:
    """Send them, and keep them for repeated requests."""
    serving = turn.peer(job.peer).serving.get((job.round, True))
    if serving is not None:
        message = Parts(job.round, job.attempt, parts)
        turn.set_serving(job.peer, replace(serving, parts=message))
        turn.send(job.peer, message)


def on_release_failed(turn: Turn, job: ReleaseKey | ReleaseParts) -> None:
    """Without its key the answer is worth nothing: say so, and again to whoever asks again."""
    serving = turn.peer(job.peer).serving.get((job.round, True))
    message = Decline(job.round, job.attempt, DeclineReason.FAILED, summed=True)
    if serving is not None and isinstance(job, ReleaseKey):
        turn.set_serving(job.peer, replace(serving, key=message))
    elif serving is not None:
        turn.set_serving(job.peer, replace(serving, parts=message))
    turn.send(job.peer, message)


def _is_stale(turn: Turn, name: str, message: Reveal | Recover) -> bool:
    """Whether it is about a round of which nothing is kept; then it is declined."""
    stale = message.round < turn.round - turn.settings.keep_rounds
    if stale:
        reason = DeclineReason.STALE
        turn.send(name, Decline(message.round, message.attempt, reason, summed=True))
    return stale


def _last_attempt(turn: Turn, name: str, message: Reveal | Recover) -> Serving | None:
    serving = turn.peer(name).serving.get((message.round, True))
    return None if serving is None or serving.asked.attempt != message.attempt else serving


def _check_lost(turn: Turn, name: str, serving: Serving, message: Recover) -> None:
    sums, senders, lost = turn.settings.sums, serving.asked.senders, message.lost
    spare = 0 if sums is None else sums.spare(name, senders)
    own = "" if sums is None else sums.name
    listed = list(lost) == sorted(set(lost)) and set(lost) <= set(senders) - {own}
    salted = len(message.salts) == len(lost)
    first = serving.recalled or message
    if not (0 < len(lost) <= spare and listed and salted and message == first):
        raise RemoteProtocolError(
            "asked for parts of other keys than a sum may lose",
            culprit=name,
            where=f"round {message.round}, attempt {message.attempt}",
            found=", ".join(lost) or "none",
            expected=f"at most {spare} of {', '.join(senders)} in ascending order, not {own}; each "
            "with the end of its answer, and always the same",
        )
