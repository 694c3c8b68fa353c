"""The courier for people without a relay: a folder that both sides see (SFTP, a shared drive).

    SHARE/PROJECT/NAME/PEER.parcel      what PEER sends to NAME
    SHARE/PROJECT/NAME/PEER.receipt     what PEER says of the parcel that NAME sent

Files appear whole: they are written under another name and renamed. Who can write there can lose
messages, and do no more (`shared`). A folder may be a copy that is brought up to date every some
minutes: a parcel that lies there is not laid down again, and its receipt counts whenever it comes.

Each project has a folder of its own in the share. `site init` makes it, and nothing else does: in
the place of a share that is not mounted there is none.
"""

from __future__ import annotations

import contextlib
import errno
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from securefair.errors import ConfigError
from securefair.sites.couriers.interface import Courier, CourierSettings
from securefair.sites.couriers.local import start_carrying
from securefair.sites.couriers.shared import drop, hold, let_go, lies, put, sweep, take
from securefair.sites.post.port import HandOver, OwnPort, Port, Spoil, surviving, unspoilt
from securefair.sites.post.receipts import RECEIPT_BYTES
from securefair.sites.post.refusals import Reason
from securefair.storage.files import NoFileError

LOOK_EVERY, LOOK_SOON, LATER = 0.5, 0.02, 1.2
"""Longest pause between two looks into the folder, seconds; the pause after something was laid down
or taken, as more is near then; and by how much it grows with every look."""

TRIAL, TRIAL_BYTES = ".trial", 1 << 16
TO, FROM = "to", "from"
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EBUSY)
_FULL = (errno.ENOSPC, errno.EDQUOT)
_MOUNT = "Mount the share; the project's folder in it is made by `site init` alone"

WAIT = 5.0
"""Seconds between two looks whether a parcel still lies there."""

FIRST_PATIENCE, LONGEST_PATIENCE = 300.0, 7200.0
"""Seconds from laying a parcel down to laying it down again, if it is gone and nobody has said
anything of it: doubled from the first to the second."""


def project_folder(share: Path, name: str, digest: bytes) -> Path:
    """The folder of one project in a share.

    Args:
        share: that all sites see.
        name: of the project.
        digest: of the project.
    """
    return share / f"{name}-{digest.hex()[:12]}"


def check_share(share: Path) -> None:
    """See that the folder of all sites is there.

    Raises:
        ConfigError: it is not, or is a file.
    """
    if not share.is_dir():
        raise ConfigError(
            "the shared folder is not there", where=str(share), hint=_MOUNT, passing=True
        )


def make_project_folder(share: Path, name: str, digest: bytes) -> Path:
    """The same; it is made, unless another site has made it.

    Raises:
        ConfigError: the share is not there, or cannot be written.
    """
    check_share(share)
    folder = project_folder(share, name, digest)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise _unwritten(share, error) from error
    return folder


def to_folder(
    port: OwnPort,
    peer: str,
    folder: Path,
    *,
    every: float = LOOK_EVERY,
    now: Callable[[], float] = time.monotonic,
    moved: Callable[[], None] = lambda: None,
) -> HandOver:
    """Lay parcels down for a peer and wait for its receipt.

    Args:
        port: of the site.
        peer: whom they are for.
        folder: of the project.
        every: longest pause between two looks for a receipt, seconds.
        now: seconds that only grow.
        moved: called when a parcel was laid down.
    """
    receipt_file, parcel_file = f"{peer}.receipt", f"{port.name}.parcel"
    laid, since, patience, pauses = b"", 0.0, FIRST_PATIENCE, Pauses(every)

    def lay_down(parcel: bytes) -> None:
        nonlocal laid, since, patience
        if parcel == laid:
            if now() < since + patience or lies(folder, peer, parcel_file):
                return
            patience = min(2 * patience, LONGEST_PATIENCE)
        else:
            drop(folder, port.name, receipt_file)
        put(folder, peer, parcel_file, parcel)
        laid, since = parcel, now()
        pauses.soon()
        moved()

    def hand_over(parcel: bytes) -> bytes | None:
        nonlocal laid
        with _telling(port, folder, peer, TO):
            lay_down(parcel)
            until = time.monotonic() + WAIT
            while time.monotonic() < until:
                receipt = take(folder, port.name, receipt_file, RECEIPT_BYTES)
                if receipt is not None:
                    laid = b""  # if it is not believed, the parcel is laid down again
                    return receipt
                time.sleep(pauses.after_a_look())
        return None

    return hand_over


class Pauses:
    """Pauses between looks: short once something has moved, then longer again.

    Threads share one: a look too many or too few does no harm.

    Args:
        every: the longest pause, seconds.
    """

    def __init__(self, every: float) -> None:
        self._every = self._next = every

    def soon(self) -> None:
        """Something has moved."""
        self._next = min(LOOK_SOON, self._every)

    def after_a_look(self) -> float:
        """Seconds to the next look."""
        pause, self._next = self._next, min(self._every, LATER * self._next)
        return pause


def check_shared(folder: Path, name: str) -> None:
    """See that a site can lay down parcels, as its courier does.

    Args:
        folder: shared by all sites.
        name: of the site.

    Raises:
        ConfigError: it is not there, or cannot be written.
    """
    check_share(folder)
    try:
        put(folder, name, TRIAL, bytes(TRIAL_BYTES))
        drop(folder, name, TRIAL)
    except OSError as error:
        raise _unwritten(folder, error) from error


