"""The courier for people without a relay: a folder that both sides see (SFTP, a shared drive).

    FOLDER/NAME/PEER.parcel      what PEER sends to NAME
    FOLDER/NAME/PEER.receipt     what PEER says of the parcel that NAME sent

Files appear whole: they are written under another name and renamed. Who can write there can lose
messages, and do no more.
"""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

from securefair.errors import ConfigError
from securefair.sites.couriers.local import start_carrying
from securefair.sites.post.port import HandOver, Port
from securefair.sites.post.receipts import RECEIPT_BYTES

LOOK_EVERY = 0.5
"""Seconds between two looks into the folder."""

WAIT = 60.0
"""Seconds that a parcel lies there before its attempt counts as failed."""


def to_folder(port: Port, peer: str, folder: Path, *, every: float = LOOK_EVERY) -> HandOver:
    """Lay parcels down for a peer and wait for its receipt."""
    parcel_file = folder / peer / f"{port.name}.parcel"
    receipt_file = folder / port.name / f"{peer}.receipt"

    def hand_over(parcel: bytes) -> bytes | None:
        try:
            receipt_file.unlink(missing_ok=True)
            _put(parcel_file, parcel)
            until = time.monotonic() + WAIT
            while time.monotonic() < until:
                receipt = _taken(receipt_file, RECEIPT_BYTES)
                if receipt is not None:
                    return receipt
                time.sleep(every)
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
    trial = folder / name / ".trial"
    try:
        _put(trial, b"")
        trial.unlink()
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
    while not stop.wait(every):
        for peer in port.peers:
            with contextlib.suppress(OSError):
                parcel = _taken(folder / port.name / f"{peer}.parcel", port.limit)
                if parcel is None:
                    continue
                receipt = port.receive(parcel)
                if receipt:
                    _put(folder / peer / f"{port.name}.receipt", receipt)


def _put(path: Path, data: bytes) -> None:
    """A whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_bytes(data)
    temporary.replace(path)


def _taken(path: Path, limit: int) -> bytes | None:
    """A file's bytes, and the file is gone; None where there is none, or a larger one."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return None
    data = path.read_bytes() if size <= limit else None
    path.unlink()
    return data
