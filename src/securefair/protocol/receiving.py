"""This participant as receiver: whose models it averages with its own, and how it gets the sum.

    step done -> offers to and from all neighbours -> as many share as a sum needs
    (`GossipSettings.fewest`): ask each for its share -> all shares: ask for the keys -> all keys:
    combine

A share that is late costs its sender its place: the sum is asked for again without it, under fresh
masks, as long as enough are left and no key has been asked for. After that it is given up: senders
that have given a key away give no share of another sum of this round. Whoever cannot average keeps
its own model, and the summary says so.
"""

from __future__ import annotations

from dataclasses import replace

from securefair.errors import RemoteProtocolError
from securefair.protocol.effects import SetDeadline
from securefair.protocol.jobs import AskSum, Combine, SumAsked
from securefair.protocol.messages import (
    Offer,
    Refusal,
    Share,
    ShareKey,
    ShareRequest,
    ShareReveal,
    name_of,
)
from securefair.protocol.settings import GossipSettings
from securefair.protocol.states import (
    RECEIVING,
    ROUND,
    AdmissionState,
    Event,
    ReceivingState,
    RoundState,
)
from securefair.protocol.turn import Averaging, Sum, Turn


def begin(turn: Turn) -> None:
    """Forget the sum of the last round, and the offers of rounds that are over."""
    averaging = turn.memory.averaging
    oldest = turn.round - turn.settings.keep_rounds
    kept = {of: offers for of, offers in averaging.offers.items() if of >= turn.round}
    offered = {of: offers for of, offers in averaging.offered.items() if of >= oldest}
    parts = {key: part for key, part in averaging.sending.items() if key[1] >= oldest}
    set_averaging(turn, Averaging(offers=kept, offered=offered, sending=parts))


def offer(turn: Turn, shares: dict[str, bool]) -> None:
    """Tell every neighbour whether it may have the own model; then wait for their offers."""
    averaging = turn.memory.averaging
    offered = {**averaging.offered, turn.round: shares}
    set_averaging(turn, replace(averaging, offered=offered))
    seconds = turn.settings.round_seconds
    if any(_expected(turn, name) for name in shares):
        seconds += turn.settings.setup_seconds
    turn.effects.append(SetDeadline(turn.round, seconds))
    for name, shared in shares.items():
        if turn.peer(name).introduction.upload_sent:
            turn.send(name, Offer(turn.round, shared))
    link(turn)


def introduced(turn: Turn, name: str) -> None:
    """Tell a peer that gets the own keys only now what was decided before; nobody else waits.

    So a round that begins with introductions loses no average, whether or not it aligns.
    """
    shared = turn.memory.averaging.offered.get(turn.round, {}).get(name)
    if shared is not None:
        turn.send(name, Offer(turn.round, shared))


def on_offer(turn: Turn, name: str, message: Offer) -> None:
    """Keep a neighbour's decision; of rounds that are over nobody asks."""
    furthest = turn.round + turn.settings.forced_every
    if name not in gossip_of(turn).neighbours or message.round > furthest:
        raise RemoteProtocolError(
            "made an offer that nobody waits for",
            culprit=name,
            where=f"round {message.round}",
            expected=f"a neighbour's offer, of round {furthest} at most",
        )
    if message.round < turn.round:
        return
    averaging = turn.memory.averaging
    known = averaging.offers.get(message.round, {})
    if known.get(name, message.shares) != message.shares:
        raise RemoteProtocolError(
            "made two different offers", culprit=name, where=f"round {message.round}"
        )
    offers = {**averaging.offers, message.round: {**known, name: message.shares}}
    set_averaging(turn, replace(averaging, offers=offers))
    link(turn)


def link(turn: Turn, *, late: bool = False) -> None:
    """Ask for the sum as soon as all offers are there, or with those that are, if it is `late`."""
    if turn.memory.state is not RoundState.LINKING:
        return
    neighbours = gossip_of(turn).neighbours
    offers = turn.memory.averaging.offers.get(turn.round, {})
    awaited = [name for name in neighbours if name not in offers and not _gone(turn, name)]
    if awaited and not late:
        return
    senders = tuple(sorted(name for name in neighbours if offers.get(name)))
    if len(senders) < _fewest(turn):
        turn.ending = Event.ALONE, None
        return
    turn.memory = replace(turn.memory, state=ROUND.next(turn.memory.state, Event.LINKED))
    _ask(turn, 0, senders)


