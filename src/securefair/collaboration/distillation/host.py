"""A participant that distils, whose process may end: what it must remember, in pieces.

    kept state      model and optimiser                              after every step
    kept first      the same before the first round, for `refit`     once
    kept step R     what the step of round R learnt from             after every step
    model R         the model as it was when a round began           after every beginning
    notes           what was opened in the rounds that are kept      after every opening
    upload PEER     a peer's keys and features, as they came         after every import

Pieces hold numbers and public bytes. The secret key is in the keystore.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

import numpy as np
import torch
from numpy.typing import NDArray

from securefair.collaboration.distillation.participant import Participant, RoundNotes
from securefair.collaboration.host import KEPT, stored_imports
from securefair.collaboration.notes import KEPT_ROUNDS
from securefair.collaboration.state import decode_state, encode_state
from securefair.data.dataset import ParticipantData
from securefair.errors import DataError
from securefair.exchange.answerer import Answerer
from securefair.exchange.opened import Opened
from securefair.model.heads import Head
from securefair.model.stored import Function, function_of
from securefair.model.training import TrainState, evaluate
from securefair.protocol.jobs import (
    ImportPeer,
    Job,
    JobResult,
    OpenAnswer,
    PrepareKeysAndFeatures,
    Step,
)

STATE, FIRST, STEP = KEPT + "state", KEPT + "first", KEPT + "step "
MODEL, NOTES = "model ", "notes"

PREPARED_AT_ONCE = 4
"""Encryptions of zero: some ten milliseconds, after which a site looks at its post again."""

Array = NDArray[np.float64]
_Learnt = dict[str, tuple[Array, float]]


class _Notes(TypedDict):
    """Of one round."""

    opened: dict[str, tuple[Array, Array | None, float | None]]
    alignment: dict[str, float]
    distillation_loss: dict[str, float]


class DistillingHost(Participant):
    """See `Host`; the arguments are `Participant`'s."""

    def train_alone(self) -> None:
        """See `Participant`."""
        super().train_alone()
        self._remember(STATE, self.train_state)
        self._remember(FIRST, self.train_state)

    def begin(self, round: int) -> None:
        """See `Host`."""
        super().begin(round)
        snapshot = self.rounds[round].snapshot
        self._remember(f"{MODEL}{round % (KEPT_ROUNDS + 1)}", _weights(snapshot))
        self._remember(NOTES, _notes(self.rounds))

    def run(self, job: Job) -> JobResult:
        """See `Host`."""
        result = super().run(job)
        match job:
            case PrepareKeysAndFeatures() if job.renewal and self._remembers:
                self._keep(self.export_keys())
            case Step():
                self._remember(STATE, self.train_state)
                self._remember(f"{STEP}{job.round:06d}", self.learnt_from(job))
            case OpenAnswer():
                self._remember(NOTES, _notes(self.rounds))
            case ImportPeer() if self._remembers:
                self._remember_import(job)
        return result

    def renew(self, data: ParticipantData) -> None:
        """See `Participant`; what was learnt of earlier patients cannot be learnt again."""
        super().renew(data)
        if self._remembers:
            self._changed[FIRST] = None
            rounds = range(self.machine.memory.round + 1)
            self._changed |= {f"{STEP}{number:06d}": None for number in rounds}

    def reputations(self) -> Mapping[str, float | None]:
        """See `Host`: reputations."""
        return self.machine.reputations

    def measured(self, round: int) -> Mapping[str, float]:
        """Accuracy in [0, 1] on the own test samples, cross-entropy on the own training samples."""
        del round  # the model is that of now
        model = self.train_state.model
        tested, trained = evaluate(model, self.data.test), evaluate(model, self.data.train)
        return {"accuracy": tested.accuracy, "cross_entropy": trained.cross_entropy}

    def received(self, round: int) -> Mapping[str, int]:
        """See `Host`."""
        opened = self.rounds[round].opened
        return {peer: int(parts.released.size) for peer, parts in opened.items()}

    def idle(self) -> bool:
        """See `Host`: encryptions of zero, which hide the next answers."""
        return any(
            Answerer.prepare(upload, most=PREPARED_AT_ONCE) for upload in self._uploads.values()
        )

    def model(self) -> Function:
        """See `Host`."""
        return function_of(self.train_state.model)

    def refitted(self, pieces: Mapping[str, bytes], without: str) -> Function:
        """See `Host`: every step again, from the first model, without one teacher's answers.

        Raises:
            DataError: that teacher is in no step, or the first model is missing.
        """
        if FIRST not in pieces:
            raise DataError(
                "the store lacks the first model",
                where=self.name,
                hint="Where patients were renewed, what peers said of the earlier ones stays in",
            )
        train_state: TrainState = decode_state(pieces[FIRST], self.train_state)
        empty: _Learnt = {}
        learnt = [
            decode_state(pieces[name], empty) for name in sorted(pieces) if name.startswith(STEP)
        ]
        if not any(without in step for step in learnt):
            raise DataError("no answer of that peer is in the model", found=without)
        for step in learnt:
            left = {peer: parts for peer, parts in step.items() if peer != without}
            self.learn(
                train_state,
                {peer: logits for peer, (logits, _) in left.items()},
                {peer: reputation for peer, (_, reputation) in left.items()},
            )
        return function_of(train_state.model)

    def _remember(self, name: str, value: object) -> None:
        if self._remembers:
            self._changed[name] = encode_state(value)

    def _restore(self, pieces: Mapping[str, bytes]) -> None:
        self.train_state = decode_state(pieces[STATE], self.train_state)
        template: dict[int, _Notes] = {}
        notes = decode_state(pieces[NOTES], template) if NOTES in pieces else template
        for number, content in notes.items():
            piece = pieces.get(f"{MODEL}{number % (KEPT_ROUNDS + 1)}")
            if piece is None:
                raise DataError("the store lacks a round's model", where=self.name, found=number)
            snapshot = _with_weights(self.train_state.copy().model, piece)
            self.rounds[number] = RoundNotes(
                snapshot,
                opened={peer: Opened(*parts) for peer, parts in content["opened"].items()},
                alignment=content["alignment"],
                distillation_loss=content["distillation_loss"],
            )
        if self.alignments is not None:
            known = [one for one in self.machine.reputations.values() if one is not None]
            self.alignments.formed_earlier(len(known))
        self.prepare()
        for job in stored_imports(pieces):
            super().run(job)


def _weights(model: Head) -> list[torch.Tensor]:
    return [parameter.detach() for parameter in model.parameters()]


def _with_weights(model: Head, piece: bytes) -> Head:
    weights: list[torch.Tensor] = decode_state(piece, [])
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), weights, strict=True):
            parameter.copy_(value)
    return model


def _notes(rounds: Mapping[int, RoundNotes]) -> dict[int, _Notes]:
    return {
        number: {
            "opened": {
                peer: (opened.released, opened.logits, opened.unexplained)
                for peer, opened in notes.opened.items()
            },
            "alignment": dict(notes.alignment),
            "distillation_loss": dict(notes.distillation_loss),
        }
        for number, notes in rounds.items()
    }
