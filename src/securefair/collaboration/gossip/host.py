"""A participant that averages, whose process may end: what it must remember, in pieces.

    kept state          model, momentum and the row of weights                whenever one changes
    round R             the model as the round began and after its own step   as the round goes on
    floor               the first round that is still open for shares         after every beginning
    share PEER ROUND    its masked share, closed, and its key                 before it leaves
    upload PEER         a peer's keys                                         after every import

A share is stored before it leaves, and what is sent again are the same bytes: no second share is
ever made under one mask, whenever the process ends. Secret keys are in the keystore.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import torch

from securefair.collaboration.gossip.participant import GossipNotes, GossipParticipant
from securefair.collaboration.host import KEPT, stored_imports, stored_shares
from securefair.collaboration.notes import KEPT_ROUNDS
from securefair.collaboration.state import decode_state, encode_state
from securefair.data.dataset import Samples
from securefair.errors import ConfigError
from securefair.model.stacked import Stacked
from securefair.model.stored import Function, NamedNetwork
from securefair.model.training import Evaluation
from securefair.protocol.jobs import (
    Adapt,
    AnswerAsk,
    Combine,
    ImportPeer,
    Job,
    JobResult,
    OpenAnswer,
    PrepareAsk,
    PrepareKeysAndFeatures,
    ReleaseKey,
)

STATE = KEPT + "state"
ROUND, FLOOR = "round ", "floor"


class GossipHost(GossipParticipant):
    """See `Host`; the arguments are `GossipParticipant`'s."""

    def train_alone(self) -> None:
        """See `GossipParticipant`."""
        super().train_alone()
        self._remember_state()

    def begin(self, round: int) -> None:
        """See `Host`."""
        before = set(self._shares.made)
        super().begin(round)
        if not self._remembers:
            return
        self._remember_round(round)
        self._changed[FLOOR] = msgspec.msgpack.encode(self._shares.floor)
        self._forget_shares(before - set(self._shares.made))

    def run(self, job: Job) -> JobResult:
        """See `Host`."""
        result = super().run(job)
        if not self._remembers:
            return result
        match job:
            case PrepareKeysAndFeatures() if job.renewal:
                self._keep(self.export_keys())
            case ImportPeer():
                self._remember_import(job)
            case OpenAnswer():
                self._remember_round(job.round)
            case Adapt() | PrepareAsk(summed=True):
                self._remember_round(job.round)
                self._remember_state()
            case Combine():
                self._remember_state()
            case AnswerAsk(senders=senders) | ReleaseKey(senders=senders) if senders:
                self._remember_share(self._shares.made[job.peer, job.round])
        return result

    def reputations(self) -> Mapping[str, float | None]:
        """See `Host`: weights of models in its average."""
        return self.row.of_neighbours()

    def measured(self, round: int) -> Mapping[str, float]:
        """Accuracy in [0, 1] on the own test samples, cross-entropy on the own training samples."""
        del round
        stacked, vectors = self.agreement.stacked, self.train_states.vectors
        tested, trained = (
            evaluated(stacked, vectors, part) for part in (self.data.test, self.data.train)
        )
        return {"accuracy": tested.accuracy, "cross_entropy": trained.cross_entropy}

    def refitted(self, pieces: Mapping[str, bytes], without: str) -> Function:
        """See `Host`.

        Raises:
            ConfigError: always; nobody can be taken out of sums.
        """
        del pieces
        raise ConfigError(
            "only sums of models were received: nobody can be taken out of them",
            where=self.name,
            found=without,
            expected="a new project without that peer",
        )

    def received(self, round: int) -> Mapping[str, int]:
        """See `Host`: alignments. A sum is of several models, and no number of one of them."""
        return dict.fromkeys(self.rounds[round].alignment, 1)

    def model(self) -> Function:
        """See `Host`."""
        agreed = self.agreement
        return NamedNetwork(
            agreed.network, agreed.facts.shape, agreed.classes, self.vector.astype(np.float64)
        )

    def _remember_state(self) -> None:
        if self._remembers:
            state = (self.train_states, self.row.unnormalised, self.row.similarities)
            self._changed[STATE] = encode_state(state)

    def _remember_round(self, round: int) -> None:
        notes = self.rounds[round]
        content = {
            "round": round,
            "start": notes.start,
            "adapted": notes.adapted,
            "mixed": notes.mixed,
            "alignment": dict(notes.alignment),
        }
        self._changed[f"{ROUND}{round % (KEPT_ROUNDS + 1)}"] = encode_state(content)

    def _restore(self, pieces: Mapping[str, bytes]) -> None:
        template = (self.train_states, self.row.unnormalised, self.row.similarities)
        self.train_states, unnormalised, similarities = decode_state(pieces[STATE], template)
        self.row = replace(self.row, unnormalised=unnormalised, similarities=similarities)
        floor = msgspec.msgpack.decode(pieces[FLOOR], type=int) if FLOOR in pieces else 0
        self._shares = stored_shares(pieces, floor)
        for name, data in pieces.items():
            if name.startswith(ROUND):
                self._restore_round(data)
        for job in stored_imports(pieces):
            super().run(job)

    def _restore_round(self, data: bytes) -> None:
        like = self.train_states
        template: dict[str, Any] = {"start": like, "adapted": like}
        content = decode_state(data, template)
        if content["round"] <= self.machine.memory.round - KEPT_ROUNDS:
            return
        self.rounds[content["round"]] = GossipNotes(
            content["start"],
            adapted=content["adapted"],
            mixed=content["mixed"],
            alignment=content["alignment"],
        )


def evaluated(stacked: Stacked, vectors: torch.Tensor, samples: Samples) -> Evaluation:
    """Scores of one network."""
    features = torch.from_numpy(samples.features).to(stacked.dtype)
    labels = torch.tensor(samples.labels)
    logits = stacked.logits(vectors, features, shared=True)[0]
    hits = (logits.argmax(dim=1) == labels).double().mean()
    loss = torch.nn.functional.cross_entropy(logits, labels)
    return Evaluation(accuracy=float(hits), cross_entropy=float(loss))