def on_asked(turn: Turn, job: AskSum, result: SumAsked) -> None:
    """Send every sender its request; nobody has any weight: keep the own model."""
    current = _current(turn, job.round, job.attempt)
    if current is None:
        return
    if not result.requests:
        turn.ending = Event.ALONE, None
        return
    states = {
        name: RECEIVING.next(current.states[name], Event.SHARE_REQUEST) for name in job.senders
    }
    _set_sum(turn, replace(current, states=states))
    turn.effects.append(SetDeadline(turn.round, turn.settings.round_seconds))
    for name in job.senders:
        turn.send(name, ShareRequest(job.round, job.attempt, job.senders, result.requests[name]))


def on_ask_failed(turn: Turn, job: AskSum, error: str) -> None:
    """An own failure; the step has been taken, the average is given up."""
    if _current(turn, job.round, job.attempt) is not None:
        turn.ending = Event.ALONE, error


def on_share(turn: Turn, name: str, message: Share | Refusal | ShareKey) -> None:
    """A share, a key, or that there is none; late ones pass, unasked ones are blamed."""
    current = turn.memory.averaging.sum
    if message.round < turn.round or (
        message.round == turn.round and current is not None and message.attempt < current.attempt
    ):
        return
    asked = (
        current is not None
        and (message.round, message.attempt) == (turn.round, current.attempt)
        and current.states.get(name, RECEIVING.initial) is not RECEIVING.initial
    )
    if current is None or not asked:
        raise RemoteProtocolError(
            "sent a share that it was not asked for",
            culprit=name,
            where=name_of(type(message)),
            found=f"round {message.round}, attempt {message.attempt}",
        )
    if turn.memory.state is not RoundState.RECEIVING:
        return  # repeated after the end
    match message:
        case Share():
            _on_part(turn, current, name, message)
        case ShareKey():
            _on_key(turn, current, name, message)
        case Refusal():
            if current.states[name] in (ReceivingState.ASKED, ReceivingState.REVEALING):
                _move(turn, name, Event.SHARE_REFUSED)
    _go_on(turn)


def expire(turn: Turn) -> None:
    """A deadline: go on without the offers, shares or keys that are not there."""
    if turn.memory.state is RoundState.LINKING:
        link(turn, late=True)
        return
    current = turn.memory.averaging.sum
    if current is not None:
        for name, state in current.states.items():
            if state in (ReceivingState.ASKED, ReceivingState.REVEALING):
                _move(turn, name, Event.EXPIRED)
        _go_on(turn)


def on_combined(turn: Turn, job: Combine) -> None:
    """The round is over, and the model an average."""
    averaging = turn.memory.averaging
    set_averaging(turn, replace(averaging, combined=job.senders))
    turn.ending = Event.COMBINED, None


def set_averaging(turn: Turn, averaging: Averaging) -> None:
    """Replace what is remembered of averaging."""
    turn.memory = replace(turn.memory, averaging=averaging)


def gossip_of(turn: Turn) -> GossipSettings:
    """The settings of gossip.

    Raises:
        RemoteProtocolError: never for honest peers: messages of gossip where there is none are
            stopped before.
    """
    gossip = turn.settings.gossip
    return GossipSettings(name="", senders={"": ()}) if gossip is None else gossip


def _on_part(turn: Turn, current: Sum, name: str, message: Share) -> None:
    known = current.closed.get(name)
    if known is not None and known != message:
        raise RemoteProtocolError(
            "sent two different shares of one sum",
            culprit=name,
            where=f"round {message.round}, attempt {message.attempt}",
        )
    if current.states[name] is ReceivingState.ASKED:
        _set_sum(turn, replace(current, closed={**current.closed, name: message}))
        _move(turn, name, Event.SHARE_GIVEN)


