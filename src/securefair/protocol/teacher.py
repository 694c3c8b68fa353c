"""This participant as teacher: which queries it answers, and with what.

One exchange per student and round. The decision is taken once, on the first query; a repeated
query gets the same reply, byte for byte, without computing it again.
"""

from __future__ import annotations

from dataclasses import replace

from securefair.errors import LedgerError, RemoteProtocolError
from securefair.protocol.flows import REPLY_BITS
from securefair.protocol.jobs import AnswerQuery
from securefair.protocol.messages import Answer, Decline, DeclineReason, Query
from securefair.protocol.states import SERVING, AdmissionState, Event, ServingState
from securefair.protocol.turn import Serving, Turn


def begin(turn: Turn) -> None:
    """Turn to the round just begun: forget old replies, answer the queries that came early."""
    for name in turn.memory.peers:
        _decline_overtaken(turn, name)
        peer = turn.peer(name)
        oldest = turn.round - turn.settings.keep_rounds
        serving = {
            of: exchange
            for of, exchange in peer.serving.items()
            if of >= oldest or exchange.state is ServingState.COMPUTING
        }
        turn.set_peer(name, replace(peer, serving=serving))
        serve_kept(turn, name)


def on_query(turn: Turn, name: str, query: Query) -> None:
    """Repeat, decline, keep or decide."""
    peer = turn.peer(name)
    if not turn.settings.answers(name, query.round):
        gossip = turn.settings.gossip is not None
        raise RemoteProtocolError(
            "asks for an alignment where none is due" if gossip else "asks who does not teach it",
            culprit=name,
            where="query.round",
            found=query.round,
            expected="a neighbour, in a round that weighs neighbours anew"
            if gossip
            else "questions to those who only teach",
        )
    _check_predictions(turn, name, query)
    known = peer.serving.get(query.round)
    if known is not None:
        _repeat(turn, name, known, query)
    elif query.round < turn.round:
        turn.send(name, Decline(query.round, query.exchange, DeclineReason.STALE))
    elif query.round > turn.round:
        _keep_ahead(turn, name, query)
    elif _servable(turn, name, query):
        _decide(turn, name, Serving(query))
    else:
        turn.set_serving(name, query.round, _kept(query))


def serve_kept(turn: Turn, name: str) -> None:
    """Decide on the query of the current round that had to wait, if there is one."""
    serving = turn.peer(name).serving.get(turn.round)
    if serving is None or serving.state is not ServingState.KEPT:
        return
    if _servable(turn, name, serving.query):
        _decide(turn, name, serving)


def refuse_kept(turn: Turn, name: str) -> None:
    """Decline what waits for an import that has failed."""
    for serving in turn.peer(name).serving.values():
        if serving.state is ServingState.KEPT:
            _decline(turn, name, serving, DeclineReason.FAILED)


def on_answered(turn: Turn, job: AnswerQuery, payload: bytes) -> None:
    """Send the answer, and keep it for repeated queries."""
    serving = turn.peer(job.peer).serving[job.round]
    answer = Answer(job.round, job.exchange, payload)
    state = SERVING.next(serving.state, Event.COMPUTED)
    turn.set_serving(job.peer, job.round, replace(serving, state=state, reply=answer))
    turn.send(job.peer, answer)


def on_answer_failed(turn: Turn, job: AnswerQuery) -> None:
    """Decline instead."""
    serving = turn.peer(job.peer).serving[job.round]
    if turn.settings.free(job.round):
        turn.tell(job.peer, REPLY_BITS)
    decline = Decline(job.round, job.exchange, DeclineReason.FAILED)
    state = SERVING.next(serving.state, Event.COMPUTE_FAILED)
    turn.set_serving(job.peer, job.round, replace(serving, state=state, reply=decline))
    turn.send(job.peer, decline)


def _check_predictions(turn: Turn, name: str, query: Query) -> None:
    if bool(query.predictions) != turn.settings.needs_predictions:
        raise RemoteProtocolError(
            "a query does not fit the release",
            culprit=name,
            where="query.predictions",
            found=f"{len(query.predictions)} bytes",
            expected="E(p)" if turn.settings.needs_predictions else "0 bytes",
        )


