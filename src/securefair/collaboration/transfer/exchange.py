"""The two sides of one exchange: a request, an answer that masks hide, and what a student opens."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from securefair.averaging.gathering import Gathering
from securefair.averaging.pairwise import pair_masks
from securefair.averaging.streams import uniform_words
from securefair.circuit.planner import ExchangePlan, plan_exchange
from securefair.ckks.backends import get_backend
from securefair.ckks.keys import PublicKeys
from securefair.ckks.tensor import CipherMeta
from securefair.data.dataset import Samples
from securefair.errors import RemoteProtocolError
from securefair.exchange import steps
from securefair.exchange.answerer import Answerer
from securefair.model.foldable import Foldable
from securefair.model.projection import public_rows
from securefair.model.transfer.answers import (
    asked_about,
    label_free_reconstructor,
    query_size,
    rows_by_patient,
)
from securefair.model.transfer.surrogate import surrogate
from securefair.storage import Secret

if TYPE_CHECKING:
    from securefair.collaboration.transfer.terms import TransferTerms

Array = NDArray[np.float64]


class TransferRequest(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A student's question: how many patients, its public keys and their encrypted features."""

    patients: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]  # `answer` knows how many are agreed
    public_key: bytes
    evaluation_keys: bytes
    features: bytes


class AskingStudent:
    """Owns patients and the secret key. Nothing it returns as bytes reveals a patient.

    Args:
        agreement: what was agreed.
        patients: whom it asks about.
        backend: encryption engine.
        keys: of an earlier student of as many patients (`export_keys`); None makes new ones.

    Raises:
        DataError, ConfigError: the patients do not fit what was agreed.
        EncryptionError: the keys are of other parameters.
    """

    def __init__(
        self,
        agreement: TransferTerms,
        patients: Samples,
        *,
        backend: str,
        keys: tuple[PublicKeys, Secret] | None = None,
    ) -> None:
        self.plan = plan_exchange(agreement.spec_for(len(patients)))
        self._patients = agreement.asked(patients)
        self._backend = get_backend(backend)
        self._basis = steps.public_basis(self.plan, agreement.basis_seed)
        if keys is None:
            self._keys = self._backend.generate_keys(
                self.plan.params,
                relinearization=self.plan.relinearization_limbs,
                galois=self.plan.galois_limbs,
                element=self.plan.galois_element,
            )
        else:
            self._keys = self._backend.restore_keys(self.plan.params, *keys)

    @property
    def patients(self) -> int:
        """Whom it asks about; a question about a single one holds that one twice."""
        return len(self._patients)

    def request(self) -> bytes:
        """The question, the same to every teacher of one gathering."""
        slots = steps.pack(self.plan, asked_about(self._patients).features)
        public = self._keys.public
        return msgspec.msgpack.encode(
            TransferRequest(
                patients=len(self._patients),
                public_key=public.encryption,
                evaluation_keys=public.evaluation,
                features=steps.encrypt(self._keys.encryptor, self.plan.features, slots),
            )
        )

    def export_keys(self) -> tuple[PublicKeys, Secret]:
        """All keys, for a keystore and nobody else.

        Raises:
            BackendUnavailableError: the engine keeps its keys to itself.
        """
        return self._keys.public, self._keys.export()

    def open(self, answer: bytes) -> Array:
        """One teacher's answer -> the released numbers."""
        return steps.open_answer(self._keys.decryptor, self.plan, self._basis, answer)


