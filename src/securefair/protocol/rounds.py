"""How a round begins and ends: its deadline, its step, and the summary of it."""

from __future__ import annotations

from dataclasses import replace

from securefair.errors import LocalProtocolError
from securefair.protocol import admission, linking, opening, student, summing, teacher
from securefair.protocol.effects import Begin, Expired, RoundOver, RoundSummary, SetDeadline
from securefair.protocol.jobs import Step
from securefair.protocol.messages import Decline
from securefair.protocol.settings import MachineSettings
from securefair.protocol.states import (
    ROUND,
    AdmissionState,
    AskingState,
    Event,
    RoundState,
)
from securefair.protocol.turn import Memory, Turn


def begin(turn: Turn, event: Begin) -> None:
    """Begin a round, as student and as teacher."""
    _check_begin(turn, event)
    turn.memory = replace(
        turn.memory,
        round=event.round,
        state=ROUND.next(turn.memory.state, Event.BEGIN),
        coins=dict(event.coins),
        teacher_version=event.teacher_version,
        first=event.round if turn.round < 0 else turn.memory.first,
    )
    admission.renew_keys(turn, patients=event.renews)
    turn.effects.append(SetDeadline(event.round, turn.seconds))
    admission.begin(turn)
    linking.begin(turn)
    student.begin(turn)
    teacher.begin(turn)


def _check_begin(turn: Turn, event: Begin) -> None:
    memory, settings = turn.memory, turn.settings
    if event.round <= memory.round:
        raise LocalProtocolError(
            "rounds follow each other",
            where="Begin",
            found=event.round,
            expected=f">= {memory.round + 1}",
        )
    if event.teacher_version < memory.teacher_version:
        raise LocalProtocolError(
            "a teacher version must not fall",
            where="Begin",
            found=event.teacher_version,
            expected=f">= {memory.teacher_version}",
        )
    free = settings.forced(event.round) or settings.always_share
    if free and settings.sums is None:  # links are left to chance in every round
        return
    for peer in memory.peers:
        coin = event.coins.get(peer)
        if coin is None or not 0 <= coin < 1:
            raise LocalProtocolError(
                "a sharing coin is missing or out of range",
                where=f"Begin.coins[{peer}]",
                found="none" if coin is None else coin,
                expected="a number in [0, 1)",
            )


def expire(turn: Turn, event: Expired) -> None:
    """Go on without whoever has not answered."""
    if event.round > turn.round:
        raise LocalProtocolError(
            "the deadline of a round that has not begun",
            where="Expired",
            found=event.round,
            expected=f"at most {turn.round}",
        )
    if event.round < turn.round:
        return
    if turn.memory.state is RoundState.LINKING:
        linking.link(turn, late=True)
        return
    if turn.memory.state is RoundState.SUMMING:
        summing.expire(turn)
        return
    exchanging = turn.memory.state is RoundState.EXCHANGING
    turn.memory = replace(turn.memory, state=ROUND.next(turn.memory.state, Event.EXPIRED))
    if exchanging:
        student.expire(turn)
        _step(turn)


def ask_again(turn: Turn) -> None:
    """Repeat what this round's peers were asked and have not answered.

    A teacher lets a question be that it owes too many replies, and forgets those of a peer that its
    operator blocks. Repeated ones get the same reply, or are declined as stale.
    """
    for name in turn.memory.peers:
        student.ask_again(turn, name)
    if turn.memory.state is RoundState.SUMMING:
        opening.ask_again(turn)


def awaited(memory: Memory, settings: MachineSettings) -> tuple[str, ...]:
    """Peers that would still answer or offer in this round, and that a deadline would leave out.

    Not among them: who is away or refused, and neighbours that have gone on to offers of later
    rounds. None while only own work is waited for.
    """
    states = {name: peer.asking.state for name, peer in memory.peers.items()}
    if memory.state is RoundState.EXCHANGING:
        return tuple(name for name, state in states.items() if state in student.UNSETTLED)
    if settings.sums is None or memory.state not in (RoundState.LINKING, RoundState.SUMMING):
        return ()
    averaging, current = memory.averaging, memory.averaging.sum
    heard = averaging.offers.get(memory.round, {})
    asked = {} if current is None else {n: one.state for n, one in current.teachers.items()}
    return tuple(
        name
        for name in settings.sums.neighbours
        if (name not in heard or asked.get(name) in summing.AWAITED)
        and not linking.went_on(averaging, name, memory.round)
        and not memory.peers[name].away
        and memory.peers[name].introduction.state is not AdmissionState.REFUSED
    )


def settle(turn: Turn) -> None:
    """Step as soon as nothing is awaited and nothing unfinished."""
    if turn.memory.state is RoundState.EXCHANGING and not student.unsettled(turn):
        turn.memory = replace(turn.memory, state=ROUND.next(turn.memory.state, Event.SETTLED))
        _step(turn)
    if turn.ending is not None:
        how, error = turn.ending
        end(turn, how, error)


def _step(turn: Turn) -> None:
    if turn.settings.sums is not None:
        linking.adapt(turn, turn.settings.sums)
        return
    peers = turn.memory.peers
    opened = _in_state(turn, AskingState.OPENED)
    turn.run(Step(turn.round, opened, tuple(peers[name].reputation for name in opened)))


def end(turn: Turn, how: Event, step_error: str | None, *, sum_error: str | None = None) -> None:
    """The round is over: say what happened in it."""
    memory = turn.memory
    turn.memory = replace(memory, state=ROUND.next(memory.state, how))
    summary = RoundSummary(
        forced=turn.settings.forced(turn.round),
        asked=tuple(
            name
            for name, peer in memory.peers.items()
            if peer.asking.state is not AskingState.NOT_ASKED
        ),
        opened=_in_state(turn, AskingState.OPENED),
        declined={
            name: peer.asking.reply.reason
            for name, peer in memory.peers.items()
            if isinstance(peer.asking.reply, Decline)
        },
        failed=_in_state(turn, AskingState.FAILED),
        missed=_in_state(turn, AskingState.MISSED),
        reputations=reputations(memory),
        step_error=step_error or memory.averaging.problem,
        offered=tuple(
            name for name, shares in memory.averaging.offers.get(turn.round, {}).items() if shares
        ),
        combined=memory.averaging.combined,
        lost=memory.averaging.lost,
        sum_declined={
            name: reason
            for name, reason in memory.averaging.declined.items()
            if name not in memory.averaging.combined
        },
        sum_error=sum_error,
        doubted=tuple(name for name, peer in memory.peers.items() if peer.asking.doubtful),
    )
    turn.effects.append(RoundOver(turn.round, summary))


def _in_state(turn: Turn, state: AskingState) -> tuple[str, ...]:
    return tuple(name for name, peer in turn.memory.peers.items() if peer.asking.state is state)


def reputations(memory: Memory) -> dict[str, float | None]:
    """By peer; None before its first scored answer."""
    return {name: peer.reputation for name, peer in memory.peers.items()}
