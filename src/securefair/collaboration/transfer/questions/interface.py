"""A question of a transfer: everybody's `TransferQuestion`, and a hospital's `HospitalExchange`.

    request ----> told: charged ----> answer, or a share of a sum under masks
            <---- open, or open_sum of all shares ----> transferred

Laws: a request and an answer follow from own patients and from what was agreed, never from a value
that was opened. A request is the same to everybody. One teacher's share is noise without those of
all others that share its gathering.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from securefair.averaging.gathering import Gathering
from securefair.data.dataset import Samples
from securefair.errors import LocalProtocolError
from securefair.model.transfer import OwnFit, Polynomial, Transferred

if TYPE_CHECKING:
    from securefair.collaboration.audit import Audit
    from securefair.collaboration.facts import EncryptionFacts
    from securefair.collaboration.transfer.terms import TransferTerms

Array = NDArray[np.float64]
StoredKeys = tuple[bytes, bytes, bytes]
"""Public key, evaluation keys, secret key; empty where a question needs none."""


@dataclass(frozen=True)
class Charged:
    """What an answer to a question tells: numbers, of a student of so many samples."""

    numbers: int
    samples: int


@dataclass(frozen=True)
class Disclosed:
    """What every answer tells.

    Attributes:
        release: a name of the register of releases.
        rows: numbers a logit, at most; or in all, where that is no projection.
        known: numbers that say all there is to know of a fit.
    """

    release: str
    rows: int
    known: int


@dataclass(frozen=True)
class MaskKeys:
    """Keys of one sender for masks: its own, and those of its peers, by name."""

    sender: str
    private: X25519PrivateKey = field(repr=False)
    publics: Mapping[str, bytes]


class HospitalExchange(ABC):
    """Both sides of the one exchange, at one hospital.

    What an exchange has no part in (sums, answers by themselves, learning) is a LocalProtocolError.
    """

    @abstractmethod
    def request(self) -> bytes:
        """Its question, the same to everybody."""

    @abstractmethod
    def told(self, request: bytes, student: str) -> Charged:
        """What an answer would tell a student.

        Raises:
            RemoteProtocolError: this is no such question; the culprit is the student.
            ConfigError, PlanError: it is not what was agreed on.
        """

    @abstractmethod
    def answer(self, request: bytes, student: str, model: Polynomial) -> bytes:
        """An answer that is opened by itself.

        Args:
            request: as it arrived.
            student: who asks.
            model: that answers.

        Raises:
            ConfigError, PlanError, EncryptionError: the request does not fit what was agreed.
        """

    def share(
        self,
        request: bytes,
        gathering: Gathering,
        keys: MaskKeys,
        own: OwnFit,
        model: Polynomial,
    ) -> bytes:
        """An answer that tells something only in the sum over all senders of the gathering.

        Args:
            request: as it arrived; masks are bound to it.
            gathering: the sum.
            keys: for masks.
            own: fits on own patients.
            model: that answers.

        Raises:
            ConfigError, PlanError, EncryptionError, ModelError: as `answer`.
        """
        del request, keys, own, model
        raise self._other(f"a sum for {gathering.receiver}")

    def open(self, answer: bytes) -> Array:
        """The numbers of an answer that was not masked."""
        raise self._other(f"an answer of {len(answer)} bytes")

    def open_sum(self, gathering: Gathering, shares: Mapping[str, bytes]) -> Array:
        """The mean of all senders' numbers."""
        raise self._other(f"a sum of {len(shares)}, round {gathering.round}")

    def transferred(self, own: OwnFit, mean: Array, senders: Sequence[str]) -> Transferred:
        """The own fits combined with an opened mean of these senders."""
        del own, mean
        raise self._other(f"a mean of {len(senders)}")

    def transferred_each(self, own: OwnFit, each: Mapping[str, Array]) -> Transferred:
        """The own fits combined with answers that were opened by themselves, by teacher."""
        del own
        raise self._other(f"answers of {', '.join(each)}")

    def carried(self, numbers: Array, later: HospitalExchange) -> Array:
        """Opened numbers of one teacher, or of a mean, as if the question had been a later one.

        Args:
            numbers: that were opened.
            later: the same hospital's, whose patients are others.
        """
        del later
        raise self._other(f"{numbers.size} numbers about other patients")

    @abstractmethod
    def export_keys(self) -> StoredKeys:
        """All its keys, for a keystore and nobody else.

        Raises:
            BackendUnavailableError: the engine keeps its keys to itself.
        """

    def _other(self, found: str) -> LocalProtocolError:
        return LocalProtocolError("an exchange of this kind has no such part", found=found)


class TransferQuestion(ABC):
    """What was agreed on.

    Args:
        agreed: the agreement.
    """

    encrypts: ClassVar[bool]
    """Whether it travels under encryption, by a plan of an exchange."""

    def __init__(self, agreed: TransferTerms) -> None:
        self.agreed = agreed

    @property
    @abstractmethod
    def digest(self) -> bytes:
        """32 bytes over what this installation plans for it."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """What it means, in half a line for people."""

    @property
    @abstractmethod
    def lengths(self) -> tuple[int, int]:
        """Most bytes of a request and of an answer."""

    @property
    def most_patients(self) -> int:
        """That one hospital may ask about."""
        return self.agreed.facts.samples

    @abstractmethod
    def numbers_of(self, patients: int) -> int:
        """Numbers that a student of so many patients gets of one teacher, alone or in a mean."""

    @abstractmethod
    def determines_fit(self, patients: int) -> bool:
        """Whether what a student of so many patients gets tells the fit, or the mean of fits."""

    @abstractmethod
    def determines_logits(self, patients: int) -> bool:
        """Whether it tells every logit of its patients."""

    def warnings(self, patients: Mapping[str, int]) -> list[str]:
        """What may surprise, a sentence each.

        Args:
            patients: how many everybody brings, by name.
        """
        del patients
        return []

    @abstractmethod
    def bytes_of(self, patients: int) -> tuple[int, int]:
        """Bytes to and from one teacher of a student of so many patients, without mask keys."""

    @property
    @abstractmethod
    def told(self) -> Disclosed:
        """What an answer tells, for the ledger."""

    @abstractmethod
    def exchange(
        self, patients: Samples, *, backend: str, device: str, keys: StoredKeys | None = None
    ) -> HospitalExchange:
        """At one hospital.

        Args:
            patients: its training patients.
            backend: encryption engine.
            device: what computes on ciphertexts.
            keys: of an earlier process; None makes new ones.

        Raises:
            DataError, ConfigError, PlanError, EncryptionError: patients or keys do not fit.
        """

    @abstractmethod
    def clear(self, patients: Samples, own: OwnFit, model: Polynomial) -> Array:
        """The numbers that a teacher's answer about these patients holds, in the clear."""

    @abstractmethod
    def encryption(self, audit: Audit, *, backend: str) -> EncryptionFacts:
        """What a run says of how it was protected."""