def _repeat(turn: Turn, name: str, serving: Serving, query: Query) -> None:
    """Send the same reply again if there is one yet; raise if it is not the same query."""
    if query != serving.query:
        raise RemoteProtocolError(
            "sent two different queries for one round",
            culprit=name,
            where=f"round {query.round}",
            found=f"exchange {query.exchange}",
            expected="the query it sent before, or nothing",
        )
    if serving.reply is not None:
        turn.send(name, serving.reply)


def _servable(turn: Turn, name: str, query: Query) -> bool:
    """Whether the keys that a query names are imported; asks for them if they were lost."""
    introduction = turn.peer(name).introduction
    if query.key_epoch > introduction.key_epoch:
        turn.greet(name)
        return False
    return introduction.state is AdmissionState.ADMITTED


def _keep_ahead(turn: Turn, name: str, query: Query) -> None:
    """Keep the query of a later round until it begins; one a student, the latest.

    A student may be ahead by any number of rounds, since it did not wait for this participant, or
    did so in vain. Whoever asks about a later round has ended the earlier ones.
    """
    peer = turn.peer(name)
    if max(peer.serving, default=-1) > query.round:
        return
    serving = {of: exchange for of, exchange in peer.serving.items() if of <= turn.round}
    serving[query.round] = _kept(query)
    turn.set_peer(name, replace(peer, serving=serving))


def _kept(query: Query) -> Serving:
    return Serving(query, SERVING.next(SERVING.initial, Event.KEEP))


def _decide(turn: Turn, name: str, serving: Serving) -> None:
    """Share or decline, by the round, the coin and the ledger."""
    query = serving.query
    peer = turn.peer(name)
    if not turn.settings.free(turn.round):
        turn.tell(name, REPLY_BITS)
    if not _shares(turn, name, peer.reputation):
        _decline(turn, name, serving, DeclineReason.NOT_SHARING)
        return
    introduction = peer.introduction
    # Whether features under new keys are the old ones cannot be seen: they count anew.
    basis = f"features {introduction.data_epoch}, keys {introduction.key_epoch}"
    if turn.settings.needs_predictions:
        basis += f", predictions {query.round}"
    try:
        ledger = turn.memory.ledger.charge(
            name,
            numbers=turn.settings.disclosure.numbers_per_answer(introduction.samples),
            version=turn.memory.teacher_version,
            basis=basis,
            samples=introduction.samples,
        )
    except LedgerError:
        _decline(turn, name, serving, DeclineReason.DISCLOSURE_LIMIT)
        return
    turn.memory = replace(turn.memory, ledger=ledger)
    state = SERVING.next(serving.state, Event.SHARE)
    turn.set_serving(name, query.round, replace(serving, state=state))
    turn.run(AnswerQuery(name, query.round, query.exchange, query.predictions))


def _shares(turn: Turn, name: str, reputation: float | None) -> bool:
    """The sharing decision: this participant's own reputation of the student against the coin.

    Reputations change only in forced rounds, where the coin is not asked, so the decision does
    not depend on when in the round the query arrives.
    """
    if turn.settings.free(turn.round):
        return True
    # As in the reference: reputation 0 never shares, whatever the coin.
    return reputation is not None and 0 < reputation >= turn.memory.coins[name]


def _decline(turn: Turn, name: str, serving: Serving, reason: DeclineReason) -> None:
    query = serving.query
    decline = Decline(query.round, query.exchange, reason)
    state = SERVING.next(serving.state, Event.REFUSE)
    turn.set_serving(name, query.round, replace(serving, state=state, reply=decline))
    turn.send(name, decline)


def _decline_overtaken(turn: Turn, name: str) -> None:
    """Decline what waited for an import during a round that is now over."""
    for of, serving in turn.peer(name).serving.items():
        if of < turn.round and serving.state is ServingState.KEPT:
            _decline(turn, name, serving, DeclineReason.STALE)
