"""Jobs: what a machine wants computed, and what comes back.

A job is a value that names everything its result depends on, apart from what the participant
itself holds (data, keys, the model as it was when the round began). Whoever hosts the machine
runs it, in whatever thread, process or virtual time, and reports `Done(job, result)` or
`Failed(job, error)` once. Results are tiny; models, gradients and decrypted logits stay with the
participant.

    PrepareKeysAndFeatures -> Prepared      as student, once, and again when a key is renewed
    ImportPeer             -> Imported      as teacher, once a student
    PrepareAsk             -> Questions     as student, once a round, or once an attempt at a sum
    AnswerAsk              -> Answered      as teacher, once a student and round, or an attempt
    OpenAnswer             -> Opened        as student, once a teacher and round
    Step                   -> Stepped       once a round, at its end

Where sums are opened:

    ReleaseKey             -> KeyReleased   as teacher, once a student and round
    ReleaseParts           -> PartsReleased as teacher, as often, where keys of others do not come
    Combine                -> Combined      as student, once a round, instead of OpenAnswer

and where models are averaged, instead of Step:

    Adapt                  -> Adapted       own step, own weights, with whom links are likely
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from securefair.protocol.messages import DeclineReason, Features, Keys
from securefair.protocol.value import Value


class PrepareKeysAndFeatures(Value, frozen=True, tag="prepare_keys_and_features"):
    """Generate this participant's keys and encrypt its features (and basis, if any).

    `renewal` counts the keys that are made anew after the first: their epoch is so much higher.
    """

    renewal: int = 0


class ImportPeer(Value, frozen=True, tag="import_peer"):
    """Validate and expand what a student uploaded; fails if the upload cannot be used."""

    peer: str
    keys: Keys
    features: Features | None


class PrepareAsk(Value, frozen=True, tag="prepare_ask"):
    """Make the questions to `teachers` in one round.

    With `summed` all of them answer to one sum, and `attempt` says which attempt at it this is.
    """

    round: int
    attempt: int
    teachers: tuple[str, ...]
    summed: bool = False


class AnswerAsk(Value, frozen=True, tag="answer_ask"):
    """Answer a student's question, sanitised; with `senders` masked and closed, as a part of a sum.

    May run while this participant steps, and even after its next round has begun. An answer reads
    the model of the beginning of `round`, a part of a sum of models that after Adapt.
    """

    peer: str
    round: int
    attempt: int
    payload: bytes
    senders: tuple[str, ...] = ()


class OpenAnswer(Value, frozen=True, tag="open_answer"):
    """Decrypt a teacher's answer and, if `score`, update the reputation of that teacher.

    `reputation` is the reputation so far, None if there is none yet; the new one comes back in the
    result and replaces it only if the round has not ended meanwhile.
    """

    peer: str
    round: int
    payload: bytes
    score: bool
    reputation: float | None


class Step(Value, frozen=True, tag="step"):
    """Take the round's optimiser steps with the teachers whose answers were opened.

    `reputations[i]` is this participant's reputation of `peers[i]`, scores of this round included.
    """

    round: int
    peers: tuple[str, ...]
    reputations: tuple[float | None, ...]


class Adapt(Value, frozen=True, tag="adapt"):
    """Take the round's local steps; in scored rounds, weigh the neighbours anew.

    `reputations[i]` is the similarity to `peers[i]`, whose alignment was opened this round.
    """

    round: int
    peers: tuple[str, ...]
    reputations: tuple[float | None, ...]


class ReleaseKey(Value, frozen=True, tag="release_key"):
    """Give away the key of the answer that was made for this attempt."""

    peer: str
    round: int
    attempt: int
    senders: tuple[str, ...]


class ReleaseParts(Value, frozen=True, tag="release_parts"):
    """Give away parts of the keys of senders that are lost, after the own key.

    `salts` are the ends of their answers, as the student says, in the same order.
    """

    peer: str
    round: int
    attempt: int
    senders: tuple[str, ...]
    lost: tuple[str, ...]
    salts: tuple[bytes, ...]


class Combine(Value, frozen=True, tag="combine"):
    """Open the sum and put it, with the own share, in the place of the model.

    `parts` are those of keys that are not among `keys`, by sender and by who gave them.
    """

    round: int
    attempt: int
    senders: tuple[str, ...]
    closed: Mapping[str, bytes]
    keys: Mapping[str, bytes]
    parts: Mapping[str, Mapping[str, bytes]] = {}


Job: TypeAlias = (
    ImportPeer
    | PrepareKeysAndFeatures
    | PrepareAsk
    | AnswerAsk
    | OpenAnswer
    | Step
    | Adapt
    | ReleaseKey
    | ReleaseParts
    | Combine
)


class Prepared(Value, frozen=True, tag="prepared"):
    """What goes to every peer; gossip encrypts no features."""

    keys: Keys
    features: Features | None


class Imported(Value, frozen=True, tag="imported"):
    """The student's upload is usable; its expanded form stays with the participant."""


class Questions(Value, frozen=True, tag="questions"):
    """What each teacher is asked; empty if there is nothing to ask."""

    payloads: Mapping[str, bytes]


class Answered(Value, frozen=True, tag="answered"):
    """The answer, ready to be sent; or why the student gets none."""

    payload: bytes
    declined: DeclineReason | None = None


class OpenedAnswer(Value, frozen=True, tag="opened"):
    """The answer is decrypted and kept by the participant for the step.

    `reputation` is the new reputation in [0, 1] if the job asked to score, else None.
    `doubtful`: a statistical test refused the answer, and nothing but the reputation comes of it.
    """

    reputation: float | None
    doubtful: bool = False


class Stepped(Value, frozen=True, tag="stepped"):
    """The model has been updated."""


class Adapted(Value, frozen=True, tag="adapted"):
    """The local steps are taken; how likely this participant shares with each neighbour.

    With a problem they are not, and the model is as it was: offers and sums go on with that one.
    Others have a part in it, so that a round without offers would tell them of own gradients.
    """

    probabilities: Mapping[str, float]
    problem: str | None = None


class KeyReleased(Value, frozen=True, tag="key_released"):
    """What opens it."""

    key: bytes


class PartsReleased(Value, frozen=True, tag="parts_released"):
    """One of each that is lost."""

    parts: tuple[bytes, ...]


class Combined(Value, frozen=True, tag="combined"):
    """The model is the average now."""


JobResult: TypeAlias = (
    Prepared
    | Imported
    | Questions
    | Answered
    | OpenedAnswer
    | Stepped
    | Adapted
    | KeyReleased
    | PartsReleased
    | Combined
)

RESULT_OF: dict[type[Job], type[JobResult]] = {
    PrepareKeysAndFeatures: Prepared,
    ImportPeer: Imported,
    PrepareAsk: Questions,
    AnswerAsk: Answered,
    OpenAnswer: OpenedAnswer,
    Step: Stepped,
    Adapt: Adapted,
    ReleaseKey: KeyReleased,
    ReleaseParts: PartsReleased,
    Combine: Combined,
}


def key_of(job: Job) -> tuple[str, str, int]:
    """(kind, peer, round): at most one job of a key is ever under way.

    A sum may be tried again while the first attempt is still computed.
    """
    kind = type(job).__name__
    match job:
        case PrepareAsk(summed=True) | ReleaseKey() | ReleaseParts():
            kind += f" of sum {job.attempt}"
        case AnswerAsk(senders=senders) if senders:
            kind += f" of sum {job.attempt}"
    return kind, getattr(job, "peer", ""), getattr(job, "round", -1)
