"""One hospital: owns its data, its model and its keys, and carries out its machine's jobs.

Heavy state lives here, decisions in the machine. Every job is a call into `exchange` or `steps`;
only bytes come in from peers and only bytes go out to them.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.backends import get_backend
from securefair.ckks.keys import PublicKeys
from securefair.collaboration.agreement import optimizer_of
from securefair.collaboration.distillation.agreement import DistillationAgreement
from securefair.collaboration.host import Host, Stored
from securefair.collaboration.notes import Rounds, timed
from securefair.collaboration.private import PrivateTeacher, anew_private, stated_guarantee
from securefair.data.dataset import ParticipantData
from securefair.errors import ImplausibleError, LocalProtocolError
from securefair.exchange import learning
from securefair.exchange.answerer import Answerer
from securefair.exchange.opened import Opened
from securefair.exchange.student import Student
from securefair.exchange.upload import ReceivedUpload
from securefair.model.building import build_model
from securefair.model.heads import Head
from securefair.model.plausibility import IMPLAUSIBLE, Clip
from securefair.model.prevalence import own_prevalence
from securefair.model.seeds import derive_seed
from securefair.model.training import TrainState, about, train_epochs
from securefair.privacy import PrivateAlignments
from securefair.protocol.guarantee import StatedGuarantee
from securefair.protocol.jobs import (
    AnswerAsk,
    Answered,
    Imported,
    ImportPeer,
    Job,
    JobResult,
    OpenAnswer,
    OpenedAnswer,
    PrepareAsk,
    Prepared,
    PrepareKeysAndFeatures,
    Questions,
    Step,
    Stepped,
)
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import Features, Keys
from securefair.storage import Secret

Array = NDArray[np.float64]


@dataclass(eq=False)
class RoundNotes:
    """What a participant saw of one round; stays at home but for the simulation's records."""

    snapshot: Head  # the model as it was when the round began
    opened: dict[str, Opened] = field(default_factory=dict)
    alignment: dict[str, float] = field(default_factory=dict)
    distillation_loss: dict[str, float] = field(default_factory=dict)
    teacher_seconds: dict[str, float] = field(default_factory=dict)
    student_seconds: dict[str, float] = field(default_factory=dict)