class TransferStudent(AskingStudent):
    """One that opens sums (q, L), and makes logits of them; the arguments are `AskingStudent`'s."""

    def __init__(
        self,
        agreement: TransferTerms,
        patients: Samples,
        *,
        backend: str,
        keys: tuple[PublicKeys, Secret] | None = None,
    ) -> None:
        super().__init__(agreement, patients, backend=backend, keys=keys)
        self._degree = agreement.degree
        self._rows = rows = public_rows(
            self.plan.ring_degree,
            self._basis.coefficients,
            query_size(len(patients)),
            self._basis.signs.astype(np.float64),
        )
        self._reconstructor = label_free_reconstructor(
            self._patients,
            rows_by_patient(rows, len(patients)),
            agreement.degree,
            self.plan.noise_std,
        )

    def open_mean(self, answers: Sequence[bytes]) -> Array:
        """Masked answers of all senders of a sum -> the mean of their numbers (q, L)."""
        plan = self.plan
        summed = self._backend.add_answers(plan.answer, plan.spec.q, answers)
        opened = steps.open_answer(
            self._keys.decryptor, plan, self._basis, summed, summed=len(answers)
        )
        return opened / len(answers)

    def logits(self, released: Array) -> Array:
        """Released numbers (q, L) -> logits (n, L) on the patients."""
        return self._reconstructor.logits(released)

    def carried(self, released: Array, later: TransferStudent) -> Array:
        """What an answer about later patients would hold: released numbers are of a function of the
        features, (q, L) -> (q of the later question, L).
        """
        known = self._patients.features
        function = surrogate(known, self.logits(released), self._degree)
        numbers: Array = later._rows @ function.logits(asked_about(later._patients).features)
        return numbers


def read_request(data: bytes, student: str) -> TransferRequest:
    """A request as it arrived.

    Raises:
        RemoteProtocolError: it is none; the culprit is the student.
    """
    try:
        return msgspec.msgpack.decode(data, type=TransferRequest)
    except msgspec.DecodeError as error:
        raise RemoteProtocolError(
            "its request cannot be read", culprit=student, found=str(error)
        ) from error


def answer(
    agreement: TransferTerms,
    model: Foldable,
    request: TransferRequest,
    *,
    backend: str,
    device: str,
) -> tuple[ExchangePlan, bytes]:
    """A teacher's whole answer, unmasked, and the plan it was made under.

    Raises:
        ConfigError, PlanError, EncryptionError: the request does not fit what was agreed.
        ModelError: the model does not.
    """
    spec = agreement.spec_for(request.patients)
    answerer = Answerer(model, spec, seed=agreement.basis_seed, backend=backend, device=device)
    upload = answerer.receive(
        spec,
        agreement.basis_seed,
        PublicKeys.read(request.public_key, request.evaluation_keys),
        request.features,
        b"",
    )
    return upload.plan, answerer.evaluate(upload)


def masked(
    plan: ExchangePlan,
    data: bytes,
    private: X25519PrivateKey,
    publics: Mapping[str, bytes],
    gathering: Gathering,
    sender: str,
    request: bytes,
    *,
    backend: str,
) -> bytes:
    """An answer under masks that cancel in the sum over all senders of the gathering.

    Masks are bound to the request: a student that asks one sender about patients and the others
    about nothing gets no sum.

    Args:
        plan: of the exchange.
        data: the answer.
        private, publics: keys for masks, the sender's own and those of the other senders.
        gathering: the sum.
        sender: the own name.
        request: as it arrived.
        backend: encryption engine.
    """
    meta = plan.answer
    masks = np.zeros((meta.count, plan.spec.q, meta.limbs), dtype=np.uint32)
    context = plan.digest + hashlib.sha256(request).digest()
    for mask in pair_masks(private, publics, gathering, sender, context):
        _add(masks, mask.key, mask.sign, meta)
    return get_backend(backend).mask_answer(meta, plan.spec.q, data, masks)


def _add(masks: NDArray[np.uint32], key: bytes, sign: int, meta: CipherMeta) -> None:
    """Add or subtract one key's uniform residues, a lane for each prime, in place."""
    for limb, prime in enumerate(meta.params.primes[: meta.limbs]):
        part = masks[:, :, limb]
        words = uniform_words(key, limb, prime, part.size).reshape(part.shape) % prime
        addend = words if sign > 0 else (prime - words)
        part[...] = ((part.astype(np.uint64) + addend) % prime).astype(np.uint32)
