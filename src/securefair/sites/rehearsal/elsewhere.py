"""Sites under another installation of securefair: what an upgrade meets.

Such an installation is an interpreter that imports it. Of every version one function is called by
name, with these arguments in this order: `securefair.sites.rehearsal.process.play_site`; and it
runs `puppet.py` of this one.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from multiprocessing import Pipe
from pathlib import Path

import msgspec

from securefair.collaboration.observer import SiteRecord
from securefair.errors import ConfigError, SecureFairError
from securefair.protocol.turn import Memory
from securefair.sites.rehearsal import puppet
from securefair.sites.rehearsal.puppet import Followed, Order
from securefair.sites.site.folder import STORE
from securefair.sites.site.hosting import stored_host
from securefair.sites.site.records import stored_records
from securefair.storage import Access, Store

_PROGRAM = (
    "import sys, pathlib; from securefair.sites.rehearsal.process import play_site; "
    "folder, file, seed, faults = sys.argv[1:]; "
    "play_site(pathlib.Path(folder), pathlib.Path(file), int(seed), float(faults))"
)
_ABOUT = (
    "import json, securefair; from securefair.collaboration.kinds import REGISTERED; "
    "from securefair.protocol.messages import PROTOCOL_VERSION as spoken; "
    "about = {'version': securefair.__version__, 'protocol': spoken, 'kinds': [*REGISTERED]}; "
    "print(json.dumps(about))"
)

_STORE = (
    "import sys, pathlib; from securefair.storage import Store; "
    "Store.open(pathlib.Path(sys.argv[1])).close()"
)
PREVIOUS = Path(__file__).parents[4] / ".venv-previous" / "bin" / "python"
"""Where `make previous` sets up the release before, beside the sources of this one."""


class Installation(msgspec.Struct, frozen=True):
    """What an interpreter's securefair says of itself.

    Attributes:
        version: of it.
        protocol: the newest version of the protocol that it speaks.
        kinds: of collaboration that it knows.
    """

    version: str
    protocol: int
    kinds: tuple[str, ...]


class ElsewhereProcess:
    """As far as a `Troupe` needs it, a process of `multiprocessing`."""

    def __init__(self, python: Path, folder: Path, secret: Path, seed: int, faults: float) -> None:
        """See `play_site` for the arguments after the interpreter."""
        python = python.absolute()
        self._command = [
            *(str(python), "-I", "-c", _PROGRAM),
            *map(str, (folder, secret, seed, faults)),
        ]
        self._started: subprocess.Popen[bytes] | None = None

    @property
    def exitcode(self) -> int | None:
        """None while it runs."""
        return None if self._started is None else self._started.poll()

    def start(self) -> None:
        """Begin; not in this folder, whose modules an interpreter would find first."""
        self._started = subprocess.Popen(self._command, cwd="/")

    def kill(self) -> None:
        """SIGKILL."""
        if self._started is not None:
            self._started.kill()

    def join(self) -> None:
        """Wait for its end."""
        if self._started is not None:
            self._started.wait()


class ElsewhereSite:
    """A site of a year in a process of another installation; see `Playing`.

    Args:
        python: of that installation.
        folder: of the site.
        passphrase_file: of its keystore.
        clocks: says the seconds of its machine's clock, and of one that nobody can set.

    Raises:
        SecureFairError: it cannot be opened there.
    """

    def __init__(
        self,
        python: Path,
        folder: Path,
        passphrase_file: Path,
        clocks: Callable[[], tuple[float, float]],
    ) -> None:
        self._folder, self._clocks, self.fault = folder, clocks, ""
        self._orders, theirs = Pipe()
        program = (python.absolute(), "-I", puppet.__file__, folder, passphrase_file)
        self._process = subprocess.Popen(
            [*map(str, program), str(theirs.fileno())], cwd="/", pass_fds=[theirs.fileno()]
        )
        theirs.close()
        try:
            self._order("begin")
        except SecureFairError:
            self.close()
            raise

    def turn(self) -> bool:
        """See `Playing`."""
        return self._order("turn").yes

    def memory(self) -> Memory | None:
        """See `Playing`."""
        return memory_in(self._folder)

    def records(self) -> list[SiteRecord]:
        """See `Playing`."""
        with self._store() as store, store.view() as tx:
            return stored_records(tx)

    def pending(self, peer: str) -> bytes | None:
        """See `Playing`."""
        return self._order("pending", peer).data

    def settle(self, peer: str, receipt: bytes) -> bool:
        """See `Playing`."""
        return self._order("settle", peer, receipt).yes

    def receive(self, parcel: bytes) -> bytes:
        """See `Playing`."""
        return self._order("receive", given=parcel).data or b""

    def close(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._process.wait()
        self._orders.close()

    def _store(self) -> Store:
        return Store.open(self._folder / STORE, access=Access.READ)

    def _order(self, act: str, peer: str = "", given: bytes = b"") -> Followed:
        order = Order(act, *self._clocks(), peer, given)
        try:
            self._orders.send_bytes(msgspec.msgpack.encode(order))
            done = msgspec.msgpack.decode(self._orders.recv_bytes(), type=Followed)
        except (EOFError, OSError, msgspec.DecodeError) as error:
            raise SecureFairError(
                "a site of another version ended", where=self._folder.name, found=act
            ) from error
        if done.failed:
            raise SecureFairError(done.fault, where=self._folder.name)
        self.fault = done.fault
        return done


def make_store_with(python: Path, folder: Path) -> None:
    """Let another version make the store of a new site: it could not read one of this version whose
    tables are newer."""
    shutil.rmtree(folder / STORE)
    command = [str(python.absolute()), "-I", "-c", _STORE, str(folder / STORE)]
    subprocess.run(command, cwd="/", check=True)


def memory_in(folder: Path) -> Memory | None:
    """What the store of a site's folder remembers of its machine; None before its first turn."""
    with Store.open(folder / STORE, access=Access.READ) as store:
        return stored_host(store, (), None).memory


def installed(python: Path) -> Installation:
    """What an interpreter's securefair says of itself.

    Raises:
        ConfigError: it cannot be started, or has none.
    """
    try:
        command = [str(python.absolute()), "-I", "-c", _ABOUT]
        done = subprocess.run(command, capture_output=True, cwd="/", check=True)
        return msgspec.json.decode(done.stdout, type=Installation)
    except (OSError, msgspec.DecodeError, subprocess.CalledProcessError) as error:
        raise ConfigError(
            "this interpreter has no securefair",
            where="beside",
            found=str(python),
            expected="the python of an environment with another version",
        ) from error


def check_kind(there: Installation, algorithm: str) -> None:
    """See that another installation knows a kind of collaboration.

    Raises:
        ConfigError: it does not.
    """
    if algorithm not in there.kinds:
        raise ConfigError(
            "the other version has no such kind of collaboration",
            where="algorithm",
            found=f"{algorithm}, which {there.version} does not have",
            expected=" or ".join(there.kinds),
        )