class Participant(Host):
    """One hospital.

    Args:
        data: its samples; `test` is never used here but by whoever evaluates.
        collaboration: what was agreed.
        seed: of initialisation. A public one, which simulations need, lets everybody compute the
            first weights.
        teacher: the private model that answers in every round instead of its own; None: its own
            model answers, and nothing is promised to the patients behind it.
        alignments: formed with its peers at a stated cost to its patients; None: by its own
            model's gradients, and nothing is promised.
        required: (epsilon, delta) that peers must promise to take part; None: nothing.
        given: the model to start from, which stays as it is; None: a new one from the seed.
        stored: what an earlier process has left; None remembers nothing.

    Its keys leave it in no form but encrypted or public, or as a secret for its keystore.

    Raises:
        PlanError, DataError, ModelError: data or model do not fit what was agreed.
        EncryptionError: the keys are not of this collaboration.
        ConfigError, BackendUnavailableError: no such engine or device.
    """

    def __init__(
        self,
        data: ParticipantData,
        collaboration: DistillationAgreement,
        *,
        seed: int,
        teacher: PrivateTeacher | None = None,
        alignments: PrivateAlignments | None = None,
        required: tuple[float, float] | None = None,
        given: Head | None = None,
        stored: Stored | None = None,
    ) -> None:
        super().__init__(stored)
        left = stored or Stored()
        self.name = data.name
        self._key_epoch = left.key_epoch
        self.data = data
        self.collaboration = collaboration
        model, most = collaboration.model, collaboration.distillation
        head = copy.deepcopy(given)
        if head is None:
            head = build_model(
                model.kind,
                data.train,
                hidden=model.hidden,
                network=model.network,
                range_penalty=model.range_penalty,
                seed=derive_seed(seed, "head", data.name),
            )
        self.train_state = TrainState.start(head, optimizer_of(collaboration.training))
        self.teacher = teacher
        self.alignments = alignments
        settings = collaboration.machine_settings(
            data.name,
            head.parameter_count,
            guarantee=None if teacher is None else stated_guarantee(teacher, alignments),
            required=None if required is None else StatedGuarantee(*required),
        )
        peers = collaboration.met_by(self.name)
        self.machine = ParticipantMachine(
            self.name, peers, settings, saved_state=left.saved_state, memory=left.memory
        )
        self.rounds = Rounds[RoundNotes]()
        self._seed = seed
        self._clip = Clip(sample=most.sample_clip, answer=most.answer_clip)
        self._encryption = collaboration.encryption
        # One that is not there is no reason to decline later.
        get_backend(self._encryption.backend, self._encryption.device)
        self._student = self._asking(len(data.train), left.keys_in_use)
        self._uploads: dict[str, ReceivedUpload] = {}
        self._take_up(left.pieces)

    def prepare(self) -> None:
        """Prepare to open answers to features that an earlier process has encrypted."""
        self._student.prepare(self.data.train)

    def check_renewal(self, data: ParticipantData) -> None:
        """See `Host`.

        Raises:
            DataError, ConfigError, PlanError: see there; or a private model answers.
        """
        if self.teacher is not None or self.alignments is not None:
            raise anew_private(self.name)
        self.collaboration.spec_for(len(data.train))
        super().check_renewal(data)

    def renew(self, data: ParticipantData) -> None:
        """See `Host`: the model goes on from where it is, and features are encrypted anew."""
        self.check_renewal(data)
        self._note_members(data)
        self.data, self._student = data, self._asking(len(data.train), None)

    def export_keys(self) -> Secret:
        """Its keys as a student, for its keystore and nobody else."""
        return self._student.export_keys()

    def train_alone(self) -> None:
        """CYCle, Alg. 2, line 1.

        Raises:
            ModelError: training diverged; names the participant.
        """
        with about(self.name):
            train_epochs(
                self.train_state, self.data.train, self.collaboration.training.local_epochs
            )

    def begin(self, round: int) -> None:
        """Keep the model as it is now: all answers of the round come from it."""
        self.rounds.begin(round, RoundNotes(self.train_state.copy().model))

    def answering(self, round: int) -> Head:
        """The model that every answer of a round comes from."""
        return self.rounds[round].snapshot if self.teacher is None else self.teacher.model

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
            case PrepareAsk():
                return Questions(dict.fromkeys(job.teachers, self._predictions(job.round)))
            case AnswerAsk():
                with timed(self.rounds[job.round].teacher_seconds, job.peer):
                    return Answered(self._answer(job))
            case OpenAnswer():
                with timed(self.rounds[job.round].student_seconds, job.peer):
                    return self._open(job)
            case Step():
                return self._step(job)
            case _:
                raise LocalProtocolError(
                    "this participant distils, it does not average", found=type(job).__name__
                )

    def _asking(self, samples: int, keys: Secret | None) -> Student:
        return Student(
            self.collaboration.spec_for(samples),
            backend=self._encryption.backend,
            seed=self.collaboration.basis_seed,
            max_openings=None,  # the machine counts openings and bits of a key, and renews it
            keys=keys,
        )

    def _prepare(self, job: PrepareKeysAndFeatures) -> Prepared:
        if job.renewal:
            self._student.rotate()
        features, basis = self._student.encrypt_features(self.data.train)
        public = self._student.public_keys
        return Prepared(
            Keys(self._key_epoch + job.renewal, public.encryption, public.evaluation),
            Features(job.renewal, len(self.data.train), features, basis),
        )

    def _import(self, job: ImportPeer) -> Imported:
        if job.features is None:
            raise LocalProtocolError("a student of distillation uploads features", found="none")
        answering = self.train_state.model if self.teacher is None else self.teacher.model
        teacher = self._answerer(answering)
        self._uploads[job.peer] = teacher.receive(
            self.collaboration.spec_for(job.features.samples),
            self.collaboration.basis_seed,
            PublicKeys.read(job.keys.public_key, job.keys.evaluation_keys),
            job.features.payload,
            job.features.basis,
        )
        return Imported()

    def _predictions(self, round: int) -> bytes:
        return self._student.encrypt_predictions(
            learning.predictions(
                self.rounds[round].snapshot,
                self.data.train,
                self.collaboration.distillation.temperature,
            )
        )

    def _answer(self, job: AnswerAsk) -> bytes:
        answerer = self._answerer(self.answering(job.round))
        return answerer.evaluate(self._uploads[job.peer], job.payload)

    def _answerer(self, model: Head) -> Answerer:
        """The machine's ledger has charged what is asked here."""
        agreed = self.collaboration
        return Answerer(
            model,
            agreed.spec,
            seed=agreed.basis_seed,
            backend=self._encryption.backend,
            device=self._encryption.device,
            min_samples=1,
        )

    def _open(self, job: OpenAnswer) -> OpenedAnswer:
        """Decrypt, reconstruct, and in a forced round form a reputation of the teacher."""
        notes, temperature = self.rounds[job.round], self.collaboration.distillation.temperature
        opened = self._student.open_evaluated(job.payload, temperature=temperature)
        if opened.logits is None:
            notes.opened[job.peer] = opened
            return OpenedAnswer(None)
        aligned = None
        if job.score and self.alignments is not None:
            # As opened, and whatever it is: what is plausible, clipping and prevalence depend on
            # all patients, a vote on one of them.
            aligned = self.alignments.alignment(job.peer, opened.logits)
        doubtful = opened.plausibility is not None and opened.plausibility < IMPLAUSIBLE
        if doubtful:
            if aligned is None:
                raise ImplausibleError(
                    "answered what is no smooth function of the features",
                    culprit=job.peer,
                    hint="So does an honest teacher, in one of some 1,000 answers.",
                )
            notes.opened[job.peer] = replace(opened, logits=None)  # nothing is learnt of it
        else:
            logits = self._learnable(opened.logits)
            notes.opened[job.peer] = replace(opened, logits=logits)
            notes.distillation_loss[job.peer] = learning.distillation_loss(
                notes.snapshot, self.data.train, logits, temperature
            )
            if aligned is None and job.score:
                aligned = learning.align(notes.snapshot, self.data.train, logits, temperature)
        if aligned is None:
            return OpenedAnswer(None)
        notes.alignment[job.peer] = aligned
        return OpenedAnswer(self.collaboration.rule.update(job.reputation, aligned), doubtful)

    def _learnable(self, logits: Array) -> Array:
        """What an answer may say at most, and how often it expects what.

        Constants go first: a patient's feature may stand in one, and how much of an answer is cut
        would tell how large it is.
        """
        own = self.data.train
        if self.collaboration.distillation.prevalence == "own":
            logits = own_prevalence(logits, own.labels, own.weights)
        return self._clip.applied(logits)

    def learnt_from(self, job: Step) -> dict[str, tuple[Array, float]]:
        """What a step learns from: by teacher its logits (B, M), and how much these count."""
        opened, found = self.rounds[job.round].opened, {}
        apart = self.teacher is not None or bool(self.collaboration.teachers)
        weight = 1.0 if apart else learning.weight_of_round(job.round)  # nothing flows back
        for peer, reputation in zip(job.peers, job.reputations, strict=True):
            answer = opened[peer].logits
            if answer is not None and reputation is not None:
                found[peer] = answer, reputation * weight
        return found

    def learn(
        self,
        train_state: TrainState,
        logits: Mapping[str, Array],
        reputations: Mapping[str, float],
    ) -> None:
        """The steps of one round, in place, as they were agreed on."""
        learning.learn(
            train_state,
            self.data.train,
            logits,
            reputations,
            participants=1 + max(1, len(self.collaboration.asked_by(self.name))),
            lambda_0=self.collaboration.distillation.lambda_0,
            steps=self.collaboration.training.local_steps,
            temperature=self.collaboration.distillation.temperature,
        )

    def _step(self, job: Step) -> Stepped:
        learnt = self.learnt_from(job)
        self.learn(
            self.train_state,
            {peer: logits for peer, (logits, _) in learnt.items()},
            {peer: reputation for peer, (_, reputation) in learnt.items()},
        )
        return Stepped()
