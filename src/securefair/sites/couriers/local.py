"""The courier of one machine: from door to door, through Unix sockets."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from securefair.errors import ConfigError, DataError
from securefair.sites.couriers.interface import Courier, CourierSettings
from securefair.sites.post.door import DoorClient
from securefair.sites.post.port import (
    FIRST_PAUSE,
    HandOver,
    OwnPort,
    Port,
    Spoil,
    carry,
    surviving,
    unspoilt,
)


def to_door(door: DoorClient) -> HandOver:
    """Hand parcels over at a peer's door."""

    def hand_over(parcel: bytes) -> bytes | None:
        try:
            return door.receive(parcel)
        except (OSError, DataError):
            return None  # it is not up, or went down: the parcel is tried again

    return hand_over


def start_local(
    port: Port, doors: Mapping[str, Path], stop: threading.Event, *, spoil: Spoil = unspoilt
) -> None:
    """Carry for one site, a thread a peer, until `stop`.

    Args:
        port: of the site.
        doors: where each peer's door is.
        stop: ends it.
        spoil: what a rehearsal does to a hand-over.
    """
    for peer in port.peers:
        door = DoorClient(doors[peer], limit=port.limit)
        start_carrying(port, peer, spoil(peer, to_door(door)), stop, door.close)


def start_carrying(
    port: Port,
    peer: str,
    hand_over: HandOver,
    stop: threading.Event,
    close: Callable[[], None] = lambda: None,
) -> None:
    """One peer's thread; it ends with `stop`, or with the process, and with nothing else."""

    def carrying() -> None:
        while not stop.is_set():
            surviving(port, peer, lambda: carry(port, peer, hand_over, stop))
            stop.wait(FIRST_PAUSE)
        close()

    threading.Thread(target=carrying, name=f"to {peer}", daemon=True).start()


class LocalCourier(Courier):
    """From door to door."""

    doors = True
    rehearsed = True

    def check(self, settings: CourierSettings, site: Path, name: str) -> str:
        """See `Courier`."""
        del name
        return f"{settings.kind}, at the door in {site}"

    def start(
        self,
        settings: CourierSettings,
        port: OwnPort,
        stop: threading.Event,
        *,
        spoil: Spoil = unspoilt,
    ) -> None:
        """See `Courier`."""
        doors = {name: Path(path) for name, path in settings.doors.items()}
        missing = [peer for peer in port.peers if peer not in doors]
        if missing:
            raise ConfigError(
                "doors of peers are not named", where="courier.doors", found=", ".join(missing)
            )
        start_local(port, doors, stop, spoil=spoil)


COURIER = LocalCourier()
