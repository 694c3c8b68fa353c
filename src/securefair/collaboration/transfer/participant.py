"""One hospital of a transfer: owns patients, its own fit and its keys, and carries out its jobs.

Answers come from the fit on own patients, which nothing that was opened ever changes. So whatever
a peer makes of what it opens, and sends, no value that this hospital opened flows back in answers.
Nor in questions: once there is something to open it asks no more, however that opens, until its own
patients change (`renewal`).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from securefair.averaging import (
    Divided,
    Gathering,
    Shares,
    opened_messages,
    pairwise,
    part_for,
    release,
    share_message,
)
from securefair.collaboration.host import Host, Role, Stored
from securefair.collaboration.notes import timed
from securefair.collaboration.private import PrivateTeacher, anew_private, stated_guarantee
from securefair.collaboration.transfer.agreement import TransferAgreement
from securefair.collaboration.transfer.answering import Answering, answering_of
from securefair.collaboration.transfer.given import Given
from securefair.collaboration.transfer.notes import MEAN, TransferNotes
from securefair.collaboration.transfer.questions import MaskKeys, StoredKeys
from securefair.collaboration.transfer.renewal import carried_over, fitted, reputations
from securefair.config import defaults
from securefair.data.dataset import ParticipantData
from securefair.errors import EncryptionError, LocalProtocolError
from securefair.model.transfer import OwnFit, Polynomial, Transferred, without_peers
from securefair.protocol.flows import OFFER_BITS
from securefair.protocol.guarantee import StatedGuarantee
from securefair.protocol.jobs import (
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
    PartsReleased,
    PrepareAsk,
    Prepared,
    PrepareKeysAndFeatures,
    Questions,
    ReleaseKey,
    ReleaseParts,
    Step,
    Stepped,
)
from securefair.protocol.ledger import Account
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import DeclineReason, Keys
from securefair.protocol.turn import Memory
from securefair.storage import Secret

Array = NDArray[np.float64]

REQUEST, LEDGER = "request", "ledger"
"""Pieces: a hospital's question, and one of securefair 0.2 (`_one_ledger`)."""


