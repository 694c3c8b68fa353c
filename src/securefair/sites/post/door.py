"""The door: a Unix socket at which couriers of other processes reach a site.

    request     one byte what, one byte length of a peer's name, its name, 8 bytes length, body
    reply       one byte whether there is one, 8 bytes length, body

A length beyond the limit ends the connection before anything is read. The socket lies in a folder
that only its owner may enter.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from securefair.errors import ConfigError, DataError
from securefair.sites.post.port import Port
from securefair.sites.post.refusals import Reason

DELIVER, NOTE, PENDING, SETTLE, WHO = b"D", b"N", b"P", b"S", b"W"

MAX_NAME = 64
LONGEST_WAIT = 20.0
"""Seconds that a question for the next parcel may wait at the door."""

_REQUEST, _REPLY = struct.Struct(">cBQ"), struct.Struct(">?Q")
_MAX_PATH = 100  # bytes of a Unix socket's path: 108 in Linux, 104 elsewhere


def check_path(path: Path) -> None:
    """Refuse a path that no socket can have.

    Raises:
        ConfigError: it is too long.
    """
    if len(os.fsencode(path)) > _MAX_PATH:
        raise ConfigError(
            "the folder's path is too long for a socket",
            where=str(path),
            found=f"{len(os.fsencode(path))} bytes",
            expected=f"at most {_MAX_PATH}",
            hint="Put the site into a folder with a shorter path",
        )


class Door:
    """Answers at a socket for as long as it is open.

    Args:
        path: of the socket; an old one of the same name is replaced.
        port: the site behind it.

    Raises:
        ConfigError: the path is too long for a socket.
        OSError: it cannot be made there.
    """

    def __init__(self, path: Path, port: Port) -> None:
        check_path(path)
        path.unlink(missing_ok=True)
        self._path, self._port = path, port
        self._visited = time.monotonic()  # when somebody came last, or else when it was opened
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(str(path))
        path.chmod(0o600)
        self._listening.listen(64)
        self._thread = threading.Thread(target=self._serve, name="door", daemon=True)
        self._thread.start()

    @property
    def unvisited(self) -> float:
        """Seconds since somebody came, or since it was opened; no clock that is set changes it."""
        return time.monotonic() - self._visited

    def close(self) -> None:
        """Answer nobody any more."""
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._path.unlink(missing_ok=True)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._answer_all, args=(connection,), daemon=True).start()

    def _answer_all(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, DataError, UnicodeDecodeError):
            while (request := _read_request(connection, self._port.limit)) is not None:
                self._visited = time.monotonic()
                reply = self._answer(*request)
                connection.sendall(_REPLY.pack(reply is not None, len(reply or b"")))
                connection.sendall(reply or b"")

    def _answer(self, what: bytes, peer: str, body: bytes) -> bytes | None:
        port = self._port
        if what == DELIVER:
            return port.receive(body)
        if what == WHO:
            return "\n".join((str(port.limit), port.name, *port.peers)).encode()
        if peer not in port.peers:
            raise DataError("nobody of that name", where="door", found=peer)
        if what == PENDING and len(body) == 8:
            return port.pending(peer, min(struct.unpack(">d", body)[0], LONGEST_WAIT))
        if what == SETTLE:
            return bytes([port.settle(peer, body)])
        if what == NOTE and body.decode() in set(Reason):
            port.note(peer, Reason(body.decode()))
            return b""
        raise DataError("the door knows no such request", where="door", found=what.hex())


class DoorClient:
    """A site's `Port` from another process; for one thread.

    Args:
        path: of the socket.
        limit: most bytes of a reply; asked for where it is not given.

    Raises:
        OSError: nobody is there (now, or at any later call).
    """

    def __init__(self, path: Path, *, limit: int | None = None) -> None:
        self._path = path
        self._connection: socket.socket | None = None
        self.limit = 1 << 16 if limit is None else limit
        self.name = ""
        self.peers: tuple[str, ...] = ()

    def introduce(self) -> None:
        """Ask the site for its name, its peers and its limit.

        Raises:
            DataError: its answer is no such thing.
        """
        answer = (self._ask(WHO, "", b"") or b"").decode().split("\n")
        if len(answer) < 2 or not answer[0].isdigit():
            raise DataError("this is not the door of a site", where=str(self._path))
        self.limit, self.name, self.peers = int(answer[0]), answer[1], tuple(answer[2:])

    def pending(self, peer: str, seconds: float) -> bytes | None:
        """See `Port`."""
        return self._ask(PENDING, peer, struct.pack(">d", seconds))

    def settle(self, peer: str, receipt: bytes) -> bool:
        """See `Port`."""
        return self._ask(SETTLE, peer, receipt) == b"\x01"

    def receive(self, parcel: bytes) -> bytes:
        """See `Port`."""
        return self._ask(DELIVER, "", parcel) or b""

    def note(self, peer: str, reason: Reason) -> None:
        """See `Port`."""
        self._ask(NOTE, peer, reason.value.encode())

    def _ask(self, what: bytes, peer: str, body: bytes) -> bytes | None:
        name = peer.encode()
        with self._connected() as connection:
            connection.sendall(_REQUEST.pack(what, len(name), len(body)) + name)
            connection.sendall(body)
            there, length = _REPLY.unpack(_exactly(connection, _REPLY.size))
            if length > self.limit:
                raise DataError("a reply is too large", where=str(self._path), found=length)
            reply = _exactly(connection, length)
            return reply if there else None

    def close(self) -> None:
        """End the connection; the next request makes a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextlib.contextmanager
    def _connected(self) -> Iterator[socket.socket]:
        """The connection; whatever goes wrong closes it, so that the next is new."""
        try:
            if self._connection is None:
                self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                self._connection.settimeout(LONGEST_WAIT + 40)
                self._connection.connect(str(self._path))
            yield self._connection
        except (OSError, DataError):
            self.close()
            raise
        except EOFError:
            self.close()
            raise ConnectionResetError(f"{self._path}: the site ended the connection") from None


def _read_request(connection: socket.socket, limit: int) -> tuple[bytes, str, bytes] | None:
    try:
        what, named, length = _REQUEST.unpack(_exactly(connection, _REQUEST.size))
    except EOFError:
        return None
    if named > MAX_NAME or length > limit:
        raise DataError(
            "a request is too large", where="door", found=length, expected=f"at most {limit}"
        )
    try:
        return what, _exactly(connection, named).decode(), _exactly(connection, length)
    except EOFError:
        return None


def _exactly(connection: socket.socket, length: int) -> bytes:
    """So many bytes.

    Raises:
        EOFError: the other side ended before. It is no OSError: nobody is at fault.
    """
    parts, left = [], length
    while left:
        part = connection.recv(min(left, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
