"""The teacher of one exchange: a private model, and what it agreed to tell."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from securefair.circuit.planner import ExchangePlan, verified_plan
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.keys import PublicKeys
from securefair.config import defaults
from securefair.errors import DataError, ModelError, PlanError
from securefair.exchange.account import Allowance, AnswerAccount, fewest_numbers, item_of
from securefair.exchange.answerer import Answerer
from securefair.exchange.binding import bind
from securefair.exchange.request import Carried, check_bytes, check_unchanged, decode_request
from securefair.exchange.saved import NeverPickled, path_of, unlocked
from securefair.exchange.saved_teacher import (
    SAVED_FORMAT,
    SavedTeacher,
    read_teacher,
    saved_layers,
    write_teacher,
)
from securefair.exchange.upload import ReceivedUpload, check_keys, check_lengths, receive_upload
from securefair.model.foldable import Foldable
from securefair.protocol.ledger import DisclosurePolicy
from securefair.storage import KeystoreCost, Secret

if TYPE_CHECKING:
    from torch import nn

_log = logging.getLogger(__name__)

MAX_REQUEST_BYTES = 1 << 30
"""Longer requests are refused unread where nothing was agreed."""


class Teacher(NeverPickled, Answerer):
    """Owns a private model and answers with sanitised releases only.

    What it releases is about the model. By default one answer of a linear head tells that head
    wholly. A quadratic head lets one caller say up to 92 % of its predictions, and three callers
    together all. A teacher that lies is not noticed in a mean (log-loss .353 becomes .375 at
    worst). What hides *how* an answer was computed is the teacher's own smudging noise: "liberal"
    security in the sense of ePrint 2025/395, and no simulation security. Nobody proves that uploads
    or keys are well-formed.

    Every answer is charged to an account before it is computed: numbers, and the bits that they can
    carry. Once a limit is spent, every further request is refused, by `answer` and by `evaluate`
    alike. Nothing that is refused was computed, nor planned by search.

    Args:
        model: the head or network to evaluate, or a torch module of such a shape. It is copied: one
            that was trained on needs a new teacher, on the same `store`.
        agreed: the spec that both sides agreed on; its number of samples is the most that a
            student may bring. None answers whatever a student specifies, which gives a stranger
            the choice of release, numbers and bounds: only for students that may have the model.
        seed: public seed that was agreed on for the basis of projections.
        backend: which encryption engine to use; must be the student's ("seal" and "rns" mix).
        device: what computes on ciphertexts: "cpu", or a card such as "cuda" (rns only).
        min_flooding_bits: refuse requests that hide the model less well.
        min_samples: fewest samples that a student may bring, where something was agreed: sums over
            few patients tell more of the model. None: a quarter of the agreed number.
        store: folder of a durable account, which several processes may share; None keeps account
            in memory, as long as this object lives, and refuses to answer in a forked process.
        create_store: make that folder where it is missing, for a teacher that has told nothing yet.
        max_numbers, max_bits: most numbers, and bits, to one caller over the account's life. None:
            one answer of what was agreed, by the plan that this side makes of it, and more while
            all together stay below the numbers that determine the model and the student's samples
            times classes; where nothing was agreed, as many as determine the model. As many bits a
            number as a plan may carry (`circuit.planner.most_bits`).
        total_numbers: most to all callers together; None: eight times `max_numbers`.

    `math.inf` stands for no limit. Every answer is charged, one to the very same request as well:
    it comes with other noise. Whoever may ask twice keeps the answer.

    Raises:
        ModelError: encryption cannot evaluate such a model.
        PlanError: a network without `agreed`: bounds of a stranger's choice would make refusals
            tell what the network computes for its owner's own samples.
        LedgerError: a limit is negative, or not a number.
        StorageError: the store cannot be used, is no path, or is missing without `create_store`.
        ConfigError, BackendUnavailableError: there is no such engine or device.
    """

    def __init__(
        self,
        model: Foldable | nn.Module,
        agreed: ExchangeSpec | None = None,
        *,
        seed: bytes = b"",
        backend: str = defaults.BACKEND,
        device: str = defaults.PROCESSOR,
        min_flooding_bits: int = defaults.MIN_FLOODING_BITS,
        min_samples: int | None = None,
        store: str | Path | None = None,
        create_store: bool = False,
        max_numbers: float | None = None,
        max_bits: float | None = None,
        total_numbers: float | None = None,
    ) -> None:
        super().__init__(
            model,
            agreed,
            seed=seed,
            backend=backend,
            device=device,
            min_flooding_bits=min_flooding_bits,
            min_samples=min_samples,
        )
        self._allowance = Allowance(
            max_numbers=max_numbers, max_bits=max_bits, total_numbers=total_numbers
        )
        self._store = None if store is None else path_of(store, "store").absolute()
        self._account = AnswerAccount(self._store, create=create_store)

    def __repr__(self) -> str:
        """What it is, without weights or account."""
        agreed = "whatever a student asks" if self._agreed is None else self._agreed.release
        return f"Teacher({type(self.model).__name__}, answers {agreed}, {self._backend.name})"

    def save(
        self,
        path: str | Path,
        passphrase: str | Secret | None = None,
        *,
        passphrase_file: str | Path | None = None,
        cost: KeystoreCost | None = None,
    ) -> None:
        """Keep the model and what was agreed in a new keystore file, encrypted, of mode 0600.

        An account in memory is not kept: without a `store` every process that loads this teacher
        begins at zero, which is warned of.

        Args:
            path, passphrase, passphrase_file, cost: as in `Student.save`.

        Raises:
            ModelError: the model is a network, not a head.
            PlanError: what was agreed is impossible.
            StorageError: the file exists or cannot be written, or there is no passphrase, or one of
                fewer than 8 characters.
        """
        state = SavedTeacher(
            format=SAVED_FORMAT,
            layers=saved_layers(self.model),
            agreed=self._agreed,
            schedule=self._planned(self._agreed.samples) if self._agreed is not None else None,
            seed=self._seed,
            backend=self._backend.name,
            min_flooding_bits=self._min_flooding_bits,
            min_samples=self._min_samples,
            store=None if self._store is None else str(self._store),
            max_numbers=self._allowance.max_numbers,
            max_bits=self._allowance.max_bits,
            total_numbers=self._allowance.total_numbers,
        )
        write_teacher(path_of(path), unlocked(passphrase, passphrase_file, new=True), state, cost)
        if self._store is None:
            _log.warning("a teacher was saved without a store: who loads it begins at zero")

    @classmethod
    def load(
        cls,
        path: str | Path,
        passphrase: str | Secret | None = None,
        *,
        passphrase_file: str | Path | None = None,
        store: str | Path | None = None,
        device: str = defaults.PROCESSOR,
    ) -> Teacher:
        """The teacher that was saved, with its store and limits.

        Args:
            path, passphrase, passphrase_file: as in `Student.load`.
            store: where its store is now; None: where it was, by its absolute path. It must be
                there: an account that is gone does not begin again.
            device: what computes here; it is not kept.

        Raises:
            StorageError: the file is missing, damaged, of another version or open to others, or
                the passphrase is wrong; its plan is none of what was agreed; or the store is
                missing or cannot be used.
        """
        state = read_teacher(path_of(path), unlocked(passphrase, passphrase_file))
        teacher = cls(
            state.model(),
            state.agreed,
            seed=state.seed,
            backend=state.backend,
            device=device,
            min_flooding_bits=state.min_flooding_bits,
            min_samples=state.min_samples,
            max_numbers=state.max_numbers,
            max_bits=state.max_bits,
            total_numbers=state.total_numbers,
        )
        teacher._kept = state.checked()
        place = state.store if store is None else store
        if place is not None:
            teacher._store = path_of(place, "store").absolute()
            teacher._account = AnswerAccount(teacher._store)
        return teacher

    def evaluate(self, upload: ReceivedUpload, predictions: bytes | memoryview = b"") -> bytes:
        """One answer to an upload, charged to its caller before it is computed.

        That the model does not fit is a function of the model and of its owner's samples. So it is
        charged like an answer, and the error says no more. Its cause does, to the owner.

        Raises:
            LedgerError: more would be disclosed than allowed.
            StorageError: the account cannot be kept; nothing was computed.
            ModelError: the model does not fit the plan.
            EncryptionError: the encrypted predictions do not fit the plan.
        """
        if not isinstance(upload, ReceivedUpload):
            raise DataError(
                "this is no upload that was received",
                where="upload",
                found=type(upload).__name__,
                hint="answer takes a whole request; receive makes an upload of its parts",
            )
        plan, inputs = upload.plan, self._inputs(upload, predictions)
        self._account.charge(upload.peer, item_of(self.model), plan, self._policy(plan))
        try:
            return self._computed(upload, inputs)
        except ModelError as error:
            raise ModelError(
                "the model does not fit the plan",
                hint="Its owner finds the reason in the cause of this error",
            ) from error

    def answer(self, request: Carried, *, peer: str = "") -> bytes:
        """A whole request -> the answer, which names the request (`exchange.binding`).

        What is cheap is checked first: length, spec, account, then the student's plan, which is
        verified and not searched. So a refusal takes milliseconds.

        Args:
            request: the student's bytes.
            peer: the caller, as the channel authenticated it; see `receive`.

        Raises:
            DataError: the bytes are not a request, or changed on their way.
            LedgerError: more would be disclosed than allowed.
            PlanError, EncryptionError, ModelError, StorageError: see `receive` and `evaluate`.
        """
        check_bytes(request, "request")
        if len(request) > MAX_REQUEST_BYTES:
            raise DataError(
                "the request is too long",
                found=f"{len(request)} bytes",
                expected=f"at most {MAX_REQUEST_BYTES} bytes",
            )
        asked = decode_request(request)
        self._check_spec(asked.spec, asked.seed)
        unplanned = self._allowance.unplanned(asked.spec, self.model.folded().determining)
        self._account.check(peer, unplanned, numbers=fewest_numbers(asked.spec))
        self._check_parameters(asked.spec, asked.schedule)
        plan = verified_plan(asked.spec, asked.schedule)
        if plan.digest != asked.digest:
            raise PlanError(
                "student and teacher plan differently",
                hint="Use the same version of securefair on both sides",
            )
        self._account.check(peer, self._policy(plan), numbers=plan.numbers, bits=plan.bits)
        if self._backend.planned_bytes:
            check_lengths(plan, asked)
        check_keys(plan, len(asked.evaluation_keys))
        check_unchanged(asked)
        keys = PublicKeys.read(bytes(asked.public_key), bytes(asked.evaluation_keys))
        upload = receive_upload(
            plan, self._backend, keys, asked.features, asked.basis, seed=asked.seed, peer=peer
        )
        return bind(asked.check, self.evaluate(upload, asked.predictions))

    def _policy(self, plan: ExchangePlan) -> DisclosurePolicy:
        return self._allowance.policy(
            plan,
            self.model.folded().determining,
            self._agreed,
            coefficients=self._backend.packs_coefficients,
            kept=self._kept,
        )
