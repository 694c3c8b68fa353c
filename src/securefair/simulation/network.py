"""An in-memory network in virtual time: bytes from one named participant to another.

Time passes only by deliveries and by `advance`, so a run is the same on every machine and takes
no longer than its computations. The sender of a delivery is set by the network, as an
authenticated channel would: no participant can pretend to be another.

Without faults a link is a pipe: first in, first out, one message after the other at the link's
bandwidth, each arriving `latency` after its last byte has left. Faults are drawn from the
generator that is passed in:

    drop       the message never arrives
    duplicate  it arrives twice, the second time later
    delay      the link stalls: this message and everything after it arrive later
    reorder    this message alone arrives later; later ones may overtake it
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import count

import numpy as np

from securefair.errors import ConfigError, LocalProtocolError
from securefair.records import TrafficRow


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Probabilities of each fault per message; `spread` is the longest extra time in seconds.

    Raises:
        ConfigError: a probability is outside [0, 1], or the spread is negative or infinite.
    """

    drop: float = 0.0
    duplicate: float = 0.0
    delay: float = 0.0
    reorder: float = 0.0
    spread: float = 0.0

    def __post_init__(self) -> None:
        for name in ("drop", "duplicate", "delay", "reorder"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise ConfigError("not a probability", where=name, found=value, expected="0 to 1")
        if not 0 <= self.spread < math.inf:
            raise ConfigError(
                "not a time", where="spread", found=self.spread, expected=">= 0 seconds"
            )

    @property
    def possible(self) -> bool:
        """Whether anything can go wrong at all."""
        return any(getattr(self, name.name) > 0 for name in fields(self) if name.name != "spread")


@dataclass(frozen=True, kw_only=True)
class Link:
    """One direction between two participants.

    Args:
        latency: seconds from the last byte's departure to its arrival.
        bandwidth: bytes per second; infinite by default.
        faults: none by default.

    Raises:
        ConfigError: the latency is negative or infinite, or the bandwidth not positive.
    """

    latency: float = 0.0
    bandwidth: float = math.inf
    faults: Faults = field(default_factory=Faults)

    def __post_init__(self) -> None:
        if not 0 <= self.latency < math.inf:
            raise ConfigError(
                "not a latency", where="latency", found=self.latency, expected=">= 0 seconds"
            )
        if not self.bandwidth > 0:
            raise ConfigError(
                "not a bandwidth",
                where="bandwidth",
                found=self.bandwidth,
                expected="> 0 bytes per second",
            )


@dataclass(frozen=True)
class Delivery:
    """Bytes that arrive at `receiver` at virtual time `time` (seconds)."""

    time: float
    sender: str
    receiver: str
    data: bytes


@dataclass(frozen=True)
class Traffic:
    """Messages of one type from one participant to another: how many, how many bytes in all."""

    count: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class _Fate:
    """The faults of one message; times are extra seconds."""

    dropped: bool = False
    duplicate: float | None = None
    delay: float = 0.0
    reorder: float = 0.0


class Network:
    """Carries bytes between participants in virtual time.

    Args:
        participants: their names.
        classify: the type of a message by its bytes, for the counters (codec.kind_of).
        link: every direction that `links` does not name.
        links: particular directions, by (sender, receiver).
        rng: draws the faults; needed only if a link has any.

    Raises:
        ConfigError: names are doubled, a link names somebody else, or faults lack a generator.
    """

    def __init__(
        self,
        participants: Sequence[str],
        *,
        classify: Callable[[bytes], str],
        link: Link | None = None,
        links: Mapping[tuple[str, str], Link] | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        self._names = frozenset(participants)
        if len(self._names) != len(participants):
            raise ConfigError(
                "participants need different names", where="participants", found=participants
            )
        self._link = link or Link()
        self._links = dict(links or {})
        for pair in self._links:
            if not self._names.issuperset(pair):
                raise ConfigError(
                    "a link names no participant",
                    where="links",
                    found=pair,
                    expected=sorted(self._names),
                )
        if rng is None and any(
            known.faults.possible for known in (self._link, *self._links.values())
        ):
            raise ConfigError("faults need a random generator", where="rng", found="None")
        self._rng = rng
        self._classify = classify
        self._queue: list[tuple[float, int, Delivery]] = []
        self._sequence = count()
        self._now = 0.0
        self._free_at: dict[tuple[str, str], float] = {}
        self._last_arrival: dict[tuple[str, str], float] = {}
        self._traffic: dict[tuple[str, str, str], Traffic] = {}

    @property
    def now(self) -> float:
        """Virtual seconds since the network was made."""
        return self._now

    @property
    def next_time(self) -> float | None:
        """When the next delivery is due; None if nothing is under way."""
        return self._queue[0][0] if self._queue else None

    @property
    def traffic(self) -> Mapping[tuple[str, str, str], Traffic]:
        """What was sent, by (sender, receiver, message type).

        Counted where it is sent: a dropped message cost its sender its bytes, and a duplicate
        that the network made cost it none.
        """
        return dict(self._traffic)

    def traffic_rows(self, algorithm: str) -> list[TrafficRow]:
        """The counters as records, in order of sender, receiver and type."""
        return [
            TrafficRow(
                algorithm=algorithm,
                sender=sender,
                receiver=receiver,
                message=message,
                count=traffic.count,
                bytes=traffic.bytes,
            )
            for (sender, receiver, message), traffic in sorted(self._traffic.items())
        ]

    def send(self, sender: str, receiver: str, data: bytes) -> None:
        """Put bytes on the link now; they arrive later, or not, or twice.

        Raises:
            LocalProtocolError: an unknown or the same participant, or something else than bytes.
        """
        if not self._names.issuperset((sender, receiver)) or sender == receiver:
            raise LocalProtocolError(
                "no such link",
                where="send",
                found=f"{sender} to {receiver}",
                expected=f"two of {sorted(self._names)}",
            )
        if not isinstance(data, bytes):
            raise LocalProtocolError(
                "only bytes cross the network", where="send", found=type(data).__name__
            )
        key = (sender, receiver, self._classify(data))
        before = self._traffic.get(key, Traffic())
        self._traffic[key] = Traffic(before.count + 1, before.bytes + len(data))
        self._transmit(sender, receiver, data)

    def deliver_next(self) -> Delivery | None:
        """Let time pass until the next delivery and return it; None if nothing is under way."""
        if not self._queue:
            return None
        time, _, delivery = heapq.heappop(self._queue)
        self._now = time
        return delivery

    def advance(self, time: float) -> None:
        """Let time pass without a delivery, for timers and computations.

        Raises:
            LocalProtocolError: `time` is past, or later than the next delivery.
        """
        latest = self.next_time
        if time < self._now or (latest is not None and time > latest):
            raise LocalProtocolError(
                "virtual time cannot go there",
                where="advance",
                found=time,
                expected=f"{self._now} to {'any time' if latest is None else latest}",
            )
        self._now = time

    def _transmit(self, sender: str, receiver: str, data: bytes) -> None:
        pair = (sender, receiver)
        link = self._links.get(pair, self._link)
        departure = max(self._now, self._free_at.get(pair, 0.0)) + len(data) / link.bandwidth
        self._free_at[pair] = departure
        fate = self._draw(link.faults)
        if fate.dropped:
            return
        arrival = max(departure + link.latency + fate.delay, self._last_arrival.get(pair, 0.0))
        if not fate.reorder:
            self._last_arrival[pair] = arrival
        arrivals = [arrival + fate.reorder]
        if fate.duplicate is not None:
            arrivals.append(arrivals[0] + fate.duplicate)
        for time in arrivals:
            delivery = Delivery(time, sender, receiver, data)
            heapq.heappush(self._queue, (time, next(self._sequence), delivery))

    def _draw(self, faults: Faults) -> _Fate:
        """What happens to one message.

        Seven numbers whatever it is, so that changing one probability leaves the other faults of
        the same seed as they were.
        """
        if self._rng is None or not faults.possible:
            return _Fate()
        happens = self._rng.random(4)
        extra = self._rng.random(3) * faults.spread
        return _Fate(
            dropped=bool(happens[0] < faults.drop),
            duplicate=float(extra[0]) if happens[1] < faults.duplicate else None,
            delay=float(extra[1]) if happens[2] < faults.delay else 0.0,
            reorder=float(extra[2]) if happens[3] < faults.reorder else 0.0,
        )
