"""What is asked of a courier; each stands in a file here and in a line of the register.

Its module has COURIER, a `Courier`.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

import msgspec

from securefair.sites.post.port import OwnPort, Port, Spoil, unspoilt


class CourierSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How parcels reach the peers.

    Attributes:
        kind: local (doors on this machine), folder (a shared one), flare (a relay's process asks
            at the door).
        folder: of the project, shared by all sites; folder only.
        doors: of every peer; local only.
    """

    kind: str
    folder: str | None = None
    doors: dict[str, str] = {}


class Courier(ABC):
    """One way to carry parcels between sites.

    Attributes:
        doors: it goes from door to door on one machine, and its settings name the peers' doors.
        shares: it goes through a folder, which its settings name.
        rehearsed: `securefair rehearse` can choose it, all sites on one machine.
        visits: it is a process of its own, which comes to the site's door.
        beside: what a rehearsal starts besides the sites, "module:name" of a context manager of a
            folder and of the sites' folders by name; None: nothing.
    """

    doors: ClassVar[bool] = False
    shares: ClassVar[bool] = False
    rehearsed: ClassVar[bool] = False
    visits: ClassVar[bool] = False
    beside: ClassVar[str | None] = None

    @abstractmethod
    def check(self, settings: CourierSettings, site: Path, name: str) -> str:
        """What is in order, in a few words.

        Args:
            settings: of the site.
            site: its folder.
            name: of the site.

        Raises:
            ConfigError: something is not.
        """

    def problem(self, settings: CourierSettings) -> str:
        """Why it cannot carry just now, as far as a look tells that changes nothing; else "".

        Args:
            settings: of the site.
        """
        del settings
        return ""

    def at_door(self, port: Port, spoil: Spoil) -> Port:
        """What processes at the site's door see of it.

        Args:
            port: of the site.
            spoil: what a rehearsal does to a hand-over.
        """
        del spoil
        return port

    @abstractmethod
    def start(
        self,
        settings: CourierSettings,
        port: OwnPort,
        stop: threading.Event,
        *,
        spoil: Spoil = unspoilt,
    ) -> None:
        """Carry for one site in threads of this process, until `stop`; returns at once.

        Args:
            settings: of the site.
            port: of the site.
            stop: ends it.
            spoil: what a rehearsal does to a hand-over.

        Raises:
            ConfigError: it cannot carry with these settings.
        """
