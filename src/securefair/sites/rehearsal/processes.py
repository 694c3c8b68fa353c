"""The processes of all sites of a rehearsal: started, killed, watched, and read afterwards."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

from securefair.collaboration.kinds import REGISTERED
from securefair.collaboration.observer import SiteRecord
from securefair.errors import SecureFairError, StorageError
from securefair.model.stored import Function, from_bytes
from securefair.sites.operator.lifecycle import upgrade
from securefair.sites.post.peers import read_peer, refusals
from securefair.sites.post.streams import stream_of
from securefair.sites.rehearsal.elsewhere import ElsewhereProcess, make_store_with
from securefair.sites.rehearsal.process import FAILED, play_site
from securefair.sites.rehearsal.witness import SENT, Witness, check_versions
from securefair.sites.site.folder import STORE
from securefair.sites.site.records import MODEL, stored_records
from securefair.storage import Access, Store, Transaction

LOOK_EVERY = 0.1
LOOKS = 5

PARTS = ("agreement", "host", "kind")
"""Modules of a kind's folder that a site loads, if there are such."""

LOADED_ONCE = (
    "securefair.sites.rehearsal.process",
    *sorted(
        {f"{where.rpartition('.')[0]}.{part}" for where in REGISTERED.values() for part in PARTS}
    ),
    "securefair.ckks.backends.rns",
    "scipy.stats",
)
"""What sites load when they begin, or soon after: two thirds of their seconds in a rehearsal."""

PROCESSES = get_context("forkserver")
"""Every site is a process that remembers nothing but its store; what all import is loaded once."""
PROCESSES.set_forkserver_preload(list(LOADED_ONCE))


@dataclass(eq=False)
class Troupe:
    """The processes of one collaboration's sites.

    Attributes:
        folder: that holds the sites' folders, and the file of their passphrase.
        names: of the sites.
        seed: that all take.
        faults: rate of each kind of fault of the couriers.
        rounds: of the collaboration.
        witness: of promises that must hold at every moment.
        kills: processes that were killed so far.
        lost: records that were there before a kill and not after it.
        beside: interpreter with another version of securefair: all sites but the first begin with
            that, and one that was killed is upgraded and goes on with this one.
    """

    folder: Path
    names: tuple[str, ...]
    seed: int
    faults: float
    rounds: int
    witness: Witness
    kills: int = 0
    lost: int = 0
    beside: Path | None = None
    running: dict[str, BaseProcess | ElsewhereProcess] = field(default_factory=dict)

    def play(self, kills: int, envelopes: int, until: float) -> None:
        """Run all sites to their end, and kill some as the envelopes go by.

        Args:
            kills: how many processes.
            envelopes: that all sites together send if nothing happens: kills are spread over them.
            until: monotonic seconds.

        Raises:
            SecureFairError: a site failed or broke a promise, or the time is over.
        """
        draw = random.Random(secrets.randbits(32))
        try:
            for at, name in enumerate(self.names):
                if at and self.beside is not None:
                    make_store_with(self.beside, self.folder / name)
                self._start(name, self.beside if at else None)
            while self.running:
                if time.monotonic() > until:
                    raise SecureFairError(
                        "the rehearsal takes too long", found=f"{self.kills} kills"
                    )
                time.sleep(LOOK_EVERY * draw.random())
                self._check()
                if self.kills == kills:
                    continue
                if self._sent() >= envelopes * (self.kills + 1) // (kills + 1):
                    busy = [name for name in self.running if self._finished(name) < self.rounds]
                    if busy:
                        self._kill(draw.choice(busy))
            self._check_promises()
        finally:
            for process in self.running.values():
                process.kill()
                process.join()

    def records(self, name: str) -> list[SiteRecord]:
        """Of a site's rounds so far."""
        store = self._read(name)
        if store is None:
            return []
        with store, store.view() as tx:
            return stored_records(tx)

    def model(self, name: str) -> Function | None:
        """A site's model after its last round."""
        store = self._read(name)
        if store is None:
            return None
        with store, store.view() as tx:
            data = tx.memory.get(MODEL)
        return None if data is None else from_bytes(data, where=name)

    def refused(self) -> int:
        """Envelopes that were refused, over all sites; repeats are not counted."""
        count = 0
        for name in self.names:
            store = self._read(name)
            if store is not None:
                with store, store.view() as tx:
                    found = refusals(tx)
                count += sum(n for what, n in found.items() if not what.startswith("repeated"))
        return count

    def _start(self, name: str, python: Path | None = None) -> None:
        arguments = (self.folder / name, self.folder / "passphrase", self.seed, self.faults)
        process: BaseProcess | ElsewhereProcess
        if python is None:
            process = PROCESSES.Process(target=play_site, name=name, args=arguments)
        else:
            process = ElsewhereProcess(python, *arguments)
        process.start()
        self.running[name] = process

    def _kill(self, name: str) -> None:
        before = self._finished(name)
        process = self.running.pop(name)
        process.kill()
        process.join()
        self.kills += 1
        self.lost += max(0, before - self._finished(name))
        self._check_promises()
        if self.beside is not None:
            upgrade(self.folder / name)
        self._start(name)

    def _check(self) -> None:
        """Take leave of the sites that are over.

        Raises:
            SecureFairError: one ended otherwise.
        """
        for name, process in list(self.running.items()):
            code = process.exitcode
            if code is None:
                continue
            del self.running[name]
            if code:
                said = self.folder / name / FAILED
                raise SecureFairError(
                    "a site of the rehearsal failed",
                    where=name,
                    found=said.read_text("utf-8") if said.exists() else f"exit code {code}",
                )

    def _check_promises(self) -> None:
        """See what left so far, whether sites run or not.

        Raises:
            SecureFairError: see `Witness`.
        """
        for look in (self.witness.see, self.witness.compare):  # first what arrived, then ledgers
            for name in self.names:
                self._look(name, look)
        for name in self.names:
            check_versions(self.folder / name / SENT, name)

    def _look(self, name: str, look: Callable[[str, Transaction], None]) -> None:
        """Read a store whose site may run: a file may go while it is read, and not five times."""
        for attempt in range(LOOKS):
            store = self._read(name)
            if store is None:
                return
            try:
                with store, store.view() as tx:
                    look(name, tx)
                return
            except StorageError:
                if attempt == LOOKS - 1:
                    raise

    def _finished(self, name: str) -> int:
        return len(self.records(name))

    def _sent(self) -> int:
        """Envelopes that all sites have made so far."""
        count = 0
        for name in self.names:
            store = self._read(name)
            if store is None:
                continue
            with store, store.view() as tx:
                for peer in self.names:
                    if peer != name:
                        stream = stream_of(peer, read_peer(tx, peer).epoch)
                        count += tx.outbox.next_sequence(stream)
        return count

    def _read(self, name: str) -> Store | None:
        place = self.folder / name / STORE
        if not (place / "store.sqlite").exists():
            return None
        return Store.open(place, access=Access.READ)
