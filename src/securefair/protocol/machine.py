"""One participant's protocol machine: inputs in, effects out, no I/O, clock or randomness.

A round, as student: Begin -> choose whom to ask -> Query -> Answer or Decline -> OpenAnswer ->
when every exchange is settled or the deadline has passed: Step -> RoundOver. As teacher, all the
while and until the next Begin: Query -> decide -> AnswerQuery -> Answer. The first round also
makes and exchanges keys and features.

Where models are averaged (settings.gossip), queries and answers align gradients, in forced rounds
only, and Adapt and an average of models take the place of Step: receiving.py and sending.py.

Guarantees, whatever arrives in whatever order:

- a round ends: once its deadline has expired only this participant's own step is waited for;
- at most one answer is computed for each (peer, round), repeated queries get the same bytes;
- an unexpected message changes nothing and blames its sender;
- in rounds left to chance an answer is decided iff coin <= reputation and the ledger permits;
- a peer's reputation changes only when its answer is opened in a forced round, in time.

The transitions are in states.py, what they do in admission.py, student.py, teacher.py, and for
averages in receiving.py and sending.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from securefair.errors import LocalProtocolError, RemoteProtocolError
from securefair.protocol import admission, receiving, sending, student, teacher
from securefair.protocol.effects import (
    Begin,
    Blame,
    Done,
    Effect,
    Expired,
    Failed,
    Input,
    Presence,
    Received,
    RoundOver,
    RoundSummary,
    SetDeadline,
)
from securefair.protocol.jobs import (
    Adapt,
    Adapted,
    Answered,
    AnswerQuery,
    AskSum,
    Combine,
    Combined,
    ImportPeer,
    KeyReleased,
    MakeShare,
    OpenAnswer,
    Opened,
    Predictions,
    Prepared,
    PrepareKeysAndFeatures,
    PrepareQuery,
    ReleaseKey,
    ShareMade,
    Step,
    SumAsked,
)
from securefair.protocol.ledger import Ledger
from securefair.protocol.messages import (
    Answer,
    Decline,
    Features,
    Hello,
    Keys,
    Offer,
    Query,
    Refusal,
    Share,
    ShareKey,
    ShareRequest,
    ShareReveal,
    name_of,
)
from securefair.protocol.saved_state import SavedState
from securefair.protocol.settings import MachineSettings
from securefair.protocol.states import (
    ROUND,
    AdmissionState,
    AskingState,
    Event,
    PreparationState,
    RoundState,
)
from securefair.protocol.turn import Memory, Peer, Turn


class ParticipantMachine:
    """Decides what one participant says and computes, and when.

    Args:
        name: this participant.
        peers: all others; their order is the order of every list in the effects.
        settings: see MachineSettings.
        saved_state: of a machine that has finished rounds before; this one begins the next.
        memory: of a machine whose process ended (`stored`); this one goes on in the middle.

    Raises:
        LocalProtocolError: a name is empty, doubled, or among the peers; or the saved state or
            memory is that of other peers.
    """

    def __init__(
        self,
        name: str,
        peers: Sequence[str],
        settings: MachineSettings,
        *,
        saved_state: SavedState | None = None,
        memory: Memory | None = None,
    ) -> None:
        names = [name, *peers]
        if "" in names or len(set(names)) != len(names):
            raise LocalProtocolError(
                "participants need different names", where="peers", found=names
            )
        self.name = name
        self.settings = settings
        reputation = 1.0 if settings.always_share else None
        self._memory = Memory(
            ledger=Ledger(settings.disclosure),
            peers={peer: Peer(reputation=reputation) for peer in peers},
        )
        if memory is not None:
            self._memory = _checked(memory, self._memory)
        elif saved_state is not None:
            self._memory = _recalled(self._memory, saved_state)

    @property
    def saved_state(self) -> SavedState:
        """What to remember of the rounds so far.

        Raises:
            LocalProtocolError: a round is under way.
        """
        memory = self._memory
        if memory.state is not RoundState.IDLE:
            raise LocalProtocolError("a round is under way", found=memory.state.value)
        return SavedState(
            round=memory.round,
            teacher_version=memory.teacher_version,
            reputations=_reputations(memory),
            exchanges={name: peer.exchanges for name, peer in memory.peers.items()},
            accounts=memory.ledger.accounts,
        )

    @property
    def memory(self) -> Memory:
        """Everything the machine knows; immutable."""
        return self._memory

    @property
    def reputations(self) -> Mapping[str, float | None]:
        """This participant's reputation of each peer; None before its first scored answer."""
        return _reputations(self._memory)

    @property
    def ledger(self) -> Ledger:
        """What this participant has disclosed as teacher."""
        return self._memory.ledger

    def handle(self, event: Input) -> list[Effect]:
        """Take one input; return what must happen now, in this order.

        Raises:
            LocalProtocolError: the host broke the rules (a round out of order, a job that is not
                under way, a result of the wrong kind). The machine is unchanged.
        """
        turn = Turn(self.settings, self._memory)
        try:
            _dispatch(turn, event)
        except RemoteProtocolError as error:
            return [Blame(error.culprit, str(error))]
        _settle(turn)
        self._memory = turn.memory
        return turn.effects


