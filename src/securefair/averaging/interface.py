"""The interface of private weighted sums: five pure steps, from a wish to a sum.

One sum is a `Gathering`: one receiver, one round, an agreed set of at least two senders. Nothing
here waits, sends or remembers; what passes between participants is bytes.

    plan_sum(name, wish)                      both sides    -> SumPlan: format, bytes, error bound
    sums.generate_keys(plan)                  everyone      -> SumKeys, whose `public` all peers get
    sums.ask(plan, keys, gathering, weights)  the receiver  -> a request for every sender
    sums.contribute(...)                      a sender      -> one message for the receiver
    sums.total(...)                           the receiver  -> float64 (parameters,)

Callers use `contribute` through `contributions.contribute`, which seals every message and keeps
a sender from contributing twice, and `total` through `contributions.open_sum`. The receiver adds
its own w_ii x_i to the sum; it needs nobody's help for that.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.errors import (
    BackendUnavailableError,
    LocalProtocolError,
    ModelError,
    PlanError,
    RemoteProtocolError,
)

AVERAGING = {
    "clear": "securefair.averaging.clear:ClearSums",
    "ckks": "securefair.averaging.ckks:CkksSums",
    "crypten": "securefair.averaging.crypten:CryptenSums",
    "masked": "securefair.averaging.masked:MaskedSums",
}
"""Implementations by the word that a configuration uses; imported only when asked for."""

SESSION_BYTES = 32
"""A hash over everything that the participants agreed on, their public keys included."""

MIN_SENDERS = 2
"""A sum over one sender is that sender's model."""

MAX_PARAMETERS, MAX_SENDERS = 1 << 28, 1 << 12
MAX_BOUND = 2.0**40

CLEAR_BYTES = 4
"""What a parameter takes when a model is sent in the clear: float32."""

CHUNK = 1 << 18
"""Parameters worked on at once: temporaries of a few megabytes, whatever the model's size."""

WEIGHT_TOLERANCE = 1e-9
"""Weights of a normalised row add up to 1 but for rounding."""