class TransferParticipant(Host):
    """One hospital.

    Its keys leave it in no form but encrypted or public, or as a secret for its keystore.

    Args:
        data: its patients; `test` is never used here but by whoever evaluates.
        agreement: what was agreed.
        seed: of the folds of its cross-validation.
        backend: encryption engine.
        device: what computes on the ciphertexts of its students.
        teacher: a private linear model that answers instead of its own fit; None: the own fit
            answers, and nothing is promised to the patients behind it.
        required: (epsilon, delta) that peers must promise to take part; None: nothing.
        stored: what an earlier process has left; None remembers nothing.
        role: a student answers nobody, a teacher asks nobody.

    Raises:
        DataError, ConfigError, PlanError: the patients do not fit what was agreed.
    """

    def __init__(
        self,
        data: ParticipantData,
        agreement: TransferAgreement,
        *,
        seed: int,
        backend: str = defaults.BACKEND,
        device: str = defaults.PROCESSOR,
        teacher: PrivateTeacher | None = None,
        required: tuple[float, float] | None = None,
        stored: Stored | None = None,
        role: Role = "both",
    ) -> None:
        super().__init__(stored)
        left = stored or Stored()
        agreement.check_data(data)
        self.name, self.data, self.agreement = data.name, data, agreement
        peers = agreement.met_by(self.name)
        self.machine = ParticipantMachine(
            self.name,
            peers,
            agreement.machine_settings(
                self.name,
                guarantee=None if teacher is None else stated_guarantee(teacher),
                required=None if required is None else StatedGuarantee(*required),
            ),
            saved_state=left.saved_state,
            memory=_one_ledger(left),
        )
        self.own: OwnFit = fitted(data, agreement.degree, seed)
        self.version, self.asks, self._seed = 0, True, seed
        self.teacher = teacher
        self.answers: Answering = answering_of(agreement, data, self.own, teacher, seed)
        self.transferred: Transferred = without_peers(self.own)
        self.notes, self.given = TransferNotes(), Given()
        self._backend, self._device = backend, device
        private, student = (None, None) if left.keys is None else _imported(left.keys)
        # Those of a question are made anew where it was not asked yet: its patients may be others.
        self._keys_kept = REQUEST in left.pieces or not left.pieces
        student = student if self._keys_kept else None
        self._exchange = agreement.question.exchange(
            agreement.patients_of(data), backend=backend, device=device, keys=student
        )
        self._private = pairwise.generate_private() if private is None else private
        self._key_epoch = left.key_epoch
        self._publics: dict[str, bytes] = {}
        self._shares = Shares()
        self._round = -1
        self._request: bytes | None = None
        self._role = role
        self._take_up(left.pieces)

    @property
    def answering(self) -> Polynomial:
        """What it evaluates on what it is asked."""
        return self.answers.model

    def begin(self, round: int) -> None:
        """Nothing else to keep: answers are of the own fit, always the same."""
        self._round = round

    def renew(self, data: ParticipantData) -> None:
        """Other own patients: fit anew, which is a new version that answers, and ask again.

        Raises:
            DataError, ConfigError: the patients do not fit what was agreed, too few changed, or a
                private model answers, which would have to be paid for again.
        """
        self.agreement.check_data(data)
        if self.teacher is not None:
            raise anew_private(self.name)
        self._note_members(data)
        asked, trust = self._exchange, self.transferred.trust
        self._exchange = self.agreement.question.exchange(
            self.agreement.patients_of(data), backend=self._backend, device=self._device
        )
        self._keys_kept = False
        self._shares = self._shares.forget(self._round + 1)  # shares of the fit that was
        self._request, self.data, self.asks = None, data, True
        self.own = fitted(data, self.agreement.degree, self._seed)
        self.answers = answering_of(self.agreement, data, self.own, None, self._seed)
        self.version += 1
        self.notes = carried_over(self.notes, trust.left_out, asked, self._exchange)
        again = self._transferred_again(self.notes.released, self.notes.senders)
        kept = replace(again.trust, weights=trust.weights, left_out=trust.left_out)
        self.transferred = replace(again, trust=kept)

    def run(self, job: Job) -> JobResult:
        """Carry out one job of this participant's machine.

        Raises:
            SecureFairError: the job failed; the machine decides what that means.
        """
        match job:
            case PrepareKeysAndFeatures():
                return Prepared(
                    Keys(self._key_epoch, pairwise.public_bytes(self._private), b""), None
                )
            case ImportPeer():
                pairwise.check_public(self._private, job.peer, job.keys.public_key)
                self._publics[job.peer] = job.keys.public_key
                return Imported()
            case PrepareAsk():
                return self._ask(job)
            case AnswerAsk():
                with timed(self.notes.answered_seconds, job.peer):
                    return self._answered(job)
            case OpenAnswer():
                self.asks = False  # whether it opens must not tell
                started = time.perf_counter()
                self.notes.released[job.peer] = self._exchange.open(job.payload)
                self.notes.asked_seconds += time.perf_counter() - started
                return OpenedAnswer(None)
            case Step():
                return self._step(job)
            case ReleaseKey():
                return KeyReleased(self._release(job))
            case ReleaseParts():
                return PartsReleased(self._parts(job))
            case Combine():
                self.asks = False  # the same
                started = time.perf_counter()
                self._combine(job)
                self.notes.asked_seconds += time.perf_counter() - started
                return Combined()
            case _:
                raise LocalProtocolError(
                    "this participant transfers, it does no such thing", found=type(job).__name__
                )

    def export_keys(self) -> Secret:
        """Its keys, for its keystore and nobody else.

        Raises:
            BackendUnavailableError: the engine keeps its keys to itself.
        """
        parts = (pairwise.export_private(self._private).reveal(), *self._exchange.export_keys())
        return Secret(bytearray(msgspec.msgpack.encode(parts)))

    def _ask(self, job: PrepareAsk) -> Questions:
        if not self.asks or self._role == "teacher":
            return Questions({})
        started = time.perf_counter()
        if self._request is None:
            self._request = self._exchange.request()
            if not self._keys_kept:
                self._keep(self.export_keys())
                self._keys_kept = True
        if not job.summed:
            self.notes.released = {}
        self.notes.asked_seconds += time.perf_counter() - started
        return Questions(dict.fromkeys(job.teachers, self._request))

    def _answered(self, job: AnswerAsk) -> Answered:
        if self._role == "student":
            return Answered(b"", DeclineReason.NOT_SHARING)
        if not job.senders:
            if not self._shares_with(job):
                return Answered(b"", DeclineReason.NOT_SHARING)
            self._charge(job)
            return Answered(self._exchange.answer(job.payload, job.peer, self.answering))
        gathering = self._gathering(job, job.peer)
        self._shares, closed = share_message(
            self._shares,
            gathering,
            self.name,
            job.payload,
            lambda: self._masked_answer(job, gathering),
            self._divided(job),
        )
        return Answered(closed)

    def _shares_with(self, job: AnswerAsk) -> bool:
        """By the own reputation of who asks, once it is known; that tells it a bit."""
        if job.round == 0:
            return True
        self.machine.tell(job.peer, OFFER_BITS)
        reputation = reputations(self.transferred, [job.peer])[job.peer]
        return 0 < reputation >= self.machine.memory.coins.get(job.peer, 0.0)

    def _masked_answer(self, job: AnswerAsk, gathering: Gathering) -> bytes:
        """An answer that tells something only in the sum.

        Raises:
            LedgerError: as `_charge`, or one of two means that tell of a single teacher.
        """
        self.given.check(job.peer, self.version, gathering.senders)
        self._charge(job)
        if self._divided(job) is not None:
            self.given = self.given.opened_together(self.version)
        keys = MaskKeys(self.name, self._private, self._publics)
        return self._exchange.share(job.payload, gathering, keys, self.own, self.answering)

    def _charge(self, job: AnswerAsk) -> None:
        """Charge an answer before it is computed.

        Raises:
            LedgerError: it would disclose more than this hospital allows.
        """
        told = self._exchange.told(job.payload, job.peer)
        self.machine.charge(
            job.peer,
            numbers=told.numbers,
            version=self.version,
            basis=hashlib.sha256(job.payload).hexdigest(),
            samples=told.samples,
        )

    def _release(self, job: ReleaseKey) -> bytes:
        """The key of an answer, which may be of an earlier round than another that was opened."""
        shares, key = release(self._shares, self._gathering(job, job.peer))
        self.given = self.given.plus(job.peer, self.version, job.senders)
        self._shares = shares
        return key

    def _parts(self, job: ReleaseParts) -> tuple[bytes, ...]:
        """Of the keys of senders that are lost."""
        divided = self._divided(job)
        if divided is None:
            raise LocalProtocolError("no key of this sum is divided", found=", ".join(job.senders))
        gathering = self._gathering(job, job.peer)
        return tuple(
            part_for(self._shares, divided, gathering, name, salt)
            for name, salt in zip(job.lost, job.salts, strict=True)
        )

    def _divided(self, job: AnswerAsk | ReleaseParts) -> Divided | None:
        """How others open its part of a sum in its place; None where they cannot."""
        spare = self._spare(job.peer, job.senders)
        return Divided(self.name, self._private, self._publics, spare) if spare else None

    def _opened(self, job: Combine) -> Array:
        """The mean of all senders' numbers."""
        gathering = self._gathering(job, self.name)
        spare = self._spare(self.name, job.senders)
        answers = opened_messages(gathering, job.closed, job.keys, spare=spare, parts=job.parts)
        return self._exchange.open_sum(gathering, answers)

    def _spare(self, receiver: str, senders: tuple[str, ...]) -> int:
        sums = self.machine.settings.sums
        return 0 if sums is None else sums.spare(receiver, senders)

    def _combine(self, job: Combine) -> None:
        mean = self._opened(job)
        self.notes.released, self.notes.senders = {MEAN: mean}, job.senders
        self.transferred = self._exchange.transferred(self.own, mean, job.senders)

    def _step(self, job: Step) -> Stepped:
        """Fit with what was opened, if anything was."""
        if job.peers:
            self.notes.senders = job.peers
            answers = {name: self.notes.released[name] for name in job.peers}
            self.transferred = self._exchange.transferred_each(self.own, answers)
        return Stepped()

    def _transferred_again(
        self, released: Mapping[str, Array], senders: Sequence[str]
    ) -> Transferred:
        if MEAN in released:
            return self._exchange.transferred(self.own, released[MEAN], senders)
        opened = {name: released[name] for name in senders if name in released}
        if not opened:
            return without_peers(self.own)
        return self._exchange.transferred_each(self.own, opened)

    def _gathering(
        self, job: AnswerAsk | ReleaseKey | ReleaseParts | Combine, to: str
    ) -> Gathering:
        asked = job.round, job.attempt, to, job.senders
        return Gathering.asked(self._bound_to(job.round), *asked)

    def _bound_to(self, round: int) -> bytes:
        """What all senders of a sum agree on, 32 bytes, that its masks are bound to."""
        del round
        return self.agreement.digest


def _one_ledger(left: Stored) -> Memory | None:
    """What the machine remembers, with the accounts that securefair 0.2 kept in a piece beside."""
    if left.memory is None or LEDGER not in left.pieces:
        return left.memory
    accounts = msgspec.msgpack.decode(left.pieces[LEDGER], type=dict[str, Account])
    return replace(left.memory, ledger=replace(left.memory.ledger, accounts=accounts))


def _imported(keys: Secret) -> tuple[X25519PrivateKey, StoredKeys]:
    try:
        parts = msgspec.msgpack.decode(keys.reveal(), type=tuple[bytes, bytes, bytes, bytes])
    except msgspec.DecodeError as error:
        raise EncryptionError("these are no keys of a transfer", found=str(error)) from error
    private, *exchange = parts
    return pairwise.restore_private(Secret(bytearray(private))), (
        exchange[0],
        exchange[1],
        exchange[2],
    )
