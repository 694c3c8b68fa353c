"""One participant that averages models: owns data, model and keys, and carries out its jobs.

Decisions are the machine's; every job here is a call into `alignment`, `weighing`, `averaging` or
the training of networks. Only bytes come in from peers and only bytes go out to them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from securefair.averaging import Gathering, Shares, SumKeys, make_share, open_sum, release
from securefair.averaging.spec import check_vector
from securefair.ckks.keys import PublicKeys
from securefair.collaboration.gossip.agreement import GossipAgreement
from securefair.collaboration.gossip.alignment import AlignmentStudent, AlignmentTeacher
from securefair.collaboration.gossip.weighing import WeightRow
from securefair.collaboration.host import Host, Stored
from securefair.collaboration.notes import KEPT_ROUNDS, Rounds, timed
from securefair.config import defaults
from securefair.data.dataset import ParticipantData
from securefair.errors import DataError, EncryptionError, LocalProtocolError, ModelError
from securefair.model.batches import StackedSamples, draw_batches
from securefair.model.optimizer import OptimizerConfig
from securefair.model.seeds import derive_seed
from securefair.model.stacked_training import TrainStates, gradients, train
from securefair.protocol.jobs import (
    Adapt,
    Adapted,
    AnswerAsk,
    Answered,
    Combine,
    Combined,
    Imported,
    ImportPeer,
    Job,
    JobResult,
    KeyReleased,
    OpenAnswer,
    OpenedAnswer,
    PrepareAsk,
    Prepared,
    PrepareKeysAndFeatures,
    Questions,
    ReleaseKey,
)
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import Keys
from securefair.storage import Secret

Array = NDArray[np.float64]

MARGIN = 1 / 16
"""Of the planned range, that averages leave to own steps: senders choose where an average is."""


@dataclass(eq=False)
class GossipNotes:
    """What a participant saw of one round; stays at home but for the simulation's records."""

    start: TrainStates  # as it was when the round began
    direction: Array | None = None
    adapted: TrainStates | None = None
    mixed: Array | None = None  # the row of W~ of the last attempt
    alignment: dict[str, float] = field(default_factory=dict)
    asked_seconds: dict[str, float] = field(default_factory=dict)  # spent on what it asked a peer
    answered_seconds: dict[str, float] = field(default_factory=dict)  # spent on a peer's questions