class SumWish(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the participants agree on before any sum.

    Attributes:
        parameters: length of everyone's parameter vector.
        senders: most senders of one sum, at least 2.
        bound: largest |parameter|; a vector beyond it is refused before anything is sent.
        precision: largest error of a coordinate of a sum, over the bound.
        flooding_bits: of `ckks`: statistical hiding of noise that depends on parameters.
        max_share: of `masked`: every sender is shown all weights of the sum and refuses if one
            of them exceeds this share of their total; None: each sees its own weight only.
    """

    parameters: int
    senders: int
    bound: float = 16.0
    precision: float = 2.0**-16
    flooding_bits: int = 30
    max_share: float | None = None


@dataclass(frozen=True, kw_only=True)
class SumPlan:
    """The public facts of every sum under one wish; implementations add their formats.

    Attributes:
        averaging: name of the implementation.
        wish: what was asked for.
        error_bound: no coordinate of a sum of honest contributions is further off.
        public_key_bytes: of `SumKeys.public`, once per collaboration.
        request_bytes: receiver -> sender, once a sum, at most.
        contribution_bytes: sender -> receiver, once a sum.
    """

    averaging: str
    wish: SumWish
    error_bound: float
    public_key_bytes: int
    request_bytes: int
    contribution_bytes: int

    @property
    def clear_bytes(self) -> int:
        """What sending the model in the clear would take."""
        return CLEAR_BYTES * self.wish.parameters

    @property
    def digest(self) -> bytes:
        """32 bytes on which all participants must agree."""
        facts = msgspec.json.encode((self.averaging, self.wish, self.contribution_bytes))
        return hashlib.sha256(b"securefair sum plan\0" + facts).digest()


@dataclass(frozen=True, kw_only=True)
class SumKeys:
    """One participant's keys for its sums; implementations add their secrets, which never print.

    Attributes:
        public: what every peer needs; empty where nothing is needed.
    """

    public: bytes
    secrets: object = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Gathering:
    """One sum: who gathers from whom, and when. Every mask is bound to all of it.

    Attributes:
        session: 32 bytes, the hash of what the participants agreed on.
        round: round of the protocol.
        attempt: 0, and one more each time the sum is repeated without a lost sender.
        receiver: who gets the sum.
        senders: names in ascending order, at least two, the receiver not among them.

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
            ("session", len(self.session) == SESSION_BYTES, len(self.session), "32 bytes"),
            ("round", self.round >= 0, self.round, "0 or more"),
            ("attempt", self.attempt >= 0, self.attempt, "0 or more"),
            (
                "senders",
                len(self.senders) >= MIN_SENDERS,
                ", ".join(self.senders) or "nobody",
                "at least two: a sum over one is that sender's model",
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
        cls, session: bytes, round: int, attempt: int, receiver: str, senders: tuple[str, ...]
    ) -> Gathering:
        """A gathering as a receiver named it in a message.

        Raises:
            RemoteProtocolError: it names none; the culprit is the receiver.
        """
        try:
            return cls(
                session=session, round=round, attempt=attempt, receiver=receiver, senders=senders
            )
        except LocalProtocolError as fault:
            raise RemoteProtocolError(
                fault.problem,
                culprit=receiver,
                where=fault.where,
                found=fault.found,
                expected=fault.expected,
            ) from fault

    def without(self, lost: Iterable[str]) -> Gathering:
        """The next attempt, without these senders.

        Raises:
            LocalProtocolError: fewer than two would be left.
        """
        left = tuple(name for name in self.senders if name not in set(lost))
        return Gathering(
            session=self.session,
            round=self.round,
            attempt=self.attempt + 1,
            receiver=self.receiver,
            senders=left,
        )

    @property
    def digest(self) -> bytes:
        """32 bytes that differ if anything of the gathering does."""
        facts = (self.session, self.round, self.attempt, self.receiver, self.senders)
        encoded = msgspec.msgpack.encode(facts)
        return hashlib.sha256(b"securefair gathering\0" + encoded).digest()


class WeightedSums(ABC):
    """One way to form private weighted sums; stateless.

    Attributes:
        name: the word for it in a configuration.
        hides_weights: senders do not learn the weights that the receiver gives them.
        hides_parameters: a receiver alone learns no sender's vector from the contributions.
    """

    name: ClassVar[str]
    hides_weights: ClassVar[bool]
    hides_parameters: ClassVar[bool]

    @abstractmethod
    def plan(self, wish: SumWish) -> SumPlan:
        """The format that grants a wish.

        Raises:
            PlanError: none does; the hint names the nearest wish that can be granted.
        """

    @abstractmethod
    def generate_keys(self, plan: SumPlan) -> SumKeys:
        """Fresh keys, from the operating system's entropy."""

    @abstractmethod
    def ask(
        self, plan: SumPlan, keys: SumKeys, gathering: Gathering, weights: Mapping[str, float]
    ) -> dict[str, bytes]:
        """The receiver's request to every sender, with the weight w_j in it.

        Args:
            plan: the agreed plan.
            keys: the receiver's.
            gathering: the sum.
            weights: one weight in [0, 1] for every sender, at most 1 together.

        Raises:
            LocalProtocolError: weights are missing, or not such.
        """

    @abstractmethod
    def contribute(
        self,
        plan: SumPlan,
        keys: SumKeys,
        publics: Mapping[str, bytes],
        gathering: Gathering,
        sender: str,
        request: bytes,
        vector: NDArray[np.floating],
    ) -> bytes:
        """One sender's message, of exactly `plan.contribution_bytes`.

        Args:
            plan: the agreed plan.
            keys: the sender's.
            publics: `SumKeys.public` of the receiver and of all other senders, by name.
            gathering: the sum.
            sender: the sender's own name.
            request: what the receiver asked it.
            vector: float (parameters,), finite and within the bound.

        Raises:
            ModelError: the vector is not such; nothing may be sent.
            RemoteProtocolError: the request cannot be used.
        """

    @abstractmethod
    def total(
        self,
        plan: SumPlan,
        keys: SumKeys,
        gathering: Gathering,
        contributions: Mapping[str, bytes],
    ) -> NDArray[np.float64]:
        """sum_j w_j x_j, float64 (parameters,), from all senders' messages.

        Raises:
            LocalProtocolError: a sender's message is missing.
            RemoteProtocolError: a message has the wrong length or holds what nobody could send.
        """


def get_averaging(name: str) -> WeightedSums:
    """The implementation of that name.

    Raises:
        BackendUnavailableError: there is none, or what it needs is not installed.
    """
    if name not in AVERAGING:
        raise BackendUnavailableError(
            "unknown averaging", found=name, expected=", ".join(sorted(AVERAGING))
        )
    module, _, cls = AVERAGING[name].partition(":")
    try:
        sums: WeightedSums = getattr(import_module(module), cls)()
    except ImportError as error:
        raise BackendUnavailableError(
            f"averaging {name} cannot be imported",
            found=str(error),
            hint="docs/averaging.md says what to install",
        ) from error
    return sums


def plan_sum(name: str, wish: SumWish) -> SumPlan:
    """The plan of that implementation.

    Raises:
        PlanError: the wish cannot be granted.
        BackendUnavailableError: there is no such implementation here.
    """
    check_wish(wish)
    return get_averaging(name).plan(wish)


def check_wish(wish: SumWish) -> None:
    """Refuse what no implementation could grant.

    Raises:
        PlanError: names the field.
    """
    for where, value, least, most in (
        ("parameters", wish.parameters, 1, MAX_PARAMETERS),
        ("senders", wish.senders, MIN_SENDERS, MAX_SENDERS),
        ("bound", wish.bound, 1 / MAX_BOUND, MAX_BOUND),
        ("precision", wish.precision, 2.0**-48, 0.5),
        ("flooding_bits", wish.flooding_bits, 0, 60),
        ("max_share", 1.0 if wish.max_share is None else wish.max_share, 1 / wish.senders, 1),
    ):
        if not least <= value <= most:  # NaN is not within
            raise PlanError("out of range", where=where, found=value, expected=f"{least} to {most}")


def check_vector(plan: SumPlan, vector: NDArray[np.floating]) -> None:
    """Refuse what would be cut or wrap around, before anything of it is sent.

    Raises:
        ModelError: another shape or type, not finite, or beyond the bound.
    """
    if vector.ndim != 1 or len(vector) != plan.wish.parameters or vector.dtype.kind != "f":
        raise ModelError(
            "the parameters differ from the plan in number or type",
            found=f"{vector.dtype} {vector.shape}",
            expected=f"floats ({plan.wish.parameters},)",
            hint="All participants must share one architecture",
        )
    largest = largest_magnitude(vector)
    if not math.isfinite(largest):
        raise ModelError("a parameter is not finite", hint="The training diverged")
    if largest > plan.wish.bound:
        raise ModelError(
            "a parameter exceeds the planned range",
            found=f"{largest:.6g}",
            expected=f"at most {plan.wish.bound:g} in magnitude",
            hint="Plan with a larger bound, or train with more weight decay",
        )


def largest_magnitude(vector: NDArray[np.floating]) -> float:
    """max |x_i|; NaN if any is NaN."""
    pieces = [vector[at : at + CHUNK] for at in range(0, len(vector), CHUNK)]
    ends = [end for piece in pieces for end in (piece.max(), piece.min())]
    return float(np.abs(np.array(ends)).max())


def check_weights(gathering: Gathering, weights: Mapping[str, float]) -> None:
    """Refuse weights that are not one share for every sender.

    Raises:
        LocalProtocolError: names the sender.
    """
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
