"""Introductions: Hello, then Keys and Features, in both directions.

A participant says Hello to every peer when its first round begins. It sends its keys and features
to a peer once they are made and the peer's Hello agrees with its own. A peer whose keys and
features have arrived is imported, and may then be answered.

Channels may lose messages. A participant that misses a peer's Hello, Keys or Features says Hello
again at the beginning of its next round; who hears a Hello again sends everything again, at most
once a round. Repeated messages are harmless, so nobody needs to know what exactly was lost.

A participant that lost its keys makes others, of a higher epoch, and so does everybody after
`MachineSettings.key_rounds`, and whoever has encrypted features of patients who changed. Its peers
then forget the old ones and what came with them, import the new ones, and count what they answer
anew. A question says under which keys it can be answered.
Whoever lacks them keeps it and says Hello again. So nobody sends keys again because of what it
opened.
"""

from __future__ import annotations

from dataclasses import replace

from securefair.errors import RemoteProtocolError
from securefair.protocol import linking, student, teacher
from securefair.protocol.effects import Blame, SetDeadline
from securefair.protocol.jobs import ImportPeer, Prepared, PrepareKeysAndFeatures
from securefair.protocol.messages import (
    Features,
    Hello,
    Keys,
    fingerprint,
    name_of,
)
from securefair.protocol.states import (
    ADMISSION,
    PREPARATION,
    AdmissionState,
    Event,
    PreparationState,
    RoundState,
    ServingState,
)
from securefair.protocol.turn import Introduction, Turn, Upload

MAX_RENEWALS = 4
"""Of a peer's keys in one round: each is a cheap message, and costs a dear import."""

_INCOMPLETE = (AdmissionState.STRANGER, AdmissionState.GREETED)
_AGREEING = (AdmissionState.GREETED, AdmissionState.IMPORTING, AdmissionState.ADMITTED)


def renew_keys(turn: Turn, *, patients: bool = False) -> None:
    """Give up the own keys once another term of the public schedule has begun, or where features of
    earlier patients lie under them.

    Terms begin with round numbers, and not with what was opened, or told, in them; a hospital's
    patients change when they do.
    """
    upload, rounds = turn.memory.upload, turn.settings.key_rounds
    if upload.state is not PreparationState.READY:
        return
    over = rounds is not None and upload.since // rounds != turn.round // rounds
    if not over and not (patients and turn.settings.needs_features):
        return
    state = PREPARATION.next(upload.state, Event.SPENT)
    turn.memory = replace(
        turn.memory,
        upload=Upload(state, renewal=upload.renewal + 1, since=turn.round),
    )
    for name, peer in turn.memory.peers.items():
        introduction = replace(peer.introduction, upload_sent=False)
        turn.set_peer(name, replace(peer, introduction=introduction))


def begin(turn: Turn) -> None:
    """Greet (in later rounds: remind) every peer whose upload is not there; make the own one."""
    for name, peer in turn.memory.peers.items():
        awaited = _INCOMPLETE if turn.settings.imports_from(name) else (AdmissionState.STRANGER,)
        if not peer.introduction.greeted or peer.introduction.state in awaited:
            turn.greet(name)
        _send_upload(turn, name)
    upload = turn.memory.upload
    if turn.settings.needs_keys and upload.state is PreparationState.ABSENT:
        state = PREPARATION.next(upload.state, Event.START)
        turn.memory = replace(turn.memory, upload=replace(upload, state=state, since=turn.round))
        turn.run(PrepareKeysAndFeatures(upload.renewal))


def on_hello(turn: Turn, name: str, message: Hello) -> None:
    """Compare the public constants; refuse the peer if any differs."""
    introduction = turn.peer(name).introduction
    if introduction.state is not AdmissionState.STRANGER:
        if message != introduction.hello:
            raise RemoteProtocolError("said Hello again with other constants", culprit=name)
        _repeat_upload(turn, name)
        return
    difference = _difference(turn, name, message)
    if difference is None:
        event = Event.HELLO if turn.settings.needs_keys else Event.HELLO_SUFFICES
        state = ADMISSION.next(introduction.state, event)
        turn.set_introduction(name, replace(introduction, state=state, hello=message))
        _send_upload(turn, name)
        student.ask_waiting(turn)
        return
    state = ADMISSION.next(introduction.state, Event.HELLO_DIFFERS)
    turn.set_introduction(name, replace(introduction, state=state, hello=message))
    turn.effects.append(Blame(name, str(difference)))
    student.cannot_ask(turn, name)
    linking.link(turn)