def _unwritten(folder: Path, error: OSError) -> ConfigError:
    return ConfigError(
        "the shared folder cannot be written",
        where=str(folder),
        found=error.strerror,
        hint="Free some space in it" if error.errno in _FULL else "See that it permits writing",
        passing=True,
    )


@contextlib.contextmanager
def _telling(port: OwnPort, folder: Path, peer: str, way: str) -> Iterator[None]:
    """What is to be done on a way to or from a peer: what somebody must mend is told until then.

    The rest, as where the drive is away, is tried again.
    """
    why = ""
    try:
        yield
    except NoFileError:
        port.note(peer, Reason.NO_FILE)
    except OSError as error:
        if error.errno in (*_FULL, errno.EROFS):
            why = str(_unwritten(folder, error))
        elif isinstance(error, PermissionError) and way == TO:
            why = str(_unwritten(folder / peer, error))  # on the way from it: `_having_access`
    port.ways.tell(f"{way} {peer}", why)


def start_folder(
    port: OwnPort,
    folder: Path,
    stop: threading.Event,
    *,
    every: float = LOOK_EVERY,
    spoil: Spoil = unspoilt,
) -> None:
    """Carry for one site through a folder, both ways, until `stop`.

    Args:
        port: of the site.
        folder: of the project.
        stop: ends it.
        every: longest pause between two looks into the folder, seconds.
        spoil: what a rehearsal does to a hand-over.

    Raises:
        ConfigError: the folder is not there or cannot be written.
    """
    check_shared(folder, port.name)
    _sweep(folder, port)
    pauses = Pauses(every)
    for peer in port.peers:
        hand_over = to_folder(port, peer, folder, every=every, moved=pauses.soon)
        start_carrying(port, peer, spoil(peer, hand_over), stop)
    threading.Thread(
        target=_collect, args=(port, folder, stop, pauses), name="from folder", daemon=True
    ).start()


def _sweep(folder: Path, port: Port) -> None:
    """What a process before this one left half-written; no other runs this site."""
    with contextlib.suppress(OSError):  # the drive is away: at another start
        sweep(folder, port.name, TRIAL)
        for peer in port.peers:
            for kind in ("parcel", "receipt"):
                sweep(folder, peer, f"{port.name}.{kind}")


def _collect(port: OwnPort, folder: Path, stop: threading.Event, pauses: Pauses) -> None:
    """What all peers have laid down; whatever one of them does there, the others are served."""
    stuck: set[str] = set()
    while not stop.wait(pauses.after_a_look()):
        for peer in port.peers:
            surviving(port, peer, partial(_collect_from, port, folder, peer, pauses, stuck))


def _collect_from(port: OwnPort, folder: Path, peer: str, pauses: Pauses, stuck: set[str]) -> None:
    """Take what one peer has laid down.

    Args:
        port, folder, peer: see `to_folder`.
        pauses: between looks.
        stuck: peers of whom a parcel lies there to which this site has no access.
    """
    file = f"{peer}.parcel"
    with _telling(port, folder, peer, FROM):
        with _having_access(port, peer, stuck):
            parcel = hold(folder, port.name, file, port.limit)
        if parcel is None:
            return
        try:
            receipt = port.receive(parcel)
        except Exception:
            let_go(folder, port.name, file)  # it would come first for ever
            raise
        if receipt is None:
            return  # the store is closed or full: it is held until the next look, or start
        if receipt:
            put(folder, peer, f"{port.name}.receipt", receipt)
        with _having_access(port, peer, stuck):
            let_go(folder, port.name, file)
        stuck.discard(peer)
        if receipt:
            pauses.soon()


@contextlib.contextmanager
def _having_access(port: Port, peer: str, stuck: set[str]) -> Iterator[None]:
    """Note once where a site may not read, move or remove a parcel: none of its peer follows."""
    try:
        yield
    except OSError as error:
        if error.errno in _NOT_ALLOWED and peer not in stuck:
            stuck.add(peer)
            port.note(peer, Reason.NO_ACCESS)
        raise


class FolderCourier(Courier):
    """Through a folder that all sites see."""

    rehearsed = True
    shares = True

    def check(self, settings: CourierSettings, site: Path, name: str) -> str:
        """See `Courier`."""
        del site
        shared = _shared(settings)
        check_shared(shared, name)
        return f"{settings.kind} {shared}, which can be written"

    def problem(self, settings: CourierSettings) -> str:
        """See `Courier`."""
        shared = _shared(settings)
        return "" if shared.is_dir() else f"the shared folder is not there: {shared}"

    def start(
        self,
        settings: CourierSettings,
        port: OwnPort,
        stop: threading.Event,
        *,
        spoil: Spoil = unspoilt,
    ) -> None:
        """See `Courier`."""
        start_folder(port, _shared(settings), stop, spoil=spoil)


def _shared(settings: CourierSettings) -> Path:
    if settings.folder is None:
        raise ConfigError("the shared folder is not named", where="courier.folder")
    return Path(settings.folder)


COURIER = FolderCourier()
