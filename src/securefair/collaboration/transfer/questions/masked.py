"""For a sum under masks: nobody says anything of its patients, and nothing is encrypted.

Everybody adds its numbers in fixed point, under masks that cancel in the sum
(`averaging.masked`). All count alike: the weights are the senders' own, whatever a student
wishes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from securefair.averaging import Gathering
from securefair.averaging.fixed_point import FixedPlan
from securefair.averaging.masked import MaskedKeys, MaskedSums
from securefair.averaging.messages import write_weights
from securefair.averaging.pairwise import public_bytes
from securefair.collaboration.audit import Audit
from securefair.collaboration.facts import EncryptionFacts
from securefair.collaboration.transfer.questions.interface import (
    Disclosed,
    HospitalExchange,
    MaskKeys,
    StoredKeys,
    TransferQuestion,
)
from securefair.errors import RemoteProtocolError
from securefair.model.transfer import Polynomial

if TYPE_CHECKING:
    from securefair.collaboration.transfer.terms import TransferTerms

Array = NDArray[np.float64]

MASK_SECURITY_BITS = 128
"""Of X25519, and of AES-256 behind it."""


class MaskedExchange(HospitalExchange):
    """See `HospitalExchange`: of what is opened in a sum only."""

    def __init__(self, question: MaskedQuestion) -> None:
        self._question: MaskedQuestion = question

    def masked(self, gathering: Gathering, keys: MaskKeys, numbers: Array) -> bytes:
        """Own numbers as a part of a sum."""
        mask_keys = MaskedKeys(public=public_bytes(keys.private), private=keys.private)
        weight = write_weights([1 / len(gathering.senders)])
        question = self._question
        return question.sums.message(
            question.plan, mask_keys, keys.publics, gathering, keys.sender, weight, numbers
        )

    def answer(self, request: bytes, student: str, model: Polynomial) -> bytes:
        """See `HospitalExchange`.

        Raises:
            RemoteProtocolError: it is told in a sum only.
        """
        del request, model
        raise RemoteProtocolError("asks for what is told in a sum only", culprit=student)

    def open_sum(self, gathering: Gathering, shares: Mapping[str, bytes]) -> Array:
        """See `HospitalExchange`."""
        return self._question.total(gathering, shares)

    def carried(self, numbers: Array, later: HospitalExchange) -> Array:
        """See `HospitalExchange`: a sum is of nobody's patients alone."""
        del later
        return numbers

    def export_keys(self) -> StoredKeys:
        """See `HospitalExchange`: none but those for masks, which are the hospital's."""
        return b"", b"", b""


class MaskedQuestion(TransferQuestion):
    """See `TransferQuestion`.

    Args:
        agreed: the agreement.

    Attributes:
        release: what is opened, a name of the register of releases.
    """

    encrypts: ClassVar[bool] = False
    release: ClassVar[str]

    def __init__(self, agreed: TransferTerms) -> None:
        super().__init__(agreed)
        self.sums = MaskedSums()

    @property
    @abstractmethod
    def plan(self) -> FixedPlan:
        """Of every sum.

        Raises:
            PlanError: the numbers do not fit the words of a sum.
        """

    @cached_property
    def _keys(self) -> MaskedKeys:
        """No sum of masked shares needs its receiver's."""
        return self.sums.generate_keys(self.plan)

    def total(self, gathering: Gathering, shares: Mapping[str, bytes]) -> Array:
        """The mean of all senders' numbers."""
        return self.sums.total(self.plan, self._keys, gathering, shares)

    @property
    def digest(self) -> bytes:
        """See `TransferQuestion`."""
        return self.plan.digest

    @property
    def lengths(self) -> tuple[int, int]:
        """See `TransferQuestion`."""
        return len(self.digest), self.plan.share_bytes

    def numbers_of(self, patients: int) -> int:
        """See `TransferQuestion`."""
        del patients
        return self.plan.spec.parameters

    def bytes_of(self, patients: int) -> tuple[int, int]:
        """See `TransferQuestion`."""
        del patients
        return self.lengths

    @property
    def told(self) -> Disclosed:
        """See `TransferQuestion`: all that is told is told once."""
        numbers = self.plan.spec.parameters
        return Disclosed(self.release, numbers, numbers)

    def encryption(self, audit: Audit, *, backend: str) -> EncryptionFacts:
        """See `TransferQuestion`."""
        del backend
        return EncryptionFacts(
            backend=self.sums.name,
            ring_degree=0,
            log_qp=0.0,
            security_bits=MASK_SECURITY_BITS,
            release=self.release,
            flooding_bits=0,
            max_abs_error=audit.max_abs_error,
            error_over_range=audit.error_over_range,
            error_bound=self.plan.error_bound,
            bits_per_number=8 * self.plan.fixed.word_bytes,
        )
