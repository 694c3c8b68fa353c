"""A distilling participant whose process may end: what it must remember, in pieces.

    host state        model and optimiser                         after every step
    host model R      the model as it was when a round began      after every beginning
    host notes        what was opened in the rounds that are kept after every opening
    host upload PEER  a peer's keys and features, as they came    after every import

Pieces hold numbers and public bytes. The secret key is in the keystore.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from securefair.collaboration.disclosure import DisclosureLimits
from securefair.collaboration.distillation.participant import (
    KEPT_ROUNDS,
    ModelConfig,
    Participant,
    RoundNotes,
)
from securefair.collaboration.distillation.setup import Collaboration
from securefair.collaboration.state import decode_state, encode_state
from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import DataError
from securefair.exchange.student import Opened
from securefair.model.building import build_model
from securefair.model.heads import Head
from securefair.model.training import TrainState, evaluate
from securefair.protocol.jobs import ImportPeer, Job, OpenAnswer, Result, Step
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import Features, Keys
from securefair.protocol.saved_state import SavedState
from securefair.protocol.turn import Memory
from securefair.storage import Secret

STATE, MODEL, NOTES, UPLOAD = "host state", "host model ", "host notes", "host upload "

Array = NDArray[np.float64]
_Upload = tuple[Keys, Features | None]


class _Notes(TypedDict):
    """Of one round."""

    opened: dict[str, tuple[Array, Array | None, float | None]]
    alignment: dict[str, float]
    distillation_loss: dict[str, float]


class DistillingHost:
    """One participant, see `site.SiteHost`.

    Args:
        data: its samples.
        collaboration: what was agreed.
        model: its own model.
        seed: of first weights and mini-batches; secret in a deployment.
        backend: encryption engine.
        disclosure: how much it lets out as teacher.
        keys: of its student role; None makes new ones.
        stored: pieces that `changed` gave to an earlier process; empty for the first one.
        memory: of its machine, in the same transaction; None for the first process.
        saved_state: what its machine begins with after a recovery, where there is no memory.
        key_epoch: of its keys as a student.

    Raises:
        PlanError, DataError, ModelError, EncryptionError: something does not fit what was agreed.
    """

    def __init__(
        self,
        data: ParticipantData,
        collaboration: Collaboration,
        model: ModelConfig,
        *,
        seed: int,
        backend: str,
        disclosure: DisclosureLimits | None = None,
        keys: Secret | None = None,
        stored: Mapping[str, bytes] | None = None,
        memory: Memory | None = None,
        saved_state: SavedState | None = None,
        key_epoch: int = 0,
    ) -> None:
        self.participant = Participant(
            data,
            collaboration,
            model,
            seed=seed,
            backend=backend,
            disclosure=disclosure,
            keys=keys,
            memory=memory,
            key_epoch=key_epoch,
        )
        self._changed: dict[str, bytes] = {}
        if stored and STATE in stored:
            self._restore(stored)
        else:
            self.participant.train_alone()
            self._changed[STATE] = encode_state(self.participant.train_state)
        if memory is None and saved_state is not None:
            self.participant.restore(self.participant.train_state, saved_state)

    @property
    def name(self) -> str:
        """See `SiteHost`."""
        return self.participant.name

    @property
    def machine(self) -> ParticipantMachine:
        """See `SiteHost`."""
        return self.participant.machine

    def begin(self, round: int) -> None:
        """See `SiteHost`."""
        self.participant.begin(round)
        snapshot = self.participant.rounds[round].snapshot
        self._changed[f"{MODEL}{round % (KEPT_ROUNDS + 1)}"] = _weights(snapshot)
        self._changed[NOTES] = self._notes()

    def run(self, job: Job) -> Result:
        """See `SiteHost`."""
        result = self.participant.run(job)
        match job:
            case Step():
                self._changed[STATE] = encode_state(self.participant.train_state)
            case OpenAnswer():
                self._changed[NOTES] = self._notes()
            case ImportPeer():
                upload = msgspec.msgpack.encode((job.keys, job.features))
                self._changed[UPLOAD + job.peer] = upload
        return result

    def changed(self) -> Mapping[str, bytes]:
        """See `SiteHost`."""
        changed, self._changed = self._changed, {}
        return changed

    def measured(self, round: int) -> Mapping[str, float]:
        """Accuracy in [0, 1] on the own test samples, cross-entropy on the own training samples."""
        del round  # the model is that of now
        model, data = self.participant.train_state.model, self.participant.data
        tested, trained = evaluate(model, data.test), evaluate(model, data.train)
        return {"accuracy": tested.accuracy, "cross_entropy": trained.cross_entropy}

    def _notes(self) -> bytes:
        return encode_state(
            {
                number: {
                    "opened": {
                        peer: (opened.released, opened.logits, opened.unexplained)
                        for peer, opened in notes.opened.items()
                    },
                    "alignment": dict(notes.alignment),
                    "distillation_loss": dict(notes.distillation_loss),
                }
                for number, notes in self.participant.rounds.items()
            }
        )

    def _restore(self, stored: Mapping[str, bytes]) -> None:
        own = self.participant
        own.train_state = decode_state(stored[STATE], own.train_state)
        template: dict[int, _Notes] = {}
        notes = decode_state(stored[NOTES], template) if NOTES in stored else template
        for number, content in notes.items():
            piece = stored.get(f"{MODEL}{number % (KEPT_ROUNDS + 1)}")
            if piece is None:
                raise DataError("the store lacks a round's model", where=own.name, found=number)
            own.rounds[number] = _notes_of(content, _with_weights(own, piece))
        own.prepare()
        for name, data in stored.items():
            if name.startswith(UPLOAD):
                keys, features = msgspec.msgpack.decode(data, type=_Upload)
                own.run(ImportPeer(name.removeprefix(UPLOAD), keys, features))


def template_state(model: ModelConfig, features: int, classes: int) -> TrainState:
    """A model of this shape before any training, to read a stored one into."""
    blank = Samples(np.zeros((classes, features)), np.arange(classes), classes)
    head = build_model(
        model.kind,
        blank,
        hidden=model.hidden,
        network=model.network,
        range_penalty=model.range_penalty,
        seed=0,
    )
    return TrainState.start(head, model.optimizer)


def _weights(model: Head) -> bytes:
    return encode_state([parameter.detach() for parameter in model.parameters()])


def _with_weights(own: Participant, piece: bytes) -> Head:
    model = own.train_state.copy().model
    weights: list[torch.Tensor] = decode_state(piece, [])
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), weights, strict=True):
            parameter.copy_(value)
    return model


def _notes_of(content: _Notes, snapshot: Head) -> RoundNotes:
    return RoundNotes(
        snapshot,
        opened={peer: Opened(*parts) for peer, parts in content["opened"].items()},
        alignment=content["alignment"],
        distillation_loss=content["distillation_loss"],
    )
