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

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from securefair.averaging.crypten_parties import CryptenParties
from securefair.averaging.fixed_point import FixedPoint
from securefair.averaging.gathering import Gathering
from securefair.averaging.interface import SumKeys
from securefair.averaging.messages import (
    WEIGHT_BYTES,
    check_shares,
    check_total,
    read_weights,
)
from securefair.averaging.spec import (
    SumPlan,
    SumSpec,
    check_precision,
    check_spec,
    check_vector,
    largest_magnitude,
)
from securefair.averaging.streams import in_chunks
from securefair.averaging.unkeyed import UnkeyedSums
from securefair.errors import BackendUnavailableError, PlanError


@dataclass(frozen=True, kw_only=True)
class CryptenPlan(SumPlan):
    """Adds the format of words, always of 64 bits."""

    fixed: FixedPoint

    @property
    def format(self) -> tuple[int, ...]:
        """See `SumPlan`: bits of a word, and of its fraction."""
        return self.fixed.word_bits, self.fixed.log2_scale


class CryptenSums(UnkeyedSums[CryptenPlan]):
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

    def plan(self, spec: SumSpec) -> CryptenPlan:
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
        plan = CryptenPlan(
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

    def message(
        self,
        plan: CryptenPlan,
        keys: SumKeys,
        publics: Mapping[str, bytes],
        gathering: Gathering,
        sender: str,
        request: bytes,
        vector: NDArray[np.floating],
    ) -> bytes:
        """The secret of the sender's own process."""
        del keys, publics, sender
        check_vector(plan, vector)
        (weight,) = read_weights(request, 1, gathering)
        message = np.empty(len(vector), dtype=plan.fixed.word)

        def encode(part: slice) -> None:
            message[part] = plan.fixed.encode(vector[part], weight)

        in_chunks(len(vector), encode)
        return message.tobytes()

    def total(
        self,
        plan: CryptenPlan,
        keys: SumKeys,
        gathering: Gathering,
        shares: Mapping[str, bytes],
    ) -> NDArray[np.float64]:
        """The sum that CrypTen reveals to the receiver's process."""
        del keys
        check_shares(plan, gathering, shares)
        words = self._parties.sum([shares[name] for name in gathering.senders])
        total = np.empty(plan.spec.parameters)
        plan.fixed.decode(np.frombuffer(words, dtype=plan.fixed.word), total)
        check_total(plan, gathering, largest_magnitude(total))
        return total
