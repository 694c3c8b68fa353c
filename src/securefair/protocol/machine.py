"""One participant's protocol machine: inputs in, effects out, no I/O, clock or randomness.

A round, as student: Begin -> choose whom to ask -> Ask -> Answer or Decline -> OpenAnswer ->
when every question is settled or the deadline has passed: Step -> RoundOver. As teacher, all the
while and until the next Begin: Ask -> decide -> AnswerAsk -> Answer. The first round also makes and
exchanges keys and features, where questions do not bring them.

Where answers are opened only in a sum (settings.sums) they travel closed: Ask -> Answer of every
sender -> Reveal -> Key -> Combine, instead of a step; where a key is lost Recover -> Parts come
before. Where models are averaged single questions align gradients, in forced rounds only, and Adapt
and offers come before the sum.

Guarantees, whatever arrives in whatever order:

- a round ends: once its deadline has expired only this participant's own step is waited for;
- at most one answer is opened for each (peer, round), repeated questions get the same bytes;
- an unexpected message changes nothing and blames its sender;
- in rounds left to chance an answer is decided iff coin <= reputation and the ledger permits;
- a peer's reputation changes only when its answer is opened in a forced round, in time.

The transitions are in states.py. What they do is in rounds.py, admission.py, student.py and
teacher.py, for sums in linking.py, summing.py, opening.py and keys.py. Here inputs find their way:
messages by their type and by what is known of their sender, results of jobs in outcomes.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from securefair.errors import LocalProtocolError, RemoteProtocolError
from securefair.protocol import (
    admission,
    anew,
    keys,
    linking,
    outcomes,
    rounds,
    student,
    summing,
    teacher,
)
from securefair.protocol.effects import (
    BeganAnew,
    Begin,
    Blame,
    Done,
    Effect,
    Expired,
    Failed,
    Input,
    Presence,
    Received,
    Waited,
)
from securefair.protocol.ledger import Ledger
from securefair.protocol.messages import (
    Answer,
    Ask,
    Decline,
    Features,
    Hello,
    Key,
    Keys,
    Offer,
    Parts,
    Recover,
    Reveal,
    name_of,
)
from securefair.protocol.saved_state import SavedState
from securefair.protocol.settings import MachineSettings
from securefair.protocol.states import AdmissionState
from securefair.protocol.turn import Memory, Peer, Turn


class ParticipantMachine:
    """Decides what one participant says and computes, and when.

    Args:
        name: this participant.
        peers: all others; their order is the order of every list in the effects.
        settings: see MachineSettings.
        saved_state: of a participant that was recovered; this machine begins the next round.
        memory: of a machine whose process ended (`stored`); this one goes on in the middle.

    Raises:
        LocalProtocolError: a name is empty, doubled, or among the peers; or the memory is
            that of other peers.
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
    def memory(self) -> Memory:
        """Everything the machine knows; immutable."""
        return self._memory

    @property
    def reputations(self) -> Mapping[str, float | None]:
        """This participant's reputation of each peer; None before its first scored answer."""
        return rounds.reputations(self._memory)

    @property
    def awaited(self) -> tuple[str, ...]:
        """Peers without whom the round would go on if its deadline passed now."""
        return rounds.awaited(self._memory, self.settings)

    @property
    def ledger(self) -> Ledger:
        """What this participant has disclosed as teacher."""
        return self._memory.ledger

    def charge(self, student: str, *, numbers: int, version: int, basis: str, samples: int) -> None:
        """Count an answer that the host is about to compute, where only a question says how much
        it discloses (`MachineSettings.needs_keys` is False).

        Args:
            student, numbers, version, basis, samples: as of `Ledger.charge`.

        Raises:
            LedgerError: a limit would be exceeded; nothing is counted.
        """
        ledger = self.ledger.charge(
            student, numbers=numbers, version=version, basis=basis, samples=samples
        )
        self._memory = replace(self._memory, ledger=ledger)

    def tell(self, peer: str, bits: float) -> None:
        """Count bits of opened values that a decision of the host tells a peer."""
        self._memory = replace(self._memory, ledger=self.ledger.with_bits(peer, bits))

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
        rounds.settle(turn)
        self._memory = turn.memory
        return turn.effects


def _recalled(memory: Memory, saved_state: SavedState) -> Memory:
    """A fresh memory that goes on with these rounds and accounts; everyone is a stranger."""
    return replace(
        memory,
        ledger=replace(memory.ledger, accounts=saved_state.accounts),
        round=saved_state.round,
        teacher_version=saved_state.teacher_version,
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
            rounds.begin(turn, event)
        case Received():
            _receive(turn, event)
        case Done():
            outcomes.done(turn, event)
        case Failed():
            outcomes.failed(turn, event)
        case Expired():
            rounds.expire(turn, event)
        case Presence():
            _take_note_of(turn, event)
        case BeganAnew():
            _check_known(turn, event)
            anew.begin_anew(turn, event.peer)
        case Waited():
            rounds.ask_again(turn)


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
        case Ask():
            teacher.on_ask(turn, sender, message)
        case Reveal():
            keys.on_reveal(turn, sender, message)
        case Recover():
            keys.on_recover(turn, sender, message)
        case Answer(summed=False) | Decline(summed=False):
            student.on_reply(turn, sender, message)
        case Answer() | Decline() | Key() | Parts():
            summing.on_reply(turn, sender, message)
        case Offer():
            linking.on_offer(turn, sender, message)


def _check_known(turn: Turn, event: Presence | BeganAnew) -> None:
    if event.peer not in turn.memory.peers:
        where = type(event).__name__
        raise LocalProtocolError("there is no such peer", where=where, found=event.peer)


def _take_note_of(turn: Turn, event: Presence) -> None:
    _check_known(turn, event)
    turn.set_peer(event.peer, replace(turn.peer(event.peer), away=not event.here))
    if event.here:
        student.ask_who_is_back(turn, event.peer)
    else:
        student.give_up(turn, event.peer)
        linking.link(turn)
        summing.give_up(turn, event.peer)
