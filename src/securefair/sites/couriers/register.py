"""The register of couriers: a new courier is a file and one line here."""

from __future__ import annotations

from functools import cache

from securefair.config.registers import looked_up
from securefair.sites.couriers.interface import Courier

REGISTERED: dict[str, str] = {
    "local": "securefair.sites.couriers.local",
    "folder": "securefair.sites.couriers.folder",
    "flare": "securefair.sites.couriers.relayed",
}
"""Where each courier stands."""


@cache
def courier_of(name: str) -> Courier:
    """The courier of that name.

    Raises:
        ConfigError: there is none.
    """
    found: Courier = looked_up(
        REGISTERED, name, "COURIER", problem="there is no such courier", where="courier.kind"
    )
    return found


def rehearsed_couriers() -> tuple[str, ...]:
    """Names of those that can carry a rehearsal."""
    return tuple(name for name in REGISTERED if courier_of(name).rehearsed)
