"""This participant as teacher: which questions it answers, and with what.

One exchange per student and round, and where models are averaged one more for a sum. The decision
is taken once, on the first question; a repeated question gets the same reply, byte for byte,
without computing it again.

Sums that differ by one teacher would show that teacher's answer. So who is in a sum was agreed on
(`SumSettings.senders`). A later attempt at a sum must lose senders, never gain any, and none
follows once a key was given away (`keys`).
"""

from __future__ import annotations

from dataclasses import replace

from securefair.errors import LedgerError, RemoteProtocolError
from securefair.protocol import linking
from securefair.protocol.effects import AskedAgain, Blame
from securefair.protocol.flows import REPLY_BITS
from securefair.protocol.jobs import AnswerAsk, Answered
from securefair.protocol.messages import Answer, Ask, Decline, DeclineReason
from securefair.protocol.states import SERVING, AdmissionState, Event, ServingState
from securefair.protocol.turn import Serving, Turn

_DECIDED = (AdmissionState.ADMITTED, AdmissionState.REFUSED)


def begin(turn: Turn) -> None:
    """Turn to the round just begun: forget old replies, answer the questions that came early."""
    for name in turn.memory.peers:
        _decline_overtaken(turn, name)
        peer = turn.peer(name)
        oldest = turn.round - turn.settings.keep_rounds
        serving = {
            (of, summed): exchange
            for (of, summed), exchange in peer.serving.items()
            if of >= oldest or (exchange.state is ServingState.COMPUTING and not summed)
        }
        turn.set_peer(name, replace(peer, serving=serving))
    serve_kept(turn)


def on_ask(turn: Turn, name: str, ask: Ask) -> None:
    """Repeat, decline, keep or decide; a second question of a round is declined, and blamed unless
    the student began anew since the first."""
    known = turn.peer(name).serving.get((ask.round, ask.summed))
    stale = ask.round < turn.round - (turn.settings.keep_rounds if ask.summed else 0)
    if not ask.summed:
        _check_single(turn, name, ask)
    elif not (known is None and stale):
        _check_sum(turn, name, ask)
    if known is not None and known.asked == ask:
        turn.set_serving(name, replace(known, forgotten=False))
        if known.reply is not None:
            turn.send(name, known.reply)
        return
    # A question that is only kept was neither answered nor counted: the later one takes its place.
    kept = known is not None and known.state is ServingState.KEPT and not ask.summed
    if known is not None and not kept and (problem := _second_question(known, ask)):
        # A student whose store was put back asks again, and must not wait for an answer.
        turn.send(name, Decline(ask.round, ask.attempt, DeclineReason.STALE, ask.summed))
        reason = str(_not_as_before(problem, name, known.asked, ask))
        again = known.forgotten
        turn.effects.append(AskedAgain(name, reason) if again else Blame(name, reason))
        return
    if known is None and stale:
        turn.send(name, Decline(ask.round, ask.attempt, DeclineReason.STALE, ask.summed))
        return
    serving = Serving(ask, SERVING.initial if known is None else known.state)
    if ask.round > turn.round:
        _keep_ahead(turn, name, serving)
    elif _servable(turn, name, ask):
        _decide(turn, name, serving)
    else:
        _keep(turn, name, serving)
    sums = turn.settings.sums
    if known is None and ask.summed and sums is not None and sums.averages:
        # A later attempt replaces this one; of answers the host counts what they disclose.
        turn.memory = replace(turn.memory, ledger=turn.memory.ledger.with_sum(name))


def serve_kept(turn: Turn) -> None:
    """Decide on the questions that had to wait for this round, for keys or for other senders.

    Hospitals begin at different hours: whoever asks for a sum may know senders that this
    participant has not heard of yet.
    """
    for name in turn.memory.peers:
        for serving in turn.peer(name).serving.values():
            kept = serving.state is ServingState.KEPT and serving.asked.round <= turn.round
            if kept and _servable(turn, name, serving.asked):
                _decide(turn, name, serving)


def refuse_kept(turn: Turn, name: str) -> None:
    """Decline what waits for an import that has failed."""
    for serving in turn.peer(name).serving.values():
        if serving.state is ServingState.KEPT:
            _decline(turn, name, serving, Event.REFUSE, DeclineReason.FAILED)


def on_answered(turn: Turn, job: AnswerAsk, answered: Answered) -> None:
    """Send the answer, unless the student has gone on to another attempt; keep it to repeat it."""
    serving = _under_way(turn, job)
    if serving is None:
        return
    if answered.declined is not None:
        _decline(turn, job.peer, serving, Event.COMPUTE_FAILED, answered.declined)
        return
    reply = Answer(job.round, job.attempt, answered.payload, serving.asked.summed)
    state = SERVING.next(serving.state, Event.COMPUTED)
    turn.set_serving(job.peer, replace(serving, state=state, reply=reply))
    if not serving.forgotten:  # else it would get what it does not know to have asked for
        turn.send(job.peer, reply)