def on_upload(turn: Turn, name: str, message: Keys | Features) -> None:
    """Keep one half of a peer's upload; import it when both halves are there."""
    settings = turn.settings
    if not (settings.needs_features if isinstance(message, Features) else settings.needs_keys):
        raise RemoteProtocolError(
            "sent what nobody uploads here", culprit=name, found=name_of(type(message))
        )
    if isinstance(message, Keys):
        _renew(turn, name, message)
    introduction = turn.peer(name).introduction
    kind = type(message)
    content = fingerprint(message)
    known = introduction.fingerprints.get(kind)
    if known is not None:
        if _of_other_keys(introduction, message):
            return
        if content != known:
            raise RemoteProtocolError(
                "sent other content than before; keys and features are fixed for a collaboration",
                culprit=name,
                where=name_of(kind),
                found=content.hex()[:16],
                expected=known.hex()[:16],
            )
        return
    fingerprints = {**introduction.fingerprints, kind: content}
    if isinstance(message, Keys):
        introduction = replace(
            introduction, keys=message, fingerprints=fingerprints, key_epoch=message.key_epoch
        )
    else:
        introduction = replace(
            introduction,
            features=message,
            fingerprints=fingerprints,
            samples=message.samples,
            data_epoch=message.data_epoch,
        )
    turn.set_introduction(name, introduction)
    _import_complete(turn, name)


def on_imported(turn: Turn, job: ImportPeer) -> None:
    """The peer's questions can be answered from now on, a waiting one first."""
    name = job.peer
    if _renewed_meanwhile(turn, job):
        return
    introduction = turn.peer(name).introduction
    state = ADMISSION.next(introduction.state, Event.IMPORTED)
    turn.set_introduction(name, replace(introduction, state=state, keys=None, features=None))
    teacher.serve_kept(turn)
    linking.link(turn)


def on_import_failed(turn: Turn, job: ImportPeer, error: str) -> None:
    """The upload is unusable: refuse the peer, as student and as teacher.

    One that sent newer keys meanwhile is blamed as well, and these are imported.
    """
    name = job.peer
    turn.effects.append(
        Blame(name, str(RemoteProtocolError("its upload is unusable", culprit=name, found=error)))
    )
    if _renewed_meanwhile(turn, job):
        return
    introduction = turn.peer(name).introduction
    state = ADMISSION.next(introduction.state, Event.IMPORT_FAILED)
    turn.set_introduction(name, replace(introduction, state=state, keys=None, features=None))
    teacher.refuse_kept(turn, name)
    student.cannot_ask(turn, name)
    teacher.serve_kept(turn)
    linking.link(turn)


def tell_again(turn: Turn, name: str) -> None:
    """A peer that began anew knows nothing of what it was told: everything again, at once."""
    introduction = turn.peer(name).introduction
    if not introduction.greeted or introduction.state is AdmissionState.REFUSED:
        return
    turn.greet(name)
    if introduction.upload_sent and turn.memory.upload.prepared is not None:
        _send_prepared(turn, name, turn.memory.upload.prepared)
        linking.introduced(turn, name)
    student.ask_again(turn, name)


def on_prepared(turn: Turn, prepared: Prepared) -> None:
    """The own keys and features are made: send them to whoever has said Hello."""
    upload = turn.memory.upload
    state = PREPARATION.next(upload.state, Event.DONE)
    turn.memory = replace(turn.memory, upload=replace(upload, state=state, prepared=prepared))
    if turn.round != turn.memory.first and turn.memory.state is RoundState.EXCHANGING:
        # Encrypting many samples may take long: after it peers have the whole time of a round.
        turn.effects.append(SetDeadline(turn.round, turn.seconds))
    for name in turn.memory.peers:
        _send_upload(turn, name)
    student.ask_waiting(turn)


def on_preparation_failed(turn: Turn) -> None:
    """Without keys nobody can be asked this round; the next round tries again."""
    upload = turn.memory.upload
    state = PREPARATION.next(upload.state, Event.FAILED)
    turn.memory = replace(turn.memory, upload=replace(upload, state=state))
    student.cannot_ask_anyone(turn)


