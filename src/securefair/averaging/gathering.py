"""One sum by name: who gathers from whom, and when; and the weights that make sense for it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from securefair.config import defaults
from securefair.errors import LocalProtocolError, RemoteProtocolError

SESSION_BYTES = 32
"""A hash over everything that the participants agreed on; masks are bound to keys besides."""

WEIGHT_TOLERANCE = 1e-9
"""Weights of a normalised row add up to 1 but for rounding."""


@dataclass(frozen=True, kw_only=True)
class Gathering:
    """One sum: who gathers from whom, and when. Every mask is bound to all of it.

    Attributes:
        session: 32 bytes, the hash of what the participants agreed on.
        round: round of the protocol.
        attempt: 0, and one more each time the sum is repeated without a lost sender.
        receiver: who gets the sum.
        senders: names in ascending order, two at least, the receiver not among them: a sum over one
            is that sender's share.

    Raises:
        LocalProtocolError: any of this does not hold.
    """

    session: bytes
    round: int
    attempt: int = 0
    receiver: str
    senders: tuple[str, ...]

    def __post_init__(self) -> None:
        for where, right, found, expected in (
            (
                "session",
                isinstance(self.session, bytes) and len(self.session) == SESSION_BYTES,
                f"{type(self.session).__name__} of {len(self.session)}",
                "32 bytes",
            ),
            *(
                (name, type(value) is int and value >= 0, value, "a whole number, 0 or more")
                for name, value in (("round", self.round), ("attempt", self.attempt))
            ),
            (
                "senders",
                len(self.senders) >= defaults.MIN_SENDERS,
                ", ".join(self.senders) or "nobody",
                f"at least {defaults.MIN_SENDERS}: a sum over one is that sender's model",
            ),
            (
                "senders",
                list(self.senders) == sorted(set(self.senders)),
                ", ".join(self.senders),
                "each once, in ascending order",
            ),
            (
                "senders",
                self.receiver not in self.senders,
                self.receiver,
                "peers of the receiver",
            ),
        ):
            if not right:
                raise LocalProtocolError(
                    "this is no sum to gather", where=where, found=found, expected=expected
                )

    @classmethod
    def of(cls, session: bytes, round: int, receiver: str, senders: Iterable[str]) -> Gathering:
        """The first attempt; senders in any order."""
        return cls(session=session, round=round, receiver=receiver, senders=tuple(sorted(senders)))

    @classmethod
    def asked(
        cls,
        session: bytes,
        round: int,
        attempt: int,
        receiver: str,
        senders: tuple[str, ...],
    ) -> Gathering:
        """A gathering as a receiver named it in a message.

        Raises:
            RemoteProtocolError: it names none; the culprit is the receiver.
        """
        try:
            return cls(
                session=session,
                round=round,
                attempt=attempt,
                receiver=receiver,
                senders=senders,
            )
        except LocalProtocolError as fault:
            raise RemoteProtocolError(
                fault.problem,
                culprit=receiver,
                where=fault.where,
                found=fault.found,
                expected=fault.expected,
            ) from fault

    @property
    def digest(self) -> bytes:
        """32 bytes that differ if anything of the gathering does."""
        facts = (self.session, self.round, self.attempt, self.receiver, self.senders)
        encoded = msgspec.msgpack.encode(facts)
        return hashlib.sha256(b"securefair gathering\0" + encoded).digest()


def check_weights(gathering: Gathering, weights: Mapping[str, float], *, most: int) -> None:
    """Refuse weights that are not one share for every sender, or more senders than planned.

    Args:
        gathering: the sum.
        weights: by sender.
        most: senders that the error of a sum was planned for.

    Raises:
        LocalProtocolError: names the sender.
    """
    if len(gathering.senders) > most:
        raise LocalProtocolError(
            "a sum of more senders than were planned would be less exact",
            where="senders",
            found=len(gathering.senders),
            expected=f"at most {most}",
        )
    if set(weights) != set(gathering.senders):
        raise LocalProtocolError(
            "every sender needs a weight, and nobody else",
            where="weights",
            found=", ".join(sorted(weights)),
            expected=", ".join(gathering.senders),
        )
    for name, weight in weights.items():
        if not 0 <= weight <= 1:
            raise LocalProtocolError(
                "a weight is no share",
                where=f"weights.{name}",
                found=weight,
                expected="0 to 1",
            )
    whole = math.fsum(weights.values())
    if whole > 1 + WEIGHT_TOLERANCE:
        raise LocalProtocolError(
            "the weights of a sum exceed the whole",
            where="weights",
            found=whole,
            expected="at most 1",
        )