def on_answer_failed(turn: Turn, job: AnswerAsk, senders: tuple[str, ...]) -> None:
    """Decline instead, so that the student need not wait; name those of a sum that is possible."""
    serving = _under_way(turn, job)
    if serving is None:
        return
    learnt = turn.settings.needs_keys and not serving.asked.summed
    if learnt and turn.settings.free(job.round):
        turn.tell(job.peer, REPLY_BITS)
    _decline(turn, job.peer, serving, Event.COMPUTE_FAILED, DeclineReason.FAILED, senders)


def _check_single(turn: Turn, name: str, ask: Ask) -> None:
    settings = turn.settings
    if not settings.answers(name, ask.round):
        summing = settings.sums is not None
        raise RemoteProtocolError(
            "asks for a single answer where none is due"
            if summing
            else "asks who does not teach it",
            culprit=name,
            where="ask.round",
            found=ask.round,
            expected="a neighbour, in a round that weighs neighbours anew"
            if summing
            else "questions to those who only teach",
        )
    if bool(ask.payload) != settings.needs_question:
        raise RemoteProtocolError(
            "a question does not fit the release",
            culprit=name,
            where="ask.payload",
            found=f"{len(ask.payload)} bytes",
            expected="some" if settings.needs_question else "0 bytes",
        )


def _check_sum(turn: Turn, name: str, ask: Ask) -> None:
    """Who is in a sum was agreed on: a student that chose would take the smallest sets it could.

    In them it would have enough senders on its side to know what is left: one answer.
    """
    sums, senders = turn.settings.sums, ask.senders
    where = f"round {ask.round}, attempt {ask.attempt}"
    if sums is None:
        raise RemoteProtocolError(
            "asks for a sum where every answer is opened by itself", culprit=name, where=where
        )
    offered = turn.memory.averaging.offered.get(ask.round, {})
    if sums.averages and not offered.get(name):
        raise RemoteProtocolError(
            "asks for a model that it was not offered", culprit=name, where=where
        )
    agreed = sums.senders.get(name, ())
    if (
        len(senders) < sums.fewest(name)
        or list(senders) != sorted(set(senders))
        or sums.name not in senders
        or not set(senders) <= set(agreed)
    ):
        raise RemoteProtocolError(
            "asks for a sum over other senders than agreed",
            culprit=name,
            where=where,
            found=", ".join(senders),
            expected=f"at least {sums.fewest(name)} of {', '.join(agreed)} in ascending order, "
            f"{sums.name} among them",
        )


def _second_question(known: Serving, ask: Ask) -> str:
    """What is wrong with another question of a round; "" for a later attempt at a sum."""
    before = known.asked
    if not ask.summed:
        return "sent two different questions for one round"
    if known.state is ServingState.REVEALED:
        return "asks for another sum after a key was given away"
    if ask.attempt <= before.attempt:
        return "asks for two sums in one attempt"
    if not set(ask.senders) < set(before.senders):
        return "repeats a sum without losing a sender"
    return ""


def _not_as_before(problem: str, name: str, before: Ask, ask: Ask) -> RemoteProtocolError:
    return RemoteProtocolError(
        problem,
        culprit=name,
        where=f"round {ask.round}",
        found=f"attempt {ask.attempt} over {', '.join(ask.senders) or 'nobody'}",
        expected=f"attempt {before.attempt} over {', '.join(before.senders) or 'nobody'}, as before"
        + (", or fewer later" if ask.summed else ""),
    )


def _servable(turn: Turn, name: str, ask: Ask) -> bool:
    """Whether all keys that an answer needs are imported; asks for those that were lost."""
    if ask.summed:  # of the other senders, or it is decided that theirs cannot be used
        others = [sender for sender in ask.senders if sender in turn.memory.peers]
        return all(turn.peer(other).introduction.state in _DECIDED for other in others)
    introduction = turn.peer(name).introduction
    if ask.key_epoch > introduction.key_epoch:
        turn.greet(name)
        return False
    return introduction.state is AdmissionState.ADMITTED


def _keep_ahead(turn: Turn, name: str, serving: Serving) -> None:
    """Keep the question of a later round until it begins; one a student, the latest.

    A student may be ahead by any number of rounds, since it did not wait for this participant, or
    did so in vain. Whoever asks about a later round has ended the earlier ones.
    """
    peer = turn.peer(name)
    if max((of for of, _ in peer.serving), default=-1) > serving.asked.round:
        return
    held = {at: one for at, one in peer.serving.items() if at[0] <= turn.round}
    turn.set_peer(name, replace(peer, serving=held))
    _keep(turn, name, serving)


