"""A hostile rehearsal: one of the sites lies, and every other machine's clock jumps meanwhile.

What counts is that the honest sites end their rounds with each other, that each can read who did
what, and that none is told to destroy anything.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

import msgspec

from securefair.config import defaults
from securefair.errors import ConfigError, SecureFairError
from securefair.report import write_text
from securefair.sites.post.clock import WRONG
from securefair.sites.post.peers import read_peer, refusals
from securefair.sites.post.post import CLOCK_SET
from securefair.sites.rehearsal.liar import (
    ENVELOPES,
    FLOOD,
    PLANTED,
    RECEIPTS,
    play_liar,
)
from securefair.sites.rehearsal.process import FAILED
from securefair.sites.rehearsal.processes import PROCESSES
from securefair.sites.rehearsal.rehearsal import (
    MAX_SITES,
    hospitals,
    make_places,
    project_between,
    reputation_kind,
)
from securefair.sites.site.folder import KEYS, STORE
from securefair.sites.site.notes import noted_in
from securefair.sites.site.records import stored_records
from securefair.sites.site.starting import Rehearsal, carried, open_site
from securefair.storage import Access, Store, unlock
from securefair.storage.audit import Fact

FEWEST = 3
JUMPS = (WRONG, -WRONG, 365 * WRONG, -365 * WRONG)
"""Seconds that a machine's clock is set forward and back, one after the other."""

EVERY = 5.0
"""Seconds from one jump to the next."""


class Harm(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of harm and what came of it.

    Attributes:
        done: what was done.
        by: who did it.
        to: which site.
        said: what that site's status or audit log says; "" where it says nothing of it.
    """

    done: str
    by: str
    to: str
    said: str


class HostileResult(msgspec.Struct, frozen=True, kw_only=True):
    """How the honest sites fared.

    Attributes:
        rounds: that were asked for, of each site.
        lost_rounds: rounds of honest sites without a record, or without an honest peer.
        faults: what was done to each of them, and what it said.
        destructive: honest sites that were told to recover, or whose keys were touched.
        seconds: from the first start to the last end.
    """

    rounds: int
    lost_rounds: int
    faults: tuple[Harm, ...]
    destructive: tuple[str, ...]
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether nothing was lost, and every site can say what was done to it."""
        return not self.lost_rounds and not self.destructive and all(f.said for f in self.faults)


@dataclass(eq=False)
class JumpingClock:
    """A machine's clock that somebody sets again and again, and leaves right in the end.

    Attributes:
        began: monotonic seconds of the first second of this; None: not yet.
    """

    began: float | None = None

    def __call__(self) -> float:
        """Seconds since 1970, as that machine has it."""
        if self.began is None:
            return time.time()
        step = int((time.monotonic() - self.began) / EVERY)
        return time.time() + (JUMPS[step - 1] if 1 <= step <= len(JUMPS) else 0)


def rehearse_hostile(
    folder: Path,
    *,
    sites: int,
    rounds: int,
    backend: str = defaults.BACKEND,
    limit: float = 600.0,
) -> HostileResult:
    """Rehearse with one site that lies, over a shared folder.

    Args:
        folder: empty; short enough for sockets. It holds the sites afterwards.
        sites: 3 to 8, the last of which lies.
        rounds: of a kind with reputations.
        backend: encryption engine.
        limit: most seconds.

    Raises:
        ConfigError: an argument is out of range.
        SecureFairError: the time is over.
    """
    if not FEWEST <= sites <= MAX_SITES:
        raise ConfigError(
            "out of range", where="sites", found=sites, expected=f"{FEWEST} to {MAX_SITES}"
        )
    data = hospitals(sites)
    project, identities = project_between(data, reputation_kind(), rounds, backend)
    shared = folder / "shared"
    shared.mkdir()
    make_places(folder, data, project, identities, "folder", shared=shared)
    *honest, liar = project.names
    started = time.monotonic()
    running = {
        name: PROCESSES.Process(
            target=play_honest if name != liar else play_liar,
            args=(folder / name, folder / "passphrase", 0, shared),
        )
        for name in project.names
    }
    _run(running, honest, started + limit)
    seconds = time.monotonic() - started
    faults, lost, destructive = list[Harm](), 0, list[str]()
    for name in honest:
        peers = tuple(peer for peer in honest if peer != name)
        with Store.open(folder / name / STORE, access=Access.READ) as store, store.view() as tx:
            records = stored_records(tx)
            counts, told = refusals(tx), read_peer(tx, liar).fault
            blamed = [kind for kind, facts in noted_in(tx) if facts["peer"] == liar]
            days = {row.facts["days"] for row in tx.audit.rows() if row.kind == CLOCK_SET}
        lost += sum(bool(set(one.away) & set(peers)) for one in records) + rounds - len(records)
        failed = folder / name / FAILED
        said = failed.read_text("utf-8") if failed.exists() else ""
        if "recover" in said + told or not (folder / name / KEYS).is_file():
            destructive.append(name)
        for done, text in _said(liar, counts, told, len(blamed), days):
            by = name if done.startswith("its clock") else liar
            faults.append(Harm(done=done, by=by, to=name, said=text))
    return HostileResult(
        rounds=rounds,
        lost_rounds=lost,
        faults=tuple(faults),
        destructive=tuple(destructive),
        seconds=round(seconds, 1),
    )


def _said(
    liar: str, counts: dict[str, int], told: str, blamed: int, days: set[Fact]
) -> list[tuple[str, str]]:
    """What was done to a site, and what it says of that."""

    def counted(reason: str) -> str:
        found = counts.get(f"{reason}, {liar}", 0)
        return f"refused: {reason}, {liar}: {found}" if found else ""

    impossible, unproved = counted("impossible"), counted("unproved claim") or told
    flood = counted("inbox full") or (f"blamed {blamed} times" if blamed else "")
    return [
        *((name, impossible) for name in ENVELOPES),
        *((name, impossible if "2^64" in name else unproved) for name in RECEIPTS),
        *((f"{what} in place of a parcel", counted("not a file")) for what in PLANTED),
        (f"{FLOOD} frames without meaning", flood),
        *(  # of a jump during which it dated nothing there is nothing to say
            (f"its clock was set by {jump // WRONG} days", f"{CLOCK_SET}: {jump // WRONG} days")
            for jump in JUMPS
            if jump // WRONG in days
        ),
    ]


def _run(running: Mapping[str, BaseProcess], honest: list[str], until: float) -> None:
    """All processes, until the honest ones have ended."""
    try:
        for process in running.values():
            process.start()
        while any(running[name].is_alive() for name in honest):
            if time.monotonic() > until:
                raise SecureFairError("the rehearsal takes too long")
            time.sleep(0.1)
    finally:
        for process in running.values():
            if process.is_alive():
                process.kill()
            process.join()


def play_honest(folder: Path, passphrase_file: Path, seed: int, shared: Path) -> None:
    """Run an honest site in a process of its own, on a machine whose clock jumps."""
    del shared  # its settings name it
    clock = JumpingClock()
    try:
        rehearsal = Rehearsal(seed=seed, wall=clock)
        with (
            open_site(folder, unlock(file=passphrase_file), rehearsal=rehearsal) as opened,
            carried(folder, opened),
        ):
            clock.began = time.monotonic()  # a site that starts by a wrong clock says so and ends
            opened.site.run()
    except SecureFairError as problem:
        write_text(folder / FAILED, str(problem))
        sys.exit(1)