def _renew(turn: Turn, name: str, message: Keys) -> None:
    """Forget a peer's old keys, and all that rests on them, where it sends newer ones."""
    peer = turn.peer(name)
    introduction = peer.introduction
    if Keys not in introduction.fingerprints or message.key_epoch <= introduction.key_epoch:
        return
    in_round, before = introduction.renewals
    times = 1 + (before if in_round == turn.round else 0)
    if times > MAX_RENEWALS:
        raise RemoteProtocolError(
            "renews its keys again and again",
            culprit=name,
            where=f"round {turn.round}",
            expected=f"at most {MAX_RENEWALS} times a round",
        )
    fresh = replace(
        introduction, keys=None, features=None, fingerprints={}, renewals=(turn.round, times)
    )
    if introduction.state is not AdmissionState.IMPORTING:  # whose end is waited for
        fresh = replace(fresh, state=ADMISSION.next(introduction.state, Event.RENEWED))
    # What was decided stays: new keys in the middle of a round are worth no second answer in it.
    decided = {
        at: serving
        for at, serving in peer.serving.items()
        if serving.state is not ServingState.KEPT
        or serving.asked.summed
        or serving.asked.key_epoch >= message.key_epoch
    }
    turn.set_peer(name, replace(peer, introduction=fresh, serving=decided))


def _of_other_keys(introduction: Introduction, message: Keys | Features) -> bool:
    """Whether an upload belongs to older keys, late; or to newer ones that are not there yet.

    Features that come before their keys come again once somebody reminds their sender.
    """
    if isinstance(message, Keys):
        return message.key_epoch < introduction.key_epoch
    return message.data_epoch != introduction.data_epoch


def _renewed_meanwhile(turn: Turn, job: ImportPeer) -> bool:
    """Whether newer keys came while these were imported; they are imported next."""
    introduction = turn.peer(job.peer).introduction
    if introduction.fingerprints.get(Keys) == fingerprint(job.keys):
        return False
    state = ADMISSION.next(introduction.state, Event.RENEWED)
    turn.set_introduction(job.peer, replace(introduction, state=state))
    _import_complete(turn, job.peer)
    return True


def _import_complete(turn: Turn, name: str) -> None:
    """Import a peer's upload once both halves are there."""
    introduction = turn.peer(name).introduction
    keys, features = introduction.keys, introduction.features
    if introduction.state is not AdmissionState.GREETED or keys is None:
        return
    if features is not None or not turn.settings.needs_features:
        state = ADMISSION.next(introduction.state, Event.UPLOADED)
        turn.set_introduction(name, replace(introduction, state=state))
        turn.run(ImportPeer(name, keys, features))


def _difference(turn: Turn, name: str, hello: Hello) -> RemoteProtocolError | None:
    """Why the peer cannot take part, as an error that names it; None if it can."""
    if hello.protocol_version != turn.settings.protocol:
        return RemoteProtocolError(
            "speaks another protocol version",
            culprit=name,
            found=hello.protocol_version,
            expected=turn.settings.protocol,
            hint="Install a version of securefair that speaks this one",
        )
    if hello.collaboration != turn.settings.collaboration:
        return RemoteProtocolError(
            "its public constants differ",
            culprit=name,
            where="hello.collaboration",
            found=hello.collaboration.hex()[:16],
            expected=turn.settings.collaboration.hex()[:16],
            hint="Features, classes, temperature, release, encryption parameters and forced_every "
            "must be equal everywhere; compare its configuration with yours",
        )
    required, guarantee = turn.settings.required, hello.guarantee
    if required is not None and (guarantee is None or not guarantee.covers(required)):
        return RemoteProtocolError(
            "it promises its patients less than is required here",
            culprit=name,
            where="hello.guarantee",
            found="nothing"
            if guarantee is None
            else f"epsilon {guarantee.epsilon:g}, delta {guarantee.delta:g}",
            expected=f"at most epsilon {required.epsilon:g}, delta {required.delta:g}",
        )
    return None


def _send_upload(turn: Turn, name: str) -> None:
    """Send the own keys and features to a peer that agrees, once they are made; once."""
    introduction = turn.peer(name).introduction
    prepared = turn.memory.upload.prepared
    if prepared is None or introduction.upload_sent or introduction.state not in _AGREEING:
        return
    if not turn.settings.uploads_to(name):
        return
    turn.set_introduction(name, replace(introduction, upload_sent=True))
    _send_prepared(turn, name, prepared)
    linking.introduced(turn, name)


def _repeat_upload(turn: Turn, name: str) -> None:
    """Answer a repeated Hello: everything again, at most once a round."""
    introduction = turn.peer(name).introduction
    prepared = turn.memory.upload.prepared
    uploaded = prepared is not None and introduction.upload_sent
    if introduction.upload_repeated_in == turn.round or uploaded != turn.settings.needs_keys:
        return
    turn.set_introduction(name, replace(introduction, upload_repeated_in=turn.round))
    turn.greet(name)
    if prepared is not None:
        _send_prepared(turn, name, prepared)
    student.ask_again(turn, name)


def _send_prepared(turn: Turn, name: str, prepared: Prepared) -> None:
    turn.send(name, prepared.keys)
    if prepared.features is not None:
        turn.send(name, prepared.features)
