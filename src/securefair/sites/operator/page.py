"""A read-only page of a site's status, on this machine only: one HTML file, server-sent events.

It listens on 127.0.0.1, answers three addresses, one of them for Prometheus, takes no input, and
names of peers reach the page as text only. A request that names another host is refused, so that no
page of the web can read it.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path

import msgspec

from securefair.errors import SecureFairError
from securefair.report.presence import PeerLife
from securefair.sites.operator.metrics import CONTENT_TYPE, metrics
from securefair.sites.site.status import RECOVERED_SAID, status_of

HOST = "127.0.0.1"
LOOK_EVERY = 1.0
"""Seconds between two looks into the store."""

_POLICY = "default-src 'none'; connect-src 'self'; style-src 'nonce-{0}'; script-src 'nonce-{0}'"


class StatusServer(ThreadingHTTPServer):
    """Serves one site's status.

    Args:
        folder: of the site.
        port: 0 for any that is free.

    Raises:
        SecureFairError: there is no site.
        OSError: the port is taken.
    """

    daemon_threads = True

    def __init__(self, folder: Path, port: int = 0) -> None:
        status_of(folder)
        self.folder, self.over = folder, threading.Event()
        super().__init__((HOST, port), _Answers)

    @property
    def address(self) -> str:
        """Of the page."""
        return f"http://{HOST}:{self.server_port}/"


@contextmanager
def served(folder: Path, port: int = 0) -> Iterator[StatusServer]:
    """A page for a block.

    Raises:
        SecureFairError, OSError: as `StatusServer`.
    """
    server = StatusServer(folder, port)
    thread = threading.Thread(target=server.serve_forever, name="page", daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()


class _Answers(BaseHTTPRequestHandler):
    server: StatusServer

    def do_GET(self) -> None:  # the name is http.server's
        """The page, its events, or metrics."""
        known = {f"{name}:{self.server.server_port}" for name in (HOST, "localhost")}
        if self.headers.get("Host") not in known:
            self.send_error(403)
        elif self.path == "/":
            self._page()
        elif self.path == "/metrics":
            self._metrics()
        elif self.path == "/events":
            with suppress(OSError):  # the browser went away
                self._events()
        else:
            self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the terminal is the operator's."""

    def _page(self) -> None:
        nonce = secrets.token_urlsafe(16)
        text = resources.files("securefair.sites.operator").joinpath("page.html").read_text("utf-8")
        text = text.replace("{here}", PeerLife.HERE).replace("{recovered}", RECOVERED_SAID)
        body = text.replace("{nonce}", nonce).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", _POLICY.format(nonce))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def _metrics(self) -> None:
        try:
            body = metrics(status_of(self.server.folder)).encode()
        except SecureFairError:  # the store is being replaced
            self.send_error(503)
            return
        self.send_response(200)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def _events(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        before = b""
        while not self.server.over.is_set():
            with suppress(SecureFairError):  # the store is being replaced: the next look finds it
                now = msgspec.json.encode(status_of(self.server.folder))
                self.wfile.write(b": here\n\n" if now == before else b"data: " + now + b"\n\n")
                self.wfile.flush()
                before = now
            self.server.over.wait(LOOK_EVERY)
