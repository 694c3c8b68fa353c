"""The courier `flare`, as a site sees it: a relay's own process asks at its door (`flare`)."""

from __future__ import annotations

import threading
from pathlib import Path

from securefair.sites.couriers.interface import Courier, CourierSettings
from securefair.sites.post.port import OwnPort, Port, Spoil, unspoilt


class SpoiltArrivals:
    """A port at which parcels arrive as a rehearsal wants them to.

    Args:
        port: of the site.
        spoil: what is done to each.
    """

    def __init__(self, port: Port, spoil: Spoil) -> None:
        self.name, self.peers, self.limit = port.name, port.peers, port.limit
        self.pending, self.settle, self.note = port.pending, port.settle, port.note
        self._arrive = spoil(port.name, port.receive)

    def receive(self, parcel: bytes) -> bytes:
        """See `Port`: a parcel that is lost has no receipt."""
        return self._arrive(parcel) or b""


class RelayedCourier(Courier):
    """It is started by FLARE, not by the site, and this module needs no FLARE."""

    rehearsed = True
    visits = True
    beside = "securefair.sites.rehearsal.proof:proof_of_concept"

    def check(self, settings: CourierSettings, site: Path, name: str) -> str:
        """See `Courier`."""
        del name
        return (
            f"{settings.kind}, as no --shared-folder was given, at the door in {site}; "
            f"`securefair flare harden KIT --site {site}` checks the certificate for the relay"
        )

    def at_door(self, port: Port, spoil: Spoil) -> Port:
        """See `Courier`: hand-overs are made in a process of FLARE, so arrivals are spoilt here."""
        return port if spoil is unspoilt else SpoiltArrivals(port, spoil)

    def start(
        self,
        settings: CourierSettings,
        port: OwnPort,
        stop: threading.Event,
        *,
        spoil: Spoil = unspoilt,
    ) -> None:
        """See `Courier`: the door is all that it needs."""


COURIER = RelayedCourier()
