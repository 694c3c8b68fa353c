"""Jobs: what a machine wants computed, and what comes back.

A job is a value that names everything its result depends on, apart from what the participant
itself holds (data, keys, the model as it was when the round began). Whoever hosts the machine
runs it, in whatever thread, process or virtual time, and reports `Done(job, result)` or
`Failed(job, error)` once. Results are tiny; models, gradients and decrypted logits stay with the
participant.

    PrepareKeysAndFeatures -> Prepared      as student, once
    ImportPeer             -> Imported      as teacher, once a student
    PrepareQuery           -> Predictions   as student, once a round, for loss and class_sums
    AnswerQuery            -> Answered      as teacher, once a student and round
    OpenAnswer             -> Opened        as student, once a teacher and round
    Step                   -> Stepped       once a round, at its end
"""

from __future__ import annotations

from typing import TypeAlias

from securefair.protocol.messages import Features, Keys
from securefair.protocol.value import Value


class PrepareKeysAndFeatures(Value, frozen=True, tag="prepare_keys_and_features"):
    """Generate this participant's keys and encrypt its features (and basis, if any)."""


class ImportPeer(Value, frozen=True, tag="import_peer"):
    """Validate and expand what a student uploaded; fails if the upload cannot be used."""

    peer: str
    keys: Keys
    features: Features


class PrepareQuery(Value, frozen=True, tag="prepare_query"):
    """Encrypt this participant's predictions for the queries of one round."""

    round: int


class AnswerQuery(Value, frozen=True, tag="answer_query"):
    """Evaluate the model of the beginning of `round` on a student's features and sanitise.

    May run while this participant steps, and even after its next round has begun: it always
    reads the model as it was when `round` began.
    """

    peer: str
    round: int
    exchange: int
    predictions: bytes


class OpenAnswer(Value, frozen=True, tag="open_answer"):
    """Decrypt a teacher's answer and, if `score`, update the opinion of that teacher.

    `reputation` is the opinion so far, None if there is none yet; the new one comes back in the
    result and replaces it only if the round has not ended meanwhile.
    """

    peer: str
    round: int
    exchange: int
    payload: bytes
    score: bool
    reputation: float | None


class Step(Value, frozen=True, tag="step"):
    """Take the round's optimiser steps with the teachers whose answers were opened.

    `reputations[i]` is this participant's opinion of `peers[i]`, scores of this round included.
    """

    round: int
    peers: tuple[str, ...]
    reputations: tuple[float | None, ...]


Job: TypeAlias = (
    ImportPeer | PrepareKeysAndFeatures | PrepareQuery | AnswerQuery | OpenAnswer | Step
)


class Prepared(Value, frozen=True, tag="prepared"):
    """What goes to every peer."""

    keys: Keys
    features: Features


class Imported(Value, frozen=True, tag="imported"):
    """The student's upload is usable; its expanded form stays with the participant."""


class Predictions(Value, frozen=True, tag="predictions"):
    """E(p), the same for every teacher of the round."""

    payload: bytes


class Answered(Value, frozen=True, tag="answered"):
    """The sanitised ciphertexts, ready to be sent."""

    payload: bytes


class Opened(Value, frozen=True, tag="opened"):
    """The answer is decrypted and kept by the participant for the step.

    `reputation` is the new opinion in [0, 1] if the job asked to score, else None.
    """

    reputation: float | None


class Stepped(Value, frozen=True, tag="stepped"):
    """The model has been updated."""


Result: TypeAlias = Prepared | Imported | Predictions | Answered | Opened | Stepped

RESULT_OF: dict[type[Job], type[Result]] = {
    PrepareKeysAndFeatures: Prepared,
    ImportPeer: Imported,
    PrepareQuery: Predictions,
    AnswerQuery: Answered,
    OpenAnswer: Opened,
    Step: Stepped,
}


def key_of(job: Job) -> tuple[str, str, int]:
    """(kind, peer, round): at most one job of a key is ever under way."""
    return type(job).__name__, getattr(job, "peer", ""), getattr(job, "round", -1)
