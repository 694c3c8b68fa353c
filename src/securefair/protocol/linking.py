"""Who is to be in the own sum: neighbours that offer their model, or everybody who is there.

Where models are averaged every participant takes its own step, decides by its own weights and coins
with whom it shares, and tells every neighbour. Elsewhere nobody decides anything, and whoever is
introduced is asked.
"""

from __future__ import annotations

from dataclasses import replace

from securefair.errors import LocalProtocolError, RemoteProtocolError
from securefair.protocol import summing
from securefair.protocol.effects import SetDeadline
from securefair.protocol.flows import OFFER_BITS
from securefair.protocol.jobs import Adapt, Adapted
from securefair.protocol.ledger import EVERY_OFFER
from securefair.protocol.messages import Offer
from securefair.protocol.settings import SumSettings
from securefair.protocol.states import ROUND, AdmissionState, AskingState, Event, RoundState
from securefair.protocol.turn import Averaging, Turn


def begin(turn: Turn) -> None:
    """Forget the sum of the last round, and the offers of rounds that are over."""
    averaging = turn.memory.averaging
    oldest = turn.round - turn.settings.keep_rounds
    offers = {of: offers for of, offers in averaging.offers.items() if of >= turn.round}
    offered = {of: offers for of, offers in averaging.offered.items() if of >= oldest}
    turn.set_averaging(Averaging(offers=offers, offered=offered))


def adapt(turn: Turn, sums: SumSettings) -> None:
    """Every alignment is settled: take the local steps, and weigh the neighbours that answered.

    Where no models are averaged, wait for whoever may be asked instead.
    """
    if not sums.averages:
        _wait(turn, sums)
        return
    opened = tuple(
        name for name, peer in turn.memory.peers.items() if peer.asking.state is AskingState.OPENED
    )
    reputations = tuple(turn.peer(name).reputation for name in opened)
    turn.run(Adapt(turn.round, opened, reputations))


def on_adapted(turn: Turn, job: Adapt, adapted: Adapted) -> None:
    """Decide who gets the model of this round, and say so; then wait for others' offers."""
    probabilities, sums = adapted.probabilities, turn.settings.sums
    if sums is None or set(probabilities) != set(sums.neighbours):
        raise LocalProtocolError(
            "every neighbour needs a probability",
            where=f"Adapted of round {job.round}",
            found=sorted(probabilities),
            expected=() if sums is None else sums.neighbours,
        )
    coins = turn.memory.coins
    shares = {}
    for name in sums.neighbours:
        left, possible = _sums_left(turn, sums, name), _is_possible(turn, sums, name)
        willing = left and 0 < probabilities[name] >= coins[name]
        shares[name] = willing and possible
        if left and possible:
            # The best aligned neighbour sets the scale, so that an offer tells of all of them.
            turn.tell(name, OFFER_BITS)
        if willing:  # though it may get none now: whoever stays away saves no sums for later
            turn.memory = replace(turn.memory, ledger=turn.memory.ledger.with_offer(name))
    averaging = turn.memory.averaging
    offered = {**averaging.offered, turn.round: shares}
    turn.set_averaging(replace(averaging, offered=offered, problem=adapted.problem))
    for name in shares:
        if turn.peer(name).introduction.upload_sent:
            _offer(turn, name, shares[name])
    _wait(turn, sums)


def introduced(turn: Turn, name: str) -> None:
    """Tell a peer that gets the own keys only now what was decided before; nobody else waits.

    So a round that begins with introductions loses no average, whether or not it aligns.
    """
    shared = turn.memory.averaging.offered.get(turn.round, {}).get(name)
    if shared is not None:
        _offer(turn, name, shared)


def on_offer(turn: Turn, name: str, message: Offer) -> None:
    """Keep a neighbour's decision; of rounds that are over nobody asks."""
    sums = turn.settings.sums
    furthest = turn.round + turn.settings.forced_every
    offers = sums is not None and sums.averages and name in sums.neighbours
    if not offers or message.round > furthest:
        raise RemoteProtocolError(
            "made an offer that nobody waits for",
            culprit=name,
            where=f"round {message.round}",
            expected=f"a neighbour's offer, of round {furthest} at most"
            if sums is not None and sums.averages
            else "none: models are not averaged",
        )
    peer = turn.peer(name)
    if message.shares and message.round > peer.offered_in:  # late or not: it counts at its sender
        turn.set_peer(name, replace(peer, offers=peer.offers + 1, offered_in=message.round))
    if message.round < turn.round:
        return
    averaging = turn.memory.averaging
    known = averaging.offers.get(message.round, {})
    if known.get(name, message.shares) != message.shares:
        raise RemoteProtocolError(
            "made two different offers", culprit=name, where=f"round {message.round}"
        )
    offered = {**averaging.offers, message.round: {**known, name: message.shares}}
    turn.set_averaging(replace(averaging, offers=offered))
    link(turn)


