"""This participant as sender: its share of the sums of those that it shares its model with.

The decision is taken once a round and receiver, by the own weight of that receiver against the
coin. A share is made at most once for each attempt; a repeated request gets the same bytes. A later
attempt must lose senders, never gain any, and none follows once a key was given away: two sums
that differ by one sender would show that sender's model.
"""

from __future__ import annotations

from dataclasses import replace

from securefair.errors import LocalProtocolError, RemoteProtocolError
from securefair.protocol import receiving
from securefair.protocol.flows import OFFER_BITS
from securefair.protocol.jobs import Adapt, Adapted, MakeShare, ReleaseKey
from securefair.protocol.ledger import EVERY_OFFER
from securefair.protocol.messages import (
    DeclineReason,
    Refusal,
    Share,
    ShareKey,
    ShareRequest,
    ShareReveal,
)
from securefair.protocol.states import (
    ROUND,
    SENDING,
    AdmissionState,
    AskingState,
    Event,
    SendingState,
)
from securefair.protocol.turn import Sending, Turn


def adapt(turn: Turn) -> None:
    """Every alignment is settled: take the local steps, and weigh the neighbours that answered."""
    opened = tuple(
        name for name, peer in turn.memory.peers.items() if peer.asking.state is AskingState.OPENED
    )
    reputations = tuple(turn.peer(name).reputation for name in opened)
    turn.run(Adapt(turn.round, opened, reputations))


def on_adapted(turn: Turn, job: Adapt, adapted: Adapted) -> None:
    """Decide who gets the model of this round, and say so."""
    probabilities = adapted.probabilities
    neighbours = receiving.gossip_of(turn).neighbours
    if set(probabilities) != set(neighbours):
        raise LocalProtocolError(
            "every neighbour needs a probability",
            where=f"Adapted of round {job.round}",
            found=sorted(probabilities),
            expected=sorted(neighbours),
        )
    averaging = replace(turn.memory.averaging, problem=adapted.problem)
    receiving.set_averaging(turn, averaging)
    coins = turn.memory.coins
    shares = {
        name: 0 < probabilities[name] >= coins[name] and _sums_left(turn, name)
        for name in neighbours
    }
    for name, shared in shares.items():
        if receiving.gossip_of(turn).aligns and _sums_left(turn, name):
            # The best aligned neighbour sets the scale, so that an offer tells of all of them.
            turn.tell(name, OFFER_BITS)
        if shared:
            turn.memory = replace(turn.memory, ledger=turn.memory.ledger.with_offer(name))
    turn.memory = replace(turn.memory, state=ROUND.next(turn.memory.state, Event.ADAPTED))
    receiving.offer(turn, shares)


def on_share_request(turn: Turn, name: str, message: ShareRequest) -> None:
    """Repeat, refuse or make this participant's share."""
    _check_due(turn, name, message.round)
    if message.round < turn.round - turn.settings.keep_rounds:
        turn.send(name, Refusal(message.round, message.attempt, DeclineReason.STALE))
        return
    _check_request(turn, name, message)
    known = turn.memory.averaging.sending.get((name, message.round))
    if known is not None and message == known.asked:
        if known.reply is not None:
            turn.send(name, known.reply)
        return
    if known is not None:
        _check_later_attempt(name, known, message)
    before = SENDING.initial if known is None else known.state
    event = Event.SHARE_REQUEST if _known_to(turn, message) else Event.SHARE_REQUEST_EARLY
    part = Sending(message, SENDING.next(before, event))
    _set(turn, name, part)
    if known is None:  # another attempt replaces this one: the receiver gets one sum at most
        ledger = turn.memory.ledger.with_sum(name)
        turn.memory = replace(turn.memory, ledger=ledger)
    if part.state is SendingState.MAKING:
        _make_share(turn, name, message)


def on_known(turn: Turn) -> None:
    """A peer's keys are there, or refused: make the shares that waited for nobody else.

    Hospitals begin at different hours: whoever asks may know senders that this participant has not
    heard of yet.
    """
    for (name, _), part in turn.memory.averaging.sending.items():
        if part.state is SendingState.WAITING and _known_to(turn, part.asked):
            _set(turn, name, replace(part, state=SENDING.next(part.state, Event.IMPORTED)))
            _make_share(turn, name, part.asked)


def on_share_made(turn: Turn, job: MakeShare, payload: bytes) -> None:
    """Send the share, unless the receiver has gone on to another attempt."""
    part = _under_way(turn, job)
    if part is not None:
        reply = Share(job.round, job.attempt, payload)
        state = SENDING.next(part.state, Event.SHARE_GIVEN)
        _set(turn, job.peer, replace(part, state=state, reply=reply))
        turn.send(job.peer, reply)


def on_share_failed(turn: Turn, job: MakeShare) -> None:
    """Say that there is no share, so that the receiver need not wait."""
    part = _under_way(turn, job)
    if part is not None:
        reply = Refusal(job.round, job.attempt, DeclineReason.FAILED)
        state = SENDING.next(part.state, Event.SHARE_FAILED)
        _set(turn, job.peer, replace(part, state=state, reply=reply))
        turn.send(job.peer, reply)