def _on_key(turn: Turn, current: Sum, name: str, message: ShareKey) -> None:
    known = current.keys.get(name)
    if current.states[name] in (ReceivingState.ASKED, ReceivingState.CLOSED) or (
        known is not None and known != message
    ):
        raise RemoteProtocolError(
            "sent a key that it was not asked for",
            culprit=name,
            where=f"round {message.round}, attempt {message.attempt}",
        )
    if current.states[name] is ReceivingState.REVEALING:
        _set_sum(turn, replace(current, keys={**current.keys, name: message}))
        _move(turn, name, Event.KEY)


def _go_on(turn: Turn) -> None:
    """What follows once nothing is awaited: another attempt, the keys, the sum, or nothing."""
    current = turn.memory.averaging.sum
    if current is None or turn.memory.state is not RoundState.RECEIVING:
        return
    states = set(current.states.values())
    if states & {ReceivingState.UNLINKED, ReceivingState.ASKED, ReceivingState.REVEALING}:
        return
    if ReceivingState.LOST in states:
        _without_lost(turn, current)
    elif states == {ReceivingState.CLOSED}:
        for name in current.senders:
            _move(turn, name, Event.KEY_ASKED)
            turn.send(name, ShareReveal(turn.round, current.attempt))
        turn.effects.append(SetDeadline(turn.round, turn.settings.round_seconds))
    else:
        turn.memory = replace(turn.memory, state=ROUND.next(turn.memory.state, Event.SHARES_OPEN))
        turn.run(
            Combine(
                turn.round,
                current.attempt,
                current.senders,
                {name: current.closed[name].payload for name in current.senders},
                {name: current.keys[name].key for name in current.senders},
            )
        )


def _without_lost(turn: Turn, current: Sum) -> None:
    lost = tuple(n for n, state in current.states.items() if state is ReceivingState.LOST)
    averaging = turn.memory.averaging
    set_averaging(turn, replace(averaging, lost=(*averaging.lost, *lost)))
    left = tuple(name for name in current.senders if name not in lost)
    # Keys are asked for as soon as all shares are there, and whoever was asked for one may have
    # given it away, even if it never arrived.
    asked_for_keys = len(current.closed) == len(current.senders)
    if asked_for_keys or len(left) < _fewest(turn):
        turn.ending = Event.ALONE, None
        return
    turn.memory = replace(turn.memory, state=ROUND.next(turn.memory.state, Event.LOST))
    _ask(turn, current.attempt + 1, left)


def _fewest(turn: Turn) -> int:
    gossip = gossip_of(turn)
    return gossip.fewest(gossip.name)


def _ask(turn: Turn, attempt: int, senders: tuple[str, ...]) -> None:
    """Begin an attempt; until its requests are made nobody in it has been asked for anything."""
    _set_sum(turn, Sum(attempt, senders, dict.fromkeys(senders, RECEIVING.initial)))
    turn.run(AskSum(turn.round, attempt, senders))


def _current(turn: Turn, round_number: int, attempt: int) -> Sum | None:
    """The sum, if this attempt of it is still under way."""
    current = turn.memory.averaging.sum
    gathering = turn.memory.state is RoundState.RECEIVING
    if not gathering or current is None:
        return None
    return current if (round_number, attempt) == (turn.round, current.attempt) else None


def _move(turn: Turn, name: str, event: Event) -> None:
    current = turn.memory.averaging.sum
    if current is not None:
        states = {**current.states, name: RECEIVING.next(current.states[name], event)}
        _set_sum(turn, replace(current, states=states))


def _set_sum(turn: Turn, current: Sum) -> None:
    set_averaging(turn, replace(turn.memory.averaging, sum=current))


def _gone(turn: Turn, name: str) -> bool:
    peer = turn.peer(name)
    return peer.away or peer.introduction.state is AdmissionState.REFUSED


def _expected(turn: Turn, name: str) -> bool:
    """Whether a neighbour's introduction is missing, for which the first round has more time."""
    admitted = turn.peer(name).introduction.state is AdmissionState.ADMITTED
    return not admitted and not _gone(turn, name)
