"""The interface of private weighted sums: five pure steps, from a spec to a sum.

One sum is a `Gathering`: one receiver, one round, an agreed set of at least two senders. Nothing
here waits, sends or remembers; what passes between participants is bytes.

    plan_sum(name, spec)                      both sides    -> SumPlan: format, bytes, error bound
    sums.generate_keys(plan)                  everyone      -> SumKeys, whose `public` all peers get
    sums.check_public(...)                    everyone      for every peer's
    sums.ask(plan, keys, gathering, weights)  the receiver  -> a request for every sender
    sums.message(...)                         a sender      -> one message for the receiver
    sums.total(...)                           the receiver  -> float64 (parameters,)

Callers use `message` through `shares.make_share`, which closes every message and keeps a
sender from making two shares, and `total` through `shares.open_sum`. The receiver adds
its own w_ii x_i to the sum; it needs nobody's help for that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from securefair.averaging.gathering import Gathering
from securefair.averaging.messages import check_shares, check_total
from securefair.averaging.spec import SumPlan, SumSpec, check_spec, largest_magnitude
from securefair.config.registers import AVERAGINGS, looked_up
from securefair.errors import BackendUnavailableError, RemoteProtocolError
from securefair.storage import Secret

AVERAGING = AVERAGINGS
"""Implementations by the word that a configuration uses; imported only when asked for."""


PlanT = TypeVar("PlanT", bound=SumPlan)
KeysT = TypeVar("KeysT", bound="SumKeys")


@dataclass(frozen=True, kw_only=True)
class SumKeys:
    """One participant's keys for its sums; implementations add their secrets.

    Attributes:
        public: what every peer needs; empty where nothing is needed.
    """

    public: bytes

    def __repr__(self) -> str:
        """Secrets never print."""
        return f"{type(self).__name__}(redacted)"


class WeightedSums(ABC, Generic[PlanT, KeysT]):
    """One way to form private weighted sums; stateless.

    Attributes:
        name: the word for it in a configuration.
        hides_weights: senders do not learn the weights that the receiver gives them.
        hides_parameters: a receiver alone learns no sender's vector from the shares.
        means: how parts of a sum are kept private, for reports, after "whose parts were": a key
            of `securefair.words`, or the text.
        exposed: how a receiver could learn models, a sentence or two, as `means`; empty where
            parameters are hidden.
    """

    name: ClassVar[str]
    hides_weights: ClassVar[bool]
    hides_parameters: ClassVar[bool]
    means: ClassVar[str]
    exposed: ClassVar[str] = ""

    @abstractmethod
    def plan(self, spec: SumSpec) -> PlanT:
        """The format that grants a spec.

        Raises:
            PlanError: none does; the hint names the nearest spec that can be granted.
        """

    @abstractmethod
    def generate_keys(self, plan: PlanT) -> KeysT:
        """Fresh keys, from the operating system's entropy."""

    def export_keys(self, keys: KeysT) -> Secret:
        """All of them, for a keystore and nobody else.

        Raises:
            BackendUnavailableError: this way of forming sums keeps its keys to itself.
        """
        del keys
        raise self._keeps_keys()

    def restore_keys(self, plan: PlanT, secret: Secret) -> KeysT:
        """The keys that `export_keys` gave.

        Raises:
            EncryptionError: they are of another plan.
            BackendUnavailableError: as `export_keys`.
        """
        del plan, secret
        raise self._keeps_keys()

    def _keeps_keys(self) -> BackendUnavailableError:
        return BackendUnavailableError(
            f"{self.name} sums keep their keys in the process that made them",
            hint='Sites average with gossip.averaging = "masked" or "ckks"',
        )

    def check_public(self, plan: PlanT, keys: KeysT, peer: str, public: bytes) -> None:
        """Refuse a peer whose public part would make every sum fail that it is in.

        Done once, when it arrives: a sum that fails later costs honest senders their place.

        Args:
            plan: the agreed plan.
            keys: the own ones.
            peer: whose it is.
            public: its `SumKeys.public`.

        Raises:
            RemoteProtocolError: the culprit is the peer.
        """
        del keys
        if len(public) != plan.public_key_bytes:
            raise RemoteProtocolError(
                "its public keys have the wrong length",
                culprit=peer,
                found=f"{len(public)} bytes",
                expected=f"{plan.public_key_bytes} bytes",
            )

    @abstractmethod
    def ask(
        self, plan: PlanT, keys: KeysT, gathering: Gathering, weights: Mapping[str, float]
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
    def message(
        self,
        plan: PlanT,
        keys: KeysT,
        publics: Mapping[str, bytes],
        gathering: Gathering,
        sender: str,
        request: bytes,
        vector: NDArray[np.floating],
    ) -> bytes:
        """One sender's message, of exactly `plan.share_bytes`.

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

    def total(
        self,
        plan: PlanT,
        keys: KeysT,
        gathering: Gathering,
        shares: Mapping[str, bytes],
    ) -> NDArray[np.float64]:
        """sum_j w_j x_j, float64 (parameters,), from all senders' messages.

        Raises:
            LocalProtocolError: a sender's message is missing.
            RemoteProtocolError: a message has the wrong length or holds what nobody could send.
        """
        check_shares(plan, gathering, shares)
        total = self.added(plan, keys, [shares[name] for name in gathering.senders])
        check_total(plan, gathering, largest_magnitude(total))
        return total

    @abstractmethod
    def added(self, plan: PlanT, keys: KeysT, messages: Sequence[bytes]) -> NDArray[np.float64]:
        """The sum of messages of the right length, for `total`.

        Args:
            plan: the agreed plan.
            keys: the receiver's.
            messages: one a sender.
        """


def averaging_kind(name: str) -> type[WeightedSums[Any, Any]]:
    """The class of that name, for what it says of itself; the library below may be missing.

    Raises:
        BackendUnavailableError: there is none.
    """
    found: type[WeightedSums[Any, Any]] = looked_up(
        AVERAGING, name, problem="unknown averaging", error=BackendUnavailableError
    )
    return found


def get_averaging(name: str) -> WeightedSums[Any, Any]:
    """The implementation of that name.

    Raises:
        BackendUnavailableError: there is none, or what it needs is not installed.
    """
    try:
        return averaging_kind(name)()
    except ImportError as error:
        raise BackendUnavailableError(
            f"averaging {name} cannot be imported",
            found=str(error),
            hint="docs/averaging.md says what to install",
        ) from error


def plan_sum(name: str, spec: SumSpec) -> SumPlan:
    """The plan of that implementation.

    Raises:
        PlanError: the spec cannot be granted.
        BackendUnavailableError: there is no such implementation here.
    """
    check_spec(spec)
    plan: SumPlan = get_averaging(name).plan(spec)
    return plan
