"""The crypten implementation: CrypTen's additive secret sharing, among processes of one machine.

A baseline to measure against, not a means of privacy between participants. CrypTen's parties
exchange shares with each other while all of them wait, which no message from a sender to a
receiver can stand for. So `total` runs the whole sum here: one process for every sender, which
gets that sender's share in the open, and one for the receiver, which alone reads the sum.

    request       the weight as a little-endian double
    share  round(w_j x_j 2^k) modulo 2^64: the secret that the sender's process shares

Beyond that: CrypTen expands its shares of zero with torch's generator, which is not made for
cryptography, from seeds of 64 bits. Weights are not hidden, because products of shared values need
its default provider, which is not secure against party 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from securefair.averaging.crypten_parties import CryptenParties
from securefair.averaging.fixed_point import FixedPlan, FixedPoint
from securefair.averaging.interface import SumKeys
from securefair.averaging.messages import WEIGHT_BYTES
from securefair.averaging.spec import (
    SumSpec,
    check_precision,
    check_spec,
)
from securefair.averaging.unkeyed import UnkeyedSums
from securefair.errors import BackendUnavailableError, PlanError


class CryptenSums(UnkeyedSums[FixedPlan]):
    """Sums by CrypTen; processes are started for the first sum and kept for the next."""

    name: ClassVar[str] = "crypten"
    means: ClassVar[str] = "averagings.crypten.means"
    exposed: ClassVar[str] = "averagings.crypten.exposed"

    def __init__(self) -> None:
        if find_spec("crypten") is None:
            raise BackendUnavailableError(
                "averaging crypten needs CrypTen, which is not installed",
                hint="Run: pip install 'securefair[crypten]', then "
                "pip install --no-deps crypten==0.4.1",
            )
        self._parties = CryptenParties()

    def plan(self, spec: SumSpec) -> FixedPlan:
        """CrypTen's ring, with the largest scale that fits it."""
        check_spec(spec)
        if spec.max_share is not None:
            raise PlanError(
                "averaging crypten shows each sender its own weight only",
                where="max_share",
                found=spec.max_share,
                expected="None",
                hint='Use averaging "masked"',
            )
        fixed = FixedPoint.largest(spec, 64)
        plan = FixedPlan(
            averaging=self.name,
            spec=spec,
            error_bound=fixed.error_bound(spec),
            public_key_bytes=0,
            request_bytes=WEIGHT_BYTES,
            share_bytes=fixed.word_bytes * spec.parameters,
            fixed=fixed,
        )
        check_precision(plan)
        return plan

    def word(self, plan: FixedPlan) -> DTypeLike:
        """See `UnkeyedSums`: a word of the secret that the sender's own process shares."""
        return plan.fixed.word

    def weighed(
        self, plan: FixedPlan, part: NDArray[np.floating], weight: float
    ) -> NDArray[np.unsignedinteger]:
        """See `UnkeyedSums`."""
        return plan.fixed.encode(part, weight)

    def added(
        self, plan: FixedPlan, keys: SumKeys, messages: Sequence[bytes]
    ) -> NDArray[np.float64]:
        """The sum that CrypTen reveals to the receiver's process."""
        del keys
        words = self._parties.sum(messages)
        total = np.empty(plan.spec.parameters)
        plan.fixed.decode(np.frombuffer(words, dtype=plan.fixed.word), total)
        return total
