"""Who holds which key: encryption and decryption as the student's own, each with one key."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.evaluator import Evaluator, Released
from securefair.ckks.parameters import CkksParameters
from securefair.ckks.tensor import CipherMeta
from securefair.errors import BackendUnavailableError, ConfigError, EncryptionError
from securefair.storage.secret import Secret


@dataclass(frozen=True)
class PublicKeys:
    """What a student gives away: exactly the keys that the plan lists.

    Attributes:
        encryption: public key, for sanitising answers.
        relinearization: relinearisation key, empty when no circuit multiplies ciphertexts
            down to two polynomials.
        galois: Galois key for the automorphism that the plan names, empty when it names none.

    Both are as short as the ciphertexts that they are for: see `Backend.generate_keys`.
    """

    encryption: bytes
    relinearization: bytes
    galois: bytes = b""

    @property
    def evaluation(self) -> bytes:
        """Both evaluation keys as one message: length of the first, then one after the other;
        empty where there is none."""
        if not self.relinearization and not self.galois:
            return b""
        return _LENGTH.pack(len(self.relinearization)) + self.relinearization + self.galois

    @classmethod
    def read(cls, encryption: bytes, evaluation: bytes) -> PublicKeys:
        """The keys whose evaluation keys are `evaluation`.

        Raises:
            EncryptionError: it is too short for what it says.
        """
        if not evaluation:
            return cls(encryption, b"")
        size = len(evaluation) - _LENGTH.size
        if size < 1 or _LENGTH.unpack_from(evaluation)[0] > size:
            raise EncryptionError("evaluation keys are truncated", found=f"{len(evaluation)} bytes")
        split = _LENGTH.size + _LENGTH.unpack_from(evaluation)[0]
        return cls(encryption, evaluation[_LENGTH.size : split], evaluation[split:])


_LENGTH = struct.Struct("<Q")


def evaluation_bytes(relinearization: int, galois: int) -> int:
    """Length of `PublicKeys.evaluation` for keys of these lengths."""
    both = relinearization + galois
    return _LENGTH.size + both if both else 0


class Encryptor(Protocol):
    """Encrypts under one student's secret key (symmetric and seeded: half the bytes)."""

    def encrypt(self, values: NDArray[np.float64], meta: CipherMeta) -> bytes:
        """Real values (d, n <= meta.width), packed as `meta` says, the rest zero, -> the upload
        that `Evaluator.load` takes."""


class Decryptor(Protocol):
    """Opens answers with one student's secret key.

    Attributes:
        exact: there is no noise in what it opens, so that nothing needs rounding.
    """

    exact: bool

    def open(self, released: Released) -> NDArray[np.float64]:
        """Values of the released coefficients (d, q), or of all slots (d, N/2).

        Raises:
            EncryptionError: the answer's length or residues do not fit the plan.
        """


def _kept() -> NoReturn:
    raise BackendUnavailableError(
        "this engine keeps its keys in the process that made them",
        hint="Keys that are to be saved need the rns or the seal backend",
    )


@dataclass(frozen=True)
class StudentKeys:
    """A student's key ring. It prints nothing, and nothing in it can be sent but `public`.

    Attributes:
        public: what a teacher needs.
        encryptor, decryptor: hold the secret key.
        export: the secret key as bytes, for a keystore; raises BackendUnavailableError where the
            engine keeps it.
    """

    public: PublicKeys
    encryptor: Encryptor
    decryptor: Decryptor
    export: Callable[[], Secret] = _kept

    def __repr__(self) -> str:
        """Secrets never print."""
        return "StudentKeys(redacted)"


class Backend(ABC):
    """One way to compute under encryption; stateless."""

    name: str

    planned_bytes = True
    """Whether uploads and keys have exactly the lengths of the plan, so that others are refused."""

    packs_coefficients = True
    """Whether it encrypts values as coefficients, and multiplies those with polynomials."""

    own_encoding = False
    """Whether kernels of ours encode what the library encrypts."""

    portable = True
    """Whether what one process encrypts another can evaluate."""

    @classmethod
    def on_device(cls, device: str) -> Self:
        """The same with evaluators that compute on that device.

        Raises:
            ConfigError: no such device, or this backend knows the processor only.
            BackendUnavailableError: there is no such card, or what it needs is not installed.
        """
        raise ConfigError(
            "this backend computes on the processor only",
            where="device",
            found=f"{device}, backend {cls.name}",
            expected="cpu",
        )

    @abstractmethod
    def generate_keys(
        self, params: CkksParameters, *, relinearization: int = 0, galois: int = 0, element: int = 0
    ) -> StudentKeys:
        """Fresh keys, from the operating system's entropy.

        Args:
            params: parameters of the ciphertexts.
            relinearization: most limbs of a ciphertext that is relinearised; 0 for no such key.
            galois: most limbs of one that goes through X -> X^element, and is switched back; 0 for
                no such key.
            element: odd, below 2N; 0 for 2N - 1, which is conjugation.
        """

    def restore_keys(
        self, params: CkksParameters, public: PublicKeys, secret: Secret
    ) -> StudentKeys:
        """The keys whose secret part `StudentKeys.export` gave.

        Raises:
            EncryptionError: the bytes are of other parameters.
            BackendUnavailableError: the engine keeps its keys.
        """
        del params, public, secret
        _kept()

    @abstractmethod
    def evaluator(self, params: CkksParameters, public: PublicKeys) -> Evaluator[Any]:
        """A teacher's evaluator for one student's ciphertexts.

        Raises:
            EncryptionError: the keys do not belong to these parameters.
        """

    def mask_answer(
        self, meta: CipherMeta, coefficients: int, data: bytes, masks: NDArray[np.uint32]
    ) -> bytes:
        """An answer whose released coefficients are hidden under masks that cancel in a sum.

        Args:
            meta: public facts of the answer.
            coefficients: released ones of each ciphertext, q.
            data: the answer.
            masks: (d, q, limbs), each below its prime.

        Raises:
            EncryptionError: the answer does not fit the plan, or the backend cannot do so.
        """
        del meta, coefficients, data, masks
        raise self._no_sums()

    def add_answers(self, meta: CipherMeta, coefficients: int, answers: Sequence[bytes]) -> bytes:
        """The answer that opens to the sum of what these open to, all to one student.

        Raises:
            EncryptionError: an answer does not fit the plan, there is none, or the backend cannot
                do so.
        """
        del meta, coefficients, answers
        raise self._no_sums()

    def _no_sums(self) -> EncryptionError:
        return EncryptionError(
            "this backend forms no sums of answers",
            found=self.name,
            hint='Choose "rns" or "seal", or open each answer',
        )