class GossipParticipant(Host):
    """One participant.

    Args:
        data: its samples; `test` is never used here but by whoever evaluates.
        agreement: what was agreed.
        optimizer: of its local steps.
        pretraining_epochs: alone, before round 0 (`train_alone`).
        seed: of mini-batches.
        backend: encryption engine of alignments.
        stored: what an earlier process has left; None remembers nothing.

    Its keys leave it in no form but encrypted or public, or as a secret for its keystore.

    Raises:
        DataError, ModelError, PlanError: data or network do not fit what was agreed.
    """

    def __init__(
        self,
        data: ParticipantData,
        agreement: GossipAgreement,
        optimizer: OptimizerConfig,
        *,
        pretraining_epochs: int = 0,
        seed: int,
        backend: str = defaults.BACKEND,
        stored: Stored | None = None,
    ) -> None:
        super().__init__(stored)
        left = stored or Stored()
        check_data(agreement, data)
        self.name, self.data, self.agreement = data.name, data, agreement
        self.machine = ParticipantMachine(
            self.name,
            agreement.met_by(self.name),
            agreement.machine_settings(self.name),
            saved_state=left.saved_state,
            memory=left.memory,
        )
        # One initialisation for all: averages of models that started elsewhere are rarely of use.
        start = derive_seed(agreement.seed, "network", "")
        self.train_states = TrainStates.start(agreement.stacked, [start])
        self.row = WeightRow.start(agreement, data.name)
        self.rounds = Rounds[GossipNotes]()
        self._optimizer, self._pretraining, self._seed = optimizer, pretraining_epochs, seed
        self._backend = backend
        self._samples = StackedSamples.of([data.train], agreement.stacked)
        self._key_epoch = left.key_epoch
        own_keys = None if left.keys is None else _imported(left.keys)
        self._student = AlignmentStudent(
            agreement.alignment, backend=backend, keys=None if own_keys is None else own_keys[0]
        )
        self._teachers: dict[str, AlignmentTeacher] = {}
        self._keys: SumKeys = (
            agreement.sums.generate_keys(agreement.sum_plan)
            if own_keys is None
            else agreement.sums.restore_keys(agreement.sum_plan, own_keys[1])
        )
        self._publics: dict[str, bytes] = {}
        self._shares = Shares()
        self._take_up(left.pieces)

    @property
    def vector(self) -> Array:
        """The model as it is now, float64 (V,)."""
        return vector_of(self.train_states)

    def check_renewal(self, data: ParticipantData) -> None:
        """See `Host`.

        Raises:
            DataError: see there.
        """
        check_data(self.agreement, data)
        super().check_renewal(data)

    def renew(self, data: ParticipantData) -> None:
        """See `Host`: the model goes on from where it is; no peer holds anything of patients."""
        self.check_renewal(data)
        self._note_members(data)
        self.data, self._samples = data, StackedSamples.of([data.train], self.agreement.stacked)

    def export_keys(self) -> Secret:
        """Its keys, for its keystore and nobody else.

        Raises:
            BackendUnavailableError: alignments or sums keep their keys to themselves.
        """
        public, secret = self._student.export_keys()
        sums = self.agreement.sums.export_keys(self._keys)
        parts = (public.encryption, secret.reveal(), sums.reveal())
        return Secret(bytearray(msgspec.msgpack.encode(parts)))

    def train_alone(self) -> None:
        """Local epochs before round 0."""
        self.train_states = self._trained(self.train_states, self._pretraining, clock=-1)

    def begin(self, round: int) -> None:
        """Keep the model as it is now: gradients of the round are taken there."""
        self.rounds.begin(round, GossipNotes(self.train_states))
        self._shares = self._shares.forget(round - KEPT_ROUNDS + 1)

    def run(self, job: Job) -> JobResult:
        """Carry out one job of this participant's machine.

        Raises:
            SecureFairError: the job failed; the machine decides what that means.
        """
        match job:
            case PrepareKeysAndFeatures():
                return self._prepare(job)
            case ImportPeer():
                return self._import(job)
            case PrepareAsk(summed=True):
                return self._ask(job)
            case PrepareAsk():
                query = self._student.query(self._direction(job.round))
                return Questions(dict.fromkeys(job.teachers, query))
            case AnswerAsk():
                with timed(self.rounds[job.round].answered_seconds, job.peer):
                    return Answered(self._share(job) if job.senders else self._align(job))
            case OpenAnswer():
                return self._open(job)
            case Adapt():
                return self._adapt(job)
            case ReleaseKey():
                self._shares, key = release(self._shares, self._gathering(job))
                return KeyReleased(key)
            case Combine():
                return self._combine(job)
            case _:
                raise LocalProtocolError(
                    "this participant averages, it does not distil", found=type(job).__name__
                )

    def _prepare(self, job: PrepareKeysAndFeatures) -> Prepared:
        """The keys; a renewal makes those of alignments anew, under which opened values tell."""
        if job.renewal:
            self._student = AlignmentStudent(self.agreement.alignment, backend=self._backend)
        epoch = self._key_epoch + job.renewal
        return Prepared(Keys(epoch, self._student.public_key, self._keys.public), None)

    def _import(self, job: ImportPeer) -> Imported:
        agreement, backend = self.agreement, self._backend
        self._teachers[job.peer] = AlignmentTeacher(
            agreement.alignment, job.keys.public_key, backend=backend
        )
        public = job.keys.evaluation_keys
        agreement.sums.check_public(agreement.sum_plan, self._keys, job.peer, public)
        self._publics[job.peer] = public
        return Imported()

    def _direction(self, round: int) -> Array:
        """The direction of the gradient at the beginning of a round, computed once."""
        notes = self.rounds[round]
        if notes.direction is None:
            stacked = self.agreement.stacked
            gradient = gradients(stacked, notes.start.vectors, self._samples)[0]
            seed = self.agreement.sketch_seed(round)
            notes.direction = self.agreement.alignment.direction(
                gradient.double().cpu().numpy(), seed
            )
        return notes.direction

    def _open(self, job: OpenAnswer) -> OpenedAnswer:
        """The level of a peer's similarity: nothing finer leaves this method.

        A peer chooses what its answer opens to, and sees weights that follow from it. So what its
        answers can tell of the secret key is bounded by levels, and by how many the machine has
        opened under one key.
        """
        notes = self.rounds[job.round]
        with timed(notes.asked_seconds, job.peer):
            cosine = self._student.open(job.payload)
        notes.alignment[job.peer] = cosine
        return OpenedAnswer(self.row.similarity(cosine))

    def _adapt(self, job: Adapt) -> Adapted:
        """x - eta g, and in rounds with alignments the own row of W.

        A step that leaves the planned range is not taken, and nobody else sees that: a neighbour
        may have moved the model to the edge of the range, to see which way its owner steps.
        """
        notes = self.rounds[job.round]
        reputations = {
            peer: reputation
            for peer, reputation in zip(job.peers, job.reputations, strict=True)
            if reputation is not None
        }
        row, plan, problem = self.row, self.agreement.sum_plan, None
        if self.machine.settings.forced(job.round):
            row = row.weighed(reputations)
        check_vector(plan, vector_of(notes.start))
        try:
            adapted = self._trained(
                notes.start, self.agreement.training.local_steps, clock=job.round
            )
            check_vector(plan, vector_of(adapted))
        except ModelError as error:
            adapted, problem = notes.start, str(error)
        self.row, self.train_states, notes.adapted = row, adapted, adapted
        return Adapted(row.link_probabilities(), problem)

    def _align(self, job: AnswerAsk) -> bytes:
        return self._teachers[job.peer].answer(job.payload, self._direction(job.round))

    def _ask(self, job: PrepareAsk) -> Questions:
        notes = self.rounds[job.round]
        notes.mixed = self.row.mixed(job.teachers)
        weights = self.row.told(job.teachers)
        if not any(weights.values()):
            return Questions({})
        plan, gathering = self.agreement.sum_plan, self._own_gathering(job, job.teachers)
        return Questions(self.agreement.sums.ask(plan, self._keys, gathering, weights))

    def _share(self, job: AnswerAsk) -> bytes:
        notes = self.rounds[job.round]
        if notes.adapted is None:
            raise LocalProtocolError("there is no model of that round yet", found=job.round)
        agreement = self.agreement
        self._shares, closed = make_share(
            self._shares,
            agreement.sums,
            agreement.sum_plan,
            self._keys,
            self._publics,
            self._gathering(job),
            self.name,
            job.payload,
            vector_of(notes.adapted),
        )
        return closed

    def _combine(self, job: Combine) -> Combined:
        """x_i <- W~_ii x_i + sum_j W~_ij x_j (Alg. 3, line 14)."""
        notes = self.rounds[job.round]
        if notes.adapted is None or notes.mixed is None:
            raise LocalProtocolError("nothing was asked in that round", found=job.round)
        agreement = self.agreement
        plan, gathering = agreement.sum_plan, self._own_gathering(job, job.senders)
        total = open_sum(agreement.sums, plan, self._keys, gathering, job.closed, job.keys)
        own = notes.mixed[self.row.own] * vector_of(notes.adapted)
        mean = own + self.row.scale(job.senders) * total
        most = (1 - MARGIN) * agreement.gossip.bound
        vectors = torch.from_numpy(np.clip(mean, -most, most))[None].to(agreement.stacked.dtype)
        self.train_states = notes.adapted.moved(vectors)
        return Combined()

    def _own_gathering(self, job: PrepareAsk | Combine, senders: tuple[str, ...]) -> Gathering:
        return Gathering(
            session=self.agreement.digest,
            round=job.round,
            attempt=job.attempt,
            receiver=self.name,
            senders=senders,
        )

    def _gathering(self, job: AnswerAsk | ReleaseKey) -> Gathering:
        return Gathering.asked(self.agreement.digest, job.round, job.attempt, job.peer, job.senders)

    def _trained(self, train_states: TrainStates, epochs: int, *, clock: int) -> TrainStates:
        if epochs == 0:
            return train_states
        batches = draw_batches(
            self._samples,
            [derive_seed(self._seed, f"batches {clock}", self.name)],
            epochs=epochs,
            size=None,
        )
        return train(self.agreement.stacked, train_states, self._samples, batches, self._optimizer)


def vector_of(train_states: TrainStates) -> Array:
    """The model of one training state, float64 (V,)."""
    return np.asarray(train_states.vectors[0].double().cpu().numpy(), dtype=np.float64)


def _imported(keys: Secret) -> tuple[tuple[PublicKeys, Secret], Secret]:
    try:
        parts = msgspec.msgpack.decode(keys.reveal(), type=tuple[bytes, bytes, bytes])
    except msgspec.DecodeError as error:
        raise EncryptionError("these are no keys of gossip", found=str(error)) from error
    public, secret, sums = parts
    return (PublicKeys(public, b""), Secret(bytearray(secret))), Secret(bytearray(sums))


def check_data(agreement: GossipAgreement, data: ParticipantData) -> None:
    """Refuse samples that the agreed network was not made for.

    Raises:
        DataError: another shape or number of classes; names the participant.
    """
    found = (*data.train.features.shape[1:], data.train.classes)
    if found != (*agreement.facts.shape, agreement.classes):
        raise DataError(
            "its samples differ from those that the network was agreed for",
            where=data.name,
            found=f"{found[:-1]}, {found[-1]} classes",
            expected=f"{agreement.facts.shape}, {agreement.classes} classes",
        )
