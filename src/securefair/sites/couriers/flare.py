"""The courier for a relay of NVIDIA FLARE 2.9: its job carries sealed parcels from door to door.

    site's door <- this, in the job process of the site's FLARE client -> FLARE -> the peer's
    Carrier.deliver -> the peer's door

FLARE admits to the relay and moves bytes. It holds no data, key or model, and no process of it
imports torch. Nothing that FLARE says of a caller is believed: parcels are signed and sealed.

FLARE finds these classes by their path. It is installed by the extra `securefair[flare]`.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from pathlib import Path
from typing import Any

from nvflare.collab import collab
from nvflare.collab.api.context import get_call_context, set_call_context
from nvflare.collab.api.exceptions import CollabCallError, RunAborted

from securefair.errors import DataError
from securefair.sites.post.door import DoorClient
from securefair.sites.post.port import HandOver, carry

_log = logging.getLogger(__name__)

SETTINGS = "securefair.json"
"""In the `local` folder of the site's startup kit: where the door is."""

OVER = "over"
"""File beside the door, once the site has ended all rounds."""

LEAST_SECONDS, BYTES_A_SECOND = 20.0, 100_000
"""A call to a peer that is gone waits out its whole time: as little as its size allows."""

SMALL = 50_000
"""Bytes of a parcel that is sent without a look whether anybody is there."""

LOST_AFTER = 60.0
"""Seconds without an answer of a site's carrier after which the job ends, to be submitted again."""

LOOK_EVERY = 2.0


class Carrier:
    """What runs at a site: carries from its door, and brings to it."""

    @collab.init
    def start(self) -> None:
        """Begin to carry. Returns at once: set-up must not wait for anybody."""
        context = get_call_context()
        settings = Path(collab.workspace.get_site_config_dir()) / SETTINGS
        self._door = Path(json.loads(settings.read_text(encoding="utf-8"))["door"])
        self._stop = threading.Event()
        threading.Thread(target=self._begin, args=(context,), daemon=True).start()

    @collab.publish
    def deliver(self, parcel: bytes) -> bytes:
        """Hand a peer's parcel in at the door; empty where the site is not up."""
        try:
            door = DoorClient(self._door)
            door.introduce()
            receipt = door.receive(bytes(parcel))
            door.close()
        except (OSError, DataError):
            return b""
        return receipt

    @collab.publish
    def here(self) -> bool:
        """Whether the site is up: asked before parcels that are not small."""
        try:
            door = DoorClient(self._door)
            door.introduce()
            door.close()
        except (OSError, DataError):
            return False
        return True

    @collab.publish
    def over(self) -> bool:
        """Whether the site has ended all rounds."""
        return (self._door.parent / OVER).exists()

    @collab.final
    def end(self) -> None:
        """Carry nothing any more."""
        self._stop.set()

    def _begin(self, context: Any) -> None:
        """A thread for each peer, as soon as the site is up."""
        first = DoorClient(self._door)
        while not self._stop.is_set():
            try:
                first.introduce()
                break
            except (OSError, DataError):
                self._stop.wait(LOOK_EVERY)
        first.close()
        for peer in first.peers:
            target = (context, peer, first.limit)
            threading.Thread(target=self._carry, args=target, daemon=True).start()

    def _carry(self, context: Any, peer: str, limit: int) -> None:
        set_call_context(context)
        door = DoorClient(self._door, limit=limit)
        while not self._stop.is_set():
            try:
                carry(door, peer, _to_peer(peer), self._stop)
            except (OSError, DataError):
                self._stop.wait(LOOK_EVERY)  # the site is down: it will come back
            except Exception:  # noqa: BLE001 whatever it was, parcels must go on
                _log.exception("the courier to %s failed, and goes on", peer)
                self._stop.wait(LOOK_EVERY)


def _to_peer(peer: str) -> HandOver:
    def hand_over(parcel: bytes) -> bytes | None:
        timeout = LEAST_SECONDS + len(parcel) / BYTES_A_SECOND
        try:
            (target,) = collab.get_clients([peer])
            if len(parcel) > SMALL and not target(timeout=LEAST_SECONDS, secure=True).here():
                return None
            receipt = target(timeout=timeout, secure=True).deliver(parcel)
        except (CollabCallError, RunAborted, RuntimeError, TimeoutError):
            return None
        return bytes(receipt) or None

    return hand_over


class Relay:
    """What runs at the server: waits, and ends the job where a site is lost to it."""

    @collab.main
    def watch(self) -> str:
        """Until all sites have ended their rounds.

        Raises:
            RuntimeError: a site's carrier has not answered for a while; FLARE ends the job, and
                `securefair flare keep` submits it again.
        """
        heard = {client.name: time.monotonic() for client in collab.clients}
        while not collab.is_aborted:
            over = []
            for client in collab.clients:
                try:
                    over.append(bool(client(timeout=LEAST_SECONDS).over()))
                    heard[client.name] = time.monotonic()
                except (CollabCallError, RuntimeError, TimeoutError):
                    over.append(False)
                if time.monotonic() - heard[client.name] > LOST_AFTER:
                    raise RuntimeError(f"{client.name} is lost to the relay")
            if over and all(over):
                return OVER
            time.sleep(LOOK_EVERY)
        return ""