def _recalled(memory: Memory, saved_state: SavedState) -> Memory:
    """A fresh memory with what was worth remembering; everyone is a stranger again."""
    if set(saved_state.reputations) != set(memory.peers):
        raise LocalProtocolError(
            "a saved state is that of other peers",
            where="saved_state",
            found=sorted(saved_state.reputations),
            expected=sorted(memory.peers),
        )
    return replace(
        memory,
        ledger=replace(memory.ledger, accounts=saved_state.accounts).with_new_keys(),
        round=saved_state.round,
        teacher_version=saved_state.teacher_version,
        peers={
            name: replace(
                peer,
                reputation=saved_state.reputations[name]
                if saved_state.reputations[name] is not None
                else peer.reputation,
                exchanges=saved_state.exchanges[name],
            )
            for name, peer in memory.peers.items()
        },
    )


def _checked(memory: Memory, fresh: Memory) -> Memory:
    """A stored memory under the settings of today, which may limit disclosure otherwise."""
    if list(memory.peers) != list(fresh.peers):
        raise LocalProtocolError(
            "a memory is that of other peers",
            where="memory",
            found=list(memory.peers),
            expected=list(fresh.peers),
        )
    return replace(memory, ledger=replace(memory.ledger, policy=fresh.ledger.policy))


def _dispatch(turn: Turn, event: Input) -> None:
    match event:
        case Begin():
            _begin(turn, event)
        case Received():
            _receive(turn, event)
        case Done():
            _done(turn, event)
        case Failed():
            _failed(turn, event)
        case Expired():
            _expire(turn, event)
        case Presence():
            _take_note_of(turn, event)


def _begin(turn: Turn, event: Begin) -> None:
    _check_begin(turn, event)
    admission.renew_spent(turn)
    first = turn.memory.upload.state is PreparationState.ABSENT
    turn.memory = replace(
        turn.memory,
        round=event.round,
        state=ROUND.next(turn.memory.state, Event.BEGIN),
        coins=dict(event.coins),
        teacher_version=event.teacher_version,
    )
    seconds = turn.settings.round_seconds + (turn.settings.setup_seconds if first else 0)
    turn.effects.append(SetDeadline(event.round, seconds))
    admission.begin(turn)
    receiving.begin(turn)
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
    if free and settings.gossip is None:  # links are left to chance in every round
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


def _receive(turn: Turn, event: Received) -> None:
    sender, message = event.sender, event.message
    if sender not in turn.memory.peers:
        raise RemoteProtocolError("does not belong to this collaboration", culprit=sender)
    state = turn.peer(sender).introduction.state
    if state is AdmissionState.REFUSED:
        raise RemoteProtocolError(
            "has been refused", culprit=sender, found=name_of(type(message)), expected="nothing"
        )
    if state is AdmissionState.STRANGER and not isinstance(message, Hello):
        raise RemoteProtocolError(
            "has not said Hello yet", culprit=sender, found=name_of(type(message)), expected="hello"
        )
    match message:
        case Hello():
            admission.on_hello(turn, sender, message)
        case Keys() | Features():
            admission.on_upload(turn, sender, message)
        case Query():
            teacher.on_query(turn, sender, message)
        case Answer() | Decline():
            student.on_reply(turn, sender, message)
        case _ if turn.settings.gossip is None:
            raise RemoteProtocolError(
                "sent a message of gossip where models are not averaged",
                culprit=sender,
                found=name_of(type(message)),
            )
        case Offer():
            receiving.on_offer(turn, sender, message)
        case Share() | Refusal() | ShareKey():
            receiving.on_share(turn, sender, message)
        case ShareRequest():
            sending.on_share_request(turn, sender, message)
        case ShareReveal():
            sending.on_reveal(turn, sender, message)


