"""The courier `flare`, as a site sees it: a relay's own process asks at its door (`flare`)."""

from __future__ import annotations

import threading
from pathlib import Path

from securefair.sites.couriers.interface import Courier, CourierSettings
from securefair.sites.post.port import Port, Spoil, unspoilt


class RelayedCourier(Courier):
    """It is started by FLARE, not by the site, and this module needs no FLARE."""

    rehearsed = True
    beside = "securefair.sites.rehearsal.proof:proof_of_concept"

    def check(self, settings: CourierSettings, site: Path, name: str) -> str:
        """See `Courier`."""
        del name
        return (
            f"{settings.kind}, at the door in {site}; `securefair flare harden KIT --site "
            f"{site}` checks the certificate for the relay"
        )

    def start(
        self,
        settings: CourierSettings,
        port: Port,
        stop: threading.Event,
        *,
        spoil: Spoil = unspoilt,
    ) -> None:
        """See `Courier`: the door is all that it needs."""


COURIER = RelayedCourier()
