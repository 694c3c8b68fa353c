"""The ckks implementation: weights hidden as well, by multiplying under the receiver's key.

    public        the receiver's CKKS public key and an X25519 key
    request       E_i(w_ij): one seeded ciphertext whose every slot holds the weight
    share  w_ij x_j in coefficients, N a ciphertext: the ciphertext times every polynomial
                  of parameters, sanitised, shortened to one or two limbs, and then all residues
                  masked like the words of `masked`, modulo their primes

Two things hide a sender's parameters from the receiver, who holds the secret key. Masks that
cancel in the sum make its message uniform to everyone, as long as one other sender keeps its
secret. Of the sum, sanitising (a fresh encryption of zero, and flooding) hides everything but the
plaintext: without it the noise, and masks that the receiver knows, would tell of parameters
one by one. Secrets stay in SEAL (decision 7).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec
import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from securefair.averaging import pairwise
from securefair.averaging.ckks_plan import BLOCK, CkksSumPlan, Piece, plan_ckks
from securefair.averaging.gathering import Gathering, check_weights
from securefair.averaging.interface import SumKeys, WeightedSums
from securefair.averaging.messages import check_request
from securefair.averaging.pairwise import PairMask, pair_masks
from securefair.averaging.spec import (
    SumSpec,
    check_vector,
)
from securefair.averaging.streams import largest_multiple, uniform_words
from securefair.ckks import rules
from securefair.ckks.backends import get_backend, wire
from securefair.ckks.encoding import to_integers
from securefair.ckks.evaluator import Evaluator, Released
from securefair.ckks.keys import PublicKeys, StudentKeys
from securefair.ckks.tensor import CipherTensor
from securefair.config import defaults
from securefair.errors import EncryptionError, LocalProtocolError, PlanError, RemoteProtocolError
from securefair.storage import Secret

Words = NDArray[np.uint32]


@dataclass(frozen=True, kw_only=True, repr=False)
class CkksSumKeys(SumKeys):
    """A participant's CKKS keys, for sums that it gathers, and its X25519 key, for its masks."""

    encryption: StudentKeys = field(repr=False)
    private: X25519PrivateKey = field(repr=False)