def link(turn: Turn, *, late: bool = False) -> None:
    """Ask for the sum as soon as nobody is awaited, or those who are there, if it is `late`."""
    sums = turn.settings.sums
    if sums is None or turn.memory.state is not RoundState.LINKING:
        return
    averaging = turn.memory.averaging
    if not sums.averages:
        there = {name: True for name in sums.neighbours if _admitted(turn, name)}
        averaging = replace(averaging, offers={**averaging.offers, turn.round: there})
        turn.set_averaging(averaging)
    offers = averaging.offers.get(turn.round, {})
    awaited = [
        name
        for name in sums.neighbours
        if name not in offers and not went_on(averaging, name, turn.round) and not gone(turn, name)
    ]
    if awaited and not late:
        return
    senders = tuple(
        name for name in sums.neighbours if offers.get(name) and not turn.peer(name).away
    )
    if len(senders) < sums.fewest(sums.name):
        turn.ending = Event.ALONE, None
        return
    turn.memory = replace(turn.memory, state=ROUND.next(turn.memory.state, Event.LINKED))
    summing.ask(turn, 0, senders)


def went_on(averaging: Averaging, name: str, round: int) -> bool:
    """Whether a neighbour makes offers of later rounds and none of this one.

    It never will: messages of one sender come in its order. So it is with all neighbours of a
    participant whose store was put back: what it was offered is lost with what it forgot.
    """
    of = [number for number, offers in averaging.offers.items() if name in offers]
    return max(of, default=round) > round and round not in of


def gone(turn: Turn, name: str) -> bool:
    """Whether nobody waits for a peer: it is away, or refused."""
    peer = turn.peer(name)
    return peer.away or peer.introduction.state is AdmissionState.REFUSED


def linkable(turn: Turn, name: str) -> bool:
    """Whether a neighbour's model may enter the own sum, or the own one the neighbour's.

    Where neither may, since too few are left or budgets are used up, gradients are not compared:
    that would tell for nothing. It follows from who is there, from offers between these two, and
    from what the neighbour said of a budget that was used up unseen (`says_spent`).
    """
    sums = turn.settings.sums
    if sums is None or not sums.averages:
        return True
    received = _enough(turn, sums, sums.name) and turn.peer(name).offers < _most(sums)
    given = _sums_left(turn, sums, name) and _enough(turn, sums, name)
    return not gone(turn, name) and (received or given)


def untold(turn: Turn, name: str) -> bool:
    """Whether rounds count against a neighbour's budget of which it cannot know.

    In them it was offered nothing, since no sum was possible; or the store was put back.
    """
    sums, account = turn.settings.sums, turn.memory.ledger.accounts.get(name)
    averages = sums is not None and sums.averages
    return averages and account is not None and account.offers > turn.peer(name).offered


def says_spent(turn: Turn, name: str) -> bool:
    """Whether to decline a comparison, this once, to say that a budget is used up unseen.

    Who asks again can offer its own model still: else both would compare for nothing.
    """
    sums = turn.settings.sums
    if sums is None or not untold(turn, name) or _sums_left(turn, sums, name):
        return False
    peer, account = turn.peer(name), turn.memory.ledger.accounts[name]
    turn.set_peer(name, replace(peer, offered=account.offers))
    return True


def on_spent(turn: Turn, name: str) -> None:
    """A neighbour said that its budget is used up."""
    sums, peer = turn.settings.sums, turn.peer(name)
    if sums is not None and sums.averages:
        turn.set_peer(name, replace(peer, offers=max(peer.offers, _most(sums))))


def _offer(turn: Turn, name: str, shared: bool) -> None:
    """Tell a neighbour what was decided, and count what it now knows of."""
    turn.send(name, Offer(turn.round, shared))
    if shared:
        peer = turn.peer(name)
        turn.set_peer(name, replace(peer, offered=peer.offered + 1))


def _wait(turn: Turn, sums: SumSettings) -> None:
    """Wait for offers, or introductions, for which the first round has more time.

    That of later ones, where keys are made anew too, must do: who dies in it costs no day.
    """
    turn.memory = replace(turn.memory, state=ROUND.next(turn.memory.state, Event.ADAPTED))
    missing = (name for name in sums.neighbours if not _admitted(turn, name))
    late = any(not gone(turn, name) for name in missing)
    seconds = turn.seconds if late else turn.settings.round_seconds
    turn.effects.append(SetDeadline(turn.round, seconds))
    link(turn)


def _admitted(turn: Turn, name: str) -> bool:
    return turn.peer(name).introduction.state is AdmissionState.ADMITTED


def _sums_left(turn: Turn, sums: SumSettings, name: str) -> bool:
    """Whether a neighbour may get one more sum. Offers count: nobody can save sums for later."""
    account = turn.memory.ledger.accounts.get(name)
    return account is None or account.offers < _most(sums)


def _is_possible(turn: Turn, sums: SumSettings, receiver: str) -> bool:
    """Whether a neighbour is there for a sum, and enough senders to it are."""
    return not gone(turn, receiver) and _enough(turn, sums, receiver)


def _enough(turn: Turn, sums: SumSettings, receiver: str) -> bool:
    """Whether enough of those are there who may be in a receiver's sum."""
    senders = sums.senders.get(receiver, ())
    there = [name for name in senders if name == sums.name or not gone(turn, name)]
    return len(there) >= sums.fewest(receiver)


def _most(sums: SumSettings) -> int:
    return EVERY_OFFER if sums.max_sums is None else sums.max_sums
