"""The courier for people without a relay: a folder that both sides see (SFTP, a shared drive).

    FOLDER/NAME/PEER.parcel      what PEER sends to NAME
    FOLDER/NAME/PEER.receipt     what PEER says of the parcel that NAME sent

Files appear whole: they are written under another name and renamed. Who can write there can lose
messages, and do no more (`shared`).
"""

from __future__ import annotations

import threading
import time
from functools import partial
from pathlib import Path

from securefair.errors import ConfigError
from securefair.sites.couriers.interface import Courier, CourierSettings
from securefair.sites.couriers.local import start_carrying
from securefair.sites.couriers.shared import drop, put, take
from securefair.sites.post.port import HandOver, Port, Spoil, surviving, unspoilt
from securefair.sites.post.receipts import RECEIPT_BYTES
from securefair.sites.post.refusals import Reason
from securefair.storage.files import NoFileError

LOOK_EVERY = 0.5
"""Seconds between two looks into the folder."""

TRIAL = ".trial"

WAIT = 60.0
"""Seconds that a parcel lies there before its attempt counts as failed."""


def to_folder(port: Port, peer: str, folder: Path, *, every: float = LOOK_EVERY) -> HandOver:
    """Lay parcels down for a peer and wait for its receipt."""
    receipt_file = f"{peer}.receipt"

    def hand_over(parcel: bytes) -> bytes | None:
        try:
            drop(folder, port.name, receipt_file)
            put(folder, peer, f"{port.name}.parcel", parcel)
            until = time.monotonic() + WAIT
            while time.monotonic() < until:
                receipt = take(folder, port.name, receipt_file, RECEIPT_BYTES)
                if receipt is not None:
                    return receipt
                time.sleep(every)
        except NoFileError:
            port.note(peer, Reason.NO_FILE)
        except OSError:
            pass  # the drive is away: tried again
        return None

    return hand_over


def check_shared(folder: Path, name: str) -> None:
    """See that a site can lay down parcels, as its courier does.

    Args:
        folder: shared by all sites.
        name: of the site.

    Raises:
        ConfigError: it is not there, or cannot be written.
    """
    if not folder.is_dir():
        raise ConfigError("the shared folder is not there", where=str(folder))
    try:
        put(folder, name, TRIAL, b"")
        drop(folder, name, TRIAL)
    except OSError as error:
        raise ConfigError(
            "the shared folder cannot be written", where=str(folder), found=error.strerror
        ) from error


def start_folder(
    port: Port, folder: Path, stop: threading.Event, *, every: float = LOOK_EVERY
) -> None:
    """Carry for one site through a folder, both ways, until `stop`.

    Raises:
        ConfigError: the folder is not there or cannot be written.
    """
    check_shared(folder, port.name)
    for peer in port.peers:
        start_carrying(port, peer, to_folder(port, peer, folder, every=every), stop)
    threading.Thread(
        target=_collect, args=(port, folder, stop, every), name="from folder", daemon=True
    ).start()


def _collect(port: Port, folder: Path, stop: threading.Event, every: float) -> None:
    """What all peers have laid down; whatever one of them does there, the others are served."""
    while not stop.wait(every):
        for peer in port.peers:
            surviving(port, peer, partial(_collect_from, port, folder, peer))


def _collect_from(port: Port, folder: Path, peer: str) -> None:
    try:
        parcel = take(folder, port.name, f"{peer}.parcel", port.limit)
        if parcel is not None and (receipt := port.receive(parcel)):
            put(folder, peer, f"{port.name}.receipt", receipt)
    except NoFileError:
        port.note(peer, Reason.NO_FILE)
    except OSError:
        pass  # the drive is away: tried again


class FolderCourier(Courier):
    """Through a folder that all sites see."""

    def check(self, settings: CourierSettings, site: Path, name: str) -> str:
        """See `Courier`."""
        del site
        shared = _shared(settings)
        check_shared(shared, name)
        return f"{settings.kind} {shared}, which can be written"

    def start(
        self,
        settings: CourierSettings,
        port: Port,
        stop: threading.Event,
        *,
        spoil: Spoil = unspoilt,
    ) -> None:
        """See `Courier`; no rehearsal spoils what lies in a folder."""
        del spoil
        start_folder(port, _shared(settings), stop)


def _shared(settings: CourierSettings) -> Path:
    if settings.folder is None:
        raise ConfigError("the shared folder is not named", where="courier.folder")
    return Path(settings.folder)


COURIER = FolderCourier()
