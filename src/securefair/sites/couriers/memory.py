"""A courier in memory and in virtual time: parcels from one site of this process to another.

Time passes only by deliveries and by `advance`, so a run is the same on every machine and takes
no longer than its computations. The courier says who sent a parcel, as an authenticated channel
would: no site can pretend to be another.

Without faults a link is a pipe: first in, first out, one parcel after the other at the link's
bandwidth, each arriving `latency` after its last byte has left. Faults are drawn from the
generator that is passed in:

    drop       it is lost, and sent once more after `RETRY_SECONDS`, as every courier repeats
               what was not confirmed
    duplicate  it arrives twice, the second time later
    delay      the link stalls: this parcel and everything after it arrive later
    reorder    this parcel alone arrives later; later ones may overtake it, and wait at their site
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import count

from securefair.errors import ConfigError, LocalProtocolError

RETRY_SECONDS, MOST_DOUBLINGS = 1.0, 10
"""Until a courier sends again what was lost, or came before its turn; twice as long after every
further loss."""


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
    """A parcel that arrives at `receiver` at virtual time `time` (seconds): one frame, numbered."""

    time: float
    sender: str
    receiver: str
    frame: bytes
    sequence: int = 0


@dataclass(frozen=True)
class _Fate:
    """The faults of one message; times are extra seconds."""

    dropped: bool = False
    duplicate: float | None = None
    delay: float = 0.0
    reorder: float = 0.0


class MemoryCourier:
    """Carries parcels between sites in virtual time.

    Args:
        participants: their names.
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
        link: Link | None = None,
        links: Mapping[tuple[str, str], Link] | None = None,
        rng: random.Random | None = None,
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
        self._queue: list[tuple[float, int, Delivery, int]] = []
        self._sequence = count()
        self._now = 0.0
        self._free_at: dict[tuple[str, str], float] = {}
        self._last_arrival: dict[tuple[str, str], float] = {}

    @property
    def now(self) -> float:
        """Virtual seconds since the network was made."""
        return self._now

    @property
    def next_time(self) -> float | None:
        """When something happens next; None if nothing is under way."""
        return self._queue[0][0] if self._queue else None

    def send(self, sender: str, receiver: str, frame: bytes, sequence: int = 0) -> None:
        """Put a parcel on the link now; it arrives later, or twice.

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
        if not isinstance(frame, bytes):
            raise LocalProtocolError(
                "only bytes cross the network", where="send", found=type(frame).__name__
            )
        self._transmit(Delivery(self._now, sender, receiver, frame, sequence))

    def again(self, delivery: Delivery) -> None:
        """A parcel came before its turn: it comes again later."""
        self._push(replace(delivery, time=self._now + RETRY_SECONDS))

    def deliver_next(self) -> Delivery | None:
        """Let time pass until the next event; its delivery, or None.

        None if nothing is under way, and where a parcel that was lost was sent once more.
        """
        if not self._queue:
            return None
        time, _, delivery, losses = heapq.heappop(self._queue)
        self._now = time
        if losses:
            self._transmit(delivery, losses)
            return None
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

    def _transmit(self, parcel: Delivery, losses: int = 0) -> None:
        """Put a parcel on its link, where it was lost so often before."""
        pair = (parcel.sender, parcel.receiver)
        link = self._links.get(pair, self._link)
        departure = (
            max(self._now, self._free_at.get(pair, 0.0)) + len(parcel.frame) / link.bandwidth
        )
        self._free_at[pair] = departure
        fate = self._draw(link.faults)
        if fate.dropped:
            pause = RETRY_SECONDS * 2 ** min(losses, MOST_DOUBLINGS)
            self._push(replace(parcel, time=departure + pause), losses + 1)
            return
        arrival = max(departure + link.latency + fate.delay, self._last_arrival.get(pair, 0.0))
        if not fate.reorder:
            self._last_arrival[pair] = arrival
        arrivals = [arrival + fate.reorder]
        if fate.duplicate is not None:
            arrivals.append(arrivals[0] + fate.duplicate)
        for time in arrivals:
            self._push(replace(parcel, time=time))

    def _push(self, parcel: Delivery, losses: int = 0) -> None:
        heapq.heappush(self._queue, (parcel.time, next(self._sequence), parcel, losses))

    def _draw(self, faults: Faults) -> _Fate:
        """What happens to one message.

        Seven numbers whatever it is, so that changing one probability leaves the other faults of
        the same seed as they were.
        """
        if self._rng is None or not faults.possible:
            return _Fate()
        happens = [self._rng.random() for _ in range(4)]
        extra = [self._rng.random() * faults.spread for _ in range(3)]
        return _Fate(
            dropped=happens[0] < faults.drop,
            duplicate=extra[0] if happens[1] < faults.duplicate else None,
            delay=extra[1] if happens[2] < faults.delay else 0.0,
            reorder=extra[2] if happens[3] < faults.reorder else 0.0,
        )