class CkksSums(WeightedSums[CkksSumPlan, CkksSumKeys]):
    """Sums under the receiver's encryption; `backend` computes, "rns" or "seal"."""

    name: ClassVar[str] = "ckks"
    hides_weights: ClassVar[bool] = True
    hides_parameters: ClassVar[bool] = True
    means: ClassVar[str] = "averagings.ckks.means"

    def __init__(self, backend: str = defaults.BACKEND) -> None:
        self._backend = get_backend(backend)

    def plan(self, spec: SumSpec) -> CkksSumPlan:
        """See `ckks_plan.plan_ckks`."""
        return plan_ckks(spec)

    def generate_keys(self, plan: CkksSumPlan) -> CkksSumKeys:
        """Fresh keys of both kinds."""
        encryption = self._backend.generate_keys(plan.params)
        private = pairwise.generate_private()
        public = encryption.public.encryption + pairwise.public_bytes(private)
        return CkksSumKeys(public=public, encryption=encryption, private=private)

    def export_keys(self, keys: CkksSumKeys) -> Secret:
        """Secret keys of both kinds."""
        parts = (
            pairwise.export_private(keys.private).reveal(),
            keys.encryption.public.encryption,
            keys.encryption.export().reveal(),
        )
        return Secret(bytearray(msgspec.msgpack.encode(parts)))

    def restore_keys(self, plan: CkksSumPlan, secret: Secret) -> CkksSumKeys:
        """The same keys."""
        try:
            parts = msgspec.msgpack.decode(secret.reveal(), type=tuple[bytes, bytes, bytes])
        except msgspec.DecodeError as error:
            raise EncryptionError("these are no keys of sums", found=str(error)) from error
        private = pairwise.restore_private(Secret(bytearray(parts[0])))
        encryption = self._backend.restore_keys(
            plan.params, PublicKeys(parts[1], b""), Secret(bytearray(parts[2]))
        )
        public = parts[1] + pairwise.public_bytes(private)
        return CkksSumKeys(public=public, encryption=encryption, private=private)

    def check_public(self, plan: CkksSumPlan, keys: CkksSumKeys, peer: str, public: bytes) -> None:
        """A public key of the encryption, and an X25519 key with which a secret can be shared."""
        super().check_public(plan, keys, peer, public)
        pairwise.check_public(keys.private, peer, public[-pairwise.PUBLIC_BYTES :])
        self._evaluator(plan, peer, public)

    def ask(
        self,
        plan: CkksSumPlan,
        keys: CkksSumKeys,
        gathering: Gathering,
        weights: Mapping[str, float],
    ) -> dict[str, bytes]:
        """Every sender's weight, encrypted."""
        check_weights(gathering, weights, most=plan.spec.senders)
        slots = plan.params.slots
        return {
            name: keys.encryption.encryptor.encrypt(np.full((1, slots), weights[name]), plan.weight)
            for name in gathering.senders
        }

    def message(
        self,
        plan: CkksSumPlan,
        keys: CkksSumKeys,
        publics: Mapping[str, bytes],
        gathering: Gathering,
        sender: str,
        request: bytes,
        vector: NDArray[np.floating],
    ) -> bytes:
        """E_i(w_ij) times the parameters, sanitised and masked.

        Raises:
            PlanError: sanitising would hide the parameters too little.
        """
        if plan.spec.flooding_bits < defaults.MIN_FLOODING_BITS:
            raise PlanError(
                "a sum would hide the parameters too little",
                where="flooding_bits",
                found=plan.spec.flooding_bits,
                expected=f"at least {defaults.MIN_FLOODING_BITS}",
            )
        check_vector(plan, vector)
        check_request(request, plan.request_bytes, gathering)
        exchange_keys = {name: public[-pairwise.PUBLIC_BYTES :] for name, public in publics.items()}
        masks = pair_masks(keys.private, exchange_keys, gathering, sender, plan.digest)
        evaluator, weight = self._load(plan, publics, gathering, request)
        message = np.empty(plan.share_bytes // wire.WORD, dtype=np.uint32)
        pieces = list(plan.pieces())
        left = sum(piece.count for piece in pieces)
        for piece in pieces:  # meanwhile another core makes what sanitises this one and the next
            with evaluator.meanwhile(weight.meta.limbs, min(left, 2 * BLOCK)):
                words = _product(evaluator, plan, weight, piece, vector)
                message[piece.place] = _masked(plan, piece, words, masks)
            left -= piece.count
        return message.astype("<u4", copy=False).tobytes()

    def added(
        self, plan: CkksSumPlan, keys: CkksSumKeys, messages: Sequence[bytes]
    ) -> NDArray[np.float64]:
        """The decrypted sum of all shares, on the plan's grid."""
        parts = [np.frombuffer(message, "<u4") for message in messages]
        total = np.empty(plan.spec.parameters)
        for piece in plan.pieces():
            words = np.zeros(piece.words, dtype=np.uint64)
            for one in parts:
                words += one[piece.place]
            for part, prime in _by_prime(plan, piece, words):
                part %= np.uint64(prime)
            released = Released(
                rules.with_count(plan.summed, piece.count),
                np.arange(piece.coefficients),
                words.astype("<u4").tobytes(),
            )
            total[piece.parameters] = keys.encryption.decryptor.open(released).ravel()
        np.rint(total / plan.grid, out=total)
        total *= plan.grid
        return total

    def _load(
        self,
        plan: CkksSumPlan,
        publics: Mapping[str, bytes],
        gathering: Gathering,
        request: bytes,
    ) -> tuple[Evaluator[Any], CipherTensor[Any]]:
        """An evaluator under the receiver's public key, and the encrypted weight."""
        if gathering.receiver not in publics:
            raise LocalProtocolError(
                "the receiver's public key is missing", where=gathering.receiver
            )
        evaluator = self._evaluator(plan, gathering.receiver, publics[gathering.receiver])
        try:
            return evaluator, evaluator.load(request, plan.weight)
        except EncryptionError as error:
            raise RemoteProtocolError(
                "its encrypted weight cannot be used",
                culprit=gathering.receiver,
                found=str(error),
            ) from error

    def _evaluator(self, plan: CkksSumPlan, peer: str, public: bytes) -> Evaluator[Any]:
        keys = PublicKeys(public[: -pairwise.PUBLIC_BYTES], b"")
        try:
            return self._backend.evaluator(plan.params, keys)
        except EncryptionError as error:
            raise RemoteProtocolError(
                "its public key cannot be used", culprit=peer, found=str(error)
            ) from error


def _product(
    evaluator: Evaluator[Any],
    plan: CkksSumPlan,
    weight: CipherTensor[Any],
    piece: Piece,
    vector: NDArray[np.floating],
) -> Words:
    """Words of one piece before they are masked.

    What comes after sanitising works on ciphertexts that tell only their plaintext already.
    """
    values = vector[piece.parameters].astype(np.float64).reshape(piece.count, -1)
    polynomials = to_integers(values, plan.log2_factor, plan.params.ring_degree)
    product = evaluator.outer_plain(weight, plan.factors(piece.count), polynomials)
    product = evaluator.sanitize(product, plan.spec.flooding_bits)
    product = evaluator.rescale(product, plan.answer.limbs, slots=False)
    released = evaluator.extract(product, np.arange(piece.coefficients))
    return np.frombuffer(released.data, dtype="<u4")


def _masked(plan: CkksSumPlan, piece: Piece, words: Words, masks: list[PairMask]) -> Words:
    """The same words under all masks, each residue modulo its prime."""
    total = words.astype(np.uint64)
    parts = list(_by_prime(plan, piece, total))
    for index, (part, prime) in enumerate(parts):
        lane = piece.index * len(parts) + index
        for mask in masks:
            stream = uniform_words(mask.key, lane, prime, part.size).reshape(part.shape)
            part += stream if mask.sign > 0 else largest_multiple(prime) - stream
        part %= np.uint64(prime)
    return total.astype(np.uint32)


def _by_prime(
    plan: CkksSumPlan, piece: Piece, words: NDArray[np.uint64]
) -> Iterator[tuple[NDArray[np.uint64], int]]:
    """Views of a piece's words (`wire.write_answer`) that share a prime, and that prime."""
    n, limbs = plan.params.ring_degree, plan.answer.limbs
    split = piece.count * limbs * n
    second = words[:split].reshape(piece.count, limbs, n)
    first = words[split:].reshape(-1, limbs)
    for limb, prime in enumerate(plan.params.primes[:limbs]):
        yield second[:, limb], prime
        yield first[:, limb], prime