def _keep(turn: Turn, name: str, serving: Serving) -> None:
    state = SERVING.next(serving.state, Event.KEEP)
    turn.set_serving(name, replace(serving, state=state))


def _decide(turn: Turn, name: str, serving: Serving) -> None:
    """Share or decline, by the round, the coin and the ledger; of a sum all that was decided."""
    if not serving.asked.summed:
        if not turn.settings.free(turn.round) or linking.untold(turn, name):
            turn.tell(name, REPLY_BITS)
        if linking.says_spent(turn, name):
            _decline(turn, name, serving, Event.REFUSE, DeclineReason.DISCLOSURE_LIMIT)
            return
        if not _shares(turn, name):
            _decline(turn, name, serving, Event.REFUSE, DeclineReason.NOT_SHARING)
            return
        if turn.settings.needs_keys and not _charged(turn, name, serving.asked):
            _decline(turn, name, serving, Event.REFUSE, DeclineReason.DISCLOSURE_LIMIT)
            return
    elif usable := _usable(turn, serving.asked):
        _decline(turn, name, serving, Event.REFUSE, DeclineReason.FAILED, usable)
        return
    state = SERVING.next(serving.state, Event.SHARE)
    turn.set_serving(name, replace(serving, state=state))
    asked = serving.asked
    turn.run(AnswerAsk(name, asked.round, asked.attempt, asked.payload, asked.senders))


def _usable(turn: Turn, ask: Ask) -> tuple[str, ...]:
    """The senders of a sum without those whose keys are refused; nobody where none is refused.

    Whoever sends one teacher a key that cannot be used is to lose its own place, not that one's.
    """
    refused = {
        sender
        for sender in ask.senders
        if sender in turn.memory.peers
        and turn.peer(sender).introduction.state is AdmissionState.REFUSED
    }
    return tuple(one for one in ask.senders if one not in refused) if refused else ()


def _charged(turn: Turn, name: str, ask: Ask) -> bool:
    """Charge an answer before it is computed; False if it would exceed what may be disclosed."""
    introduction = turn.peer(name).introduction
    # Whether features under new keys are the old ones cannot be seen: they count anew.
    basis = f"features {introduction.data_epoch}, keys {introduction.key_epoch}"
    if turn.settings.needs_question:
        basis += f", predictions {ask.round}"
    try:
        ledger = turn.memory.ledger.charge(
            name,
            numbers=turn.settings.disclosure.numbers_per_answer(introduction.samples),
            version=turn.memory.teacher_version,
            basis=basis,
            samples=introduction.samples,
        )
    except LedgerError:
        return False
    turn.memory = replace(turn.memory, ledger=ledger)
    return True


def _shares(turn: Turn, name: str) -> bool:
    """The sharing decision: this participant's own reputation of the student against the coin.

    Reputations change only in forced rounds, where the coin is not asked, so the decision does
    not depend on when in the round the question arrives.
    """
    if not linking.linkable(turn, name):
        return False
    if turn.settings.free(turn.round):
        return True
    # As in the reference: reputation 0 never shares, whatever the coin.
    reputation = turn.peer(name).reputation
    return reputation is not None and 0 < reputation >= turn.memory.coins[name]


def _decline(
    turn: Turn,
    name: str,
    serving: Serving,
    event: Event,
    reason: DeclineReason,
    senders: tuple[str, ...] = (),
) -> None:
    asked, sums = serving.asked, turn.settings.sums
    if sums is None or len(senders) < sums.fewest(name):
        senders = ()
    decline = Decline(asked.round, asked.attempt, reason, asked.summed, senders)
    state = SERVING.next(serving.state, event)
    turn.set_serving(name, replace(serving, state=state, reply=decline))
    turn.send(name, decline)


def _decline_overtaken(turn: Turn, name: str) -> None:
    """Decline what waited for an import during a round that is now over."""
    for serving in turn.peer(name).serving.values():
        overtaken = serving.asked.round < turn.round and not serving.asked.summed
        if overtaken and serving.state is ServingState.KEPT:
            _decline(turn, name, serving, Event.REFUSE, DeclineReason.STALE)


def _under_way(turn: Turn, job: AnswerAsk) -> Serving | None:
    """The question that the job was to answer, if that answer is still wanted."""
    serving = turn.peer(job.peer).serving.get((job.round, bool(job.senders)))
    wanted = serving is not None and serving.asked.attempt == job.attempt
    return serving if wanted else None
