"""A site that runs in a year: in this process, or in one of another installation."""

from __future__ import annotations

import contextlib
from typing import Protocol

from securefair.collaboration.observer import SiteRecord
from securefair.protocol.turn import Memory
from securefair.sites.site.records import stored_records
from securefair.sites.site.starting import OpenSite


class Playing(Protocol):
    """What a year asks of a site that runs."""

    @property
    def fault(self) -> str:
        """Why it must not go on; "" for nothing."""
        ...

    def turn(self) -> bool:
        """Take one input, if there is one."""
        ...

    def memory(self) -> Memory | None:
        """Of its machine; None before its first turn."""
        ...

    def records(self) -> list[SiteRecord]:
        """Of its rounds so far."""
        ...

    def pending(self, peer: str) -> bytes | None:
        """The parcel that a peer gets next, if there is one."""
        ...

    def settle(self, peer: str, receipt: bytes) -> bool:
        """Take a receipt for it; whether the peer took it."""
        ...

    def receive(self, parcel: bytes) -> bytes:
        """Take a parcel from a peer; its receipt."""
        ...

    def close(self) -> None:
        """Its process or machine ends."""
        ...


class PlayingHere:
    """A site in this process.

    Args:
        opened: the site.
        closing: what ends with it.
    """

    def __init__(self, opened: OpenSite, closing: contextlib.ExitStack) -> None:
        self.opened, self._closing = opened, closing

    @property
    def fault(self) -> str:
        """See `Playing`."""
        fault = self.opened.post.fault
        return "" if fault is None else str(fault)

    def turn(self) -> bool:
        """See `Playing`."""
        return self.opened.site.turn()

    def memory(self) -> Memory:
        """See `Playing`."""
        return self.opened.site.machine.memory

    def records(self) -> list[SiteRecord]:
        """See `Playing`."""
        with self.opened.store.view() as tx:
            return stored_records(tx)

    def pending(self, peer: str) -> bytes | None:
        """See `Playing`."""
        return self.opened.post.pending(peer, 0.0)

    def settle(self, peer: str, receipt: bytes) -> bool:
        """See `Playing`."""
        return self.opened.post.settle(peer, receipt)

    def receive(self, parcel: bytes) -> bytes:
        """See `Playing`."""
        return self.opened.post.receive(parcel) or b""

    def close(self) -> None:
        """See `Playing`."""
        self._closing.close()