def on_reveal(turn: Turn, name: str, message: ShareReveal) -> None:
    """Give the key of the last attempt away, once; again the same to whoever asks again."""
    part = turn.memory.averaging.sending.get((name, message.round))
    if message.round < turn.round - turn.settings.keep_rounds:
        return
    closed = part is not None and part.state in (
        SendingState.SENT,
        SendingState.REVEALED,
    )
    if part is None or not closed or part.asked.attempt != message.attempt:
        raise RemoteProtocolError(
            "asked for a key that does not exist",
            culprit=name,
            where=f"round {message.round}, attempt {message.attempt}",
            expected="the last attempt, after its share was sent",
        )
    if part.key is not None:
        turn.send(name, part.key)
    elif part.state is SendingState.SENT:
        state = SENDING.next(part.state, Event.KEY_ASKED)
        _set(turn, name, replace(part, state=state))
        turn.run(ReleaseKey(name, message.round, message.attempt, part.asked.senders))


def on_key_released(turn: Turn, job: ReleaseKey, key: bytes) -> None:
    """Send the key, and keep it for repeated requests."""
    part = turn.memory.averaging.sending.get((job.peer, job.round))
    if part is not None:
        message = ShareKey(job.round, job.attempt, key)
        _set(turn, job.peer, replace(part, key=message))
        turn.send(job.peer, message)


def on_release_failed(turn: Turn, job: ReleaseKey) -> None:
    """Without its key the share is worth nothing; the receiver keeps its own model."""
    turn.send(job.peer, Refusal(job.round, job.attempt, DeclineReason.FAILED))


def _sums_left(turn: Turn, name: str) -> bool:
    """Whether a neighbour may get one more sum. Offers count: nobody can save sums for later."""
    most = receiving.gossip_of(turn).max_sums
    account = turn.memory.ledger.accounts.get(name)
    return account is None or account.offers < (EVERY_OFFER if most is None else most)


def _check_due(turn: Turn, name: str, round_number: int) -> None:
    """Refuse a receiver whom nothing was offered."""
    averaging = turn.memory.averaging
    kept = round_number >= turn.round - turn.settings.keep_rounds
    if kept and not averaging.offered.get(round_number, {}).get(name):
        raise RemoteProtocolError(
            "asks for a model that it was not offered",
            culprit=name,
            where=f"round {round_number}",
        )


def _check_request(turn: Turn, name: str, message: ShareRequest) -> None:
    """Who is in a sum was agreed on: a receiver that chose would take the smallest sets it could.

    In them it would have enough senders on its side to know what is left: one share.
    """
    gossip, senders = receiving.gossip_of(turn), message.senders
    agreed = gossip.senders.get(name, ())
    if (
        len(senders) < gossip.fewest(name)
        or list(senders) != sorted(set(senders))
        or gossip.name not in senders
        or not set(senders) <= set(agreed)
    ):
        raise RemoteProtocolError(
            "asks for a sum over other senders than agreed",
            culprit=name,
            where=f"round {message.round}, attempt {message.attempt}",
            found=", ".join(senders),
            expected=f"at least {gossip.fewest(name)} of {', '.join(agreed)} in ascending order, "
            f"{gossip.name} among them",
        )


def _check_later_attempt(name: str, known: Sending, message: ShareRequest) -> None:
    before = known.asked
    if known.state is SendingState.REVEALED:
        problem = "asks for another sum after a key was given away"
    elif message.attempt <= before.attempt:
        problem = "asks for two sums in one attempt"
    elif not set(message.senders) < set(before.senders):
        problem = "repeats a sum without losing a sender"
    else:
        return
    raise RemoteProtocolError(
        problem,
        culprit=name,
        where=f"round {message.round}",
        found=f"attempt {message.attempt} over {', '.join(message.senders)}",
        expected=f"attempt {before.attempt} over {', '.join(before.senders)}, or fewer later",
    )


def _known_to(turn: Turn, message: ShareRequest) -> bool:
    """Whether it is decided of every other sender whether its keys can be used."""
    others = [name for name in message.senders if name in turn.memory.peers]
    decided = (AdmissionState.ADMITTED, AdmissionState.REFUSED)
    return all(turn.peer(name).introduction.state in decided for name in others)


def _make_share(turn: Turn, name: str, message: ShareRequest) -> None:
    turn.run(MakeShare(name, message.round, message.attempt, message.senders, message.request))


def _under_way(turn: Turn, job: MakeShare) -> Sending | None:
    """The share that the job was to make, if it is still wanted."""
    part = turn.memory.averaging.sending.get((job.peer, job.round))
    wanted = part is not None and part.asked.attempt == job.attempt
    return part if wanted else None


def _set(turn: Turn, name: str, part: Sending) -> None:
    averaging = turn.memory.averaging
    sending = {**averaging.sending, (name, part.asked.round): part}
    receiving.set_averaging(turn, replace(averaging, sending=sending))