def _done(turn: Turn, event: Done) -> None:
    turn.finish(event.job, event.result)
    match event.job, event.result:
        case PrepareKeysAndFeatures(), Prepared() as prepared:
            admission.on_prepared(turn, prepared)
        case ImportPeer() as job, _:
            admission.on_imported(turn, job)
        case PrepareQuery() as job, Predictions(payload=payload):
            student.on_predictions(turn, job, payload)
        case AnswerQuery() as job, Answered(payload=payload):
            teacher.on_answered(turn, job, payload)
        case OpenAnswer() as job, Opened() as opened:
            student.on_opened(turn, job, opened)
            admission.on_opened(turn, job)
        case Step(), _:
            _round_over(turn, Event.STEPPED, None)
        case Adapt() as job, Adapted(probabilities=probabilities):
            sending.on_adapted(turn, job, probabilities)
        case AskSum() as job, SumAsked() as asked:
            receiving.on_asked(turn, job, asked)
        case MakeShare() as job, ShareMade(payload=payload):
            sending.on_share_made(turn, job, payload)
        case ReleaseKey() as job, KeyReleased(key=key):
            sending.on_key_released(turn, job, key)
        case Combine() as job, Combined():
            receiving.on_combined(turn, job)


def _failed(turn: Turn, event: Failed) -> None:
    turn.finish(event.job)
    match event.job:
        case PrepareKeysAndFeatures():
            admission.on_preparation_failed(turn)
        case ImportPeer() as job:
            admission.on_import_failed(turn, job, event.error)
        case PrepareQuery() as job:
            student.on_predictions_failed(turn, job)
        case AnswerQuery() as job:
            teacher.on_answer_failed(turn, job)
        case OpenAnswer() as job:
            student.on_open_failed(turn, job, event.error)
            admission.on_open_failed(turn, job)
        case Step() | Adapt():
            _round_over(turn, Event.STEP_FAILED, event.error)
        case AskSum() as job:
            receiving.on_ask_failed(turn, job, event.error)
        case MakeShare() as job:
            sending.on_share_failed(turn, job)
        case ReleaseKey() as job:
            sending.on_release_failed(turn, job)
        case Combine():
            _round_over(turn, Event.COMBINE_FAILED, None)
    culprit = event.culprit
    blamed = isinstance(event.job, ImportPeer)  # when it was refused
    if culprit is not None and culprit in turn.memory.peers and not blamed:
        turn.effects.append(Blame(culprit, event.error))


def _expire(turn: Turn, event: Expired) -> None:
    if event.round > turn.round:
        raise LocalProtocolError(
            "the deadline of a round that has not begun",
            where="Expired",
            found=event.round,
            expected=f"at most {turn.round}",
        )
    if event.round < turn.round:
        return
    if turn.memory.state in (RoundState.LINKING, RoundState.RECEIVING):
        receiving.expire(turn)
        return
    exchanging = turn.memory.state is RoundState.EXCHANGING
    turn.memory = replace(turn.memory, state=ROUND.next(turn.memory.state, Event.EXPIRED))
    if exchanging:
        student.expire(turn)
        _step(turn)


def _take_note_of(turn: Turn, event: Presence) -> None:
    if event.peer not in turn.memory.peers:
        raise LocalProtocolError("there is no such peer", where="Presence", found=event.peer)
    turn.set_peer(event.peer, replace(turn.peer(event.peer), away=not event.here))
    if not event.here:
        student.give_up(turn, event.peer)
        receiving.link(turn)


def _settle(turn: Turn) -> None:
    """Step as soon as nothing is awaited and nothing unfinished."""
    if turn.memory.state is RoundState.EXCHANGING and not student.unsettled(turn):
        turn.memory = replace(turn.memory, state=ROUND.next(turn.memory.state, Event.SETTLED))
        _step(turn)
    if turn.ending is not None:
        how, error = turn.ending
        _round_over(turn, how, error)


def _step(turn: Turn) -> None:
    if turn.settings.gossip is not None:
        sending.adapt(turn)
        return
    peers = turn.memory.peers
    opened = _in_state(turn, AskingState.OPENED)
    turn.run(Step(turn.round, opened, tuple(peers[name].reputation for name in opened)))


def _round_over(turn: Turn, how: Event, step_error: str | None) -> None:
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
        reputations=_reputations(memory),
        step_error=step_error,
        offered=tuple(
            name for name, shares in memory.averaging.offers.get(turn.round, {}).items() if shares
        ),
        combined=memory.averaging.combined,
        lost=memory.averaging.lost,
    )
    turn.effects.append(RoundOver(turn.round, summary))


def _in_state(turn: Turn, state: AskingState) -> tuple[str, ...]:
    return tuple(name for name, peer in turn.memory.peers.items() if peer.asking.state is state)


def _reputations(memory: Memory) -> dict[str, float | None]:
    return {name: peer.reputation for name, peer in memory.peers.items()}
