"""The register of couriers: a new courier is a file and one line here."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from securefair.errors import ConfigError
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
    if name not in REGISTERED:
        raise ConfigError(
            "there is no such courier",
            where="courier.kind",
            found=name,
            expected=", ".join(REGISTERED),
        )
    found: Courier = import_module(REGISTERED[name]).COURIER
    return found


def rehearsed_couriers() -> tuple[str, ...]:
    """Names of those that can carry a rehearsal."""
    return tuple(name for name in REGISTERED if courier_of(name).rehearsed)
