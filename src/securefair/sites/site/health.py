"""How a site is, for people and for monitoring: one state, since when, and what will stop it.

Terminal, page, log and metrics say it in the same words (`Health.summary`).
"""

from __future__ import annotations

import contextlib
import enum
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from securefair.errors import SecureFairError
from securefair.sites.couriers.register import courier_of
from securefair.sites.post.peers import read_peer
from securefair.sites.post.streams import stream_of
from securefair.sites.project.agreeing import fewest_peers, rounds_of
from securefair.sites.project.card import utc
from securefair.sites.project.project import Project
from securefair.sites.site.folder import OVER, SiteSettings
from securefair.sites.site.records import SiteState, peers_of, stored_records
from securefair.sites.site.renewing import taken_in
from securefair.sites.site.site import LEFT, STATE
from securefair.storage import Transaction
from securefair.storage.files import replace_file

BEAT = "beat"
"""File in a site's folder: what it does, and when it looked at its clock last."""

BEAT_EVERY = 30.0
LOG_EVERY = 3600.0
STUCK_AFTER, STUCK_AT_WORK = 600.0, 12 * 3600.0
"""Seconds without a beat: of a site that waits, and of one that computes."""

SILENT_AFTER = 6 * 3600.0
WARN_DAYS = 30
LEAST_FREE = 1e9
"""Bytes of the disk."""

DAY = 86_400.0


class SiteLife(enum.StrEnum):
    """What a site does."""

    RUNNING = "running"
    WAITING = "waiting"
    STUCK = "stuck"
    STOPPED = "stopped"
    OVER = "over"
    LEFT = "left"


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """A site at one moment.

    Attributes:
        state: what it does; see `SiteLife`.
        since: when it began to wait, or was seen last; None where nothing tells.
        waiting_for: peers without whom too few are there for a round.
        warnings: what will stop it, or stops others, a sentence each.
    """

    state: SiteLife
    since: str | None = None
    waiting_for: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        """For monitoring: 0 well, 1 warnings or waiting, 2 stopped before the end, or stuck."""
        if self.state in (SiteLife.STUCK, SiteLife.STOPPED):
            return 2
        return int(self.state is SiteLife.WAITING or bool(self.warnings))

    @property
    def runs(self) -> bool:
        """Whether there is a process, stuck or not."""
        return self.state in (SiteLife.RUNNING, SiteLife.WAITING, SiteLife.STUCK)

    @property
    def summary(self) -> str:
        """In one line."""
        text = self.state.value
        if self.waiting_for:
            text += f" for {', '.join(self.waiting_for)}"
        if self.since is not None:
            text += f" since {self.since}"
        return "; ".join((text, *self.warnings))


OLDER = (
    "the site was through with all rounds, and its store is not: an older copy was put back, which "
    "`site start` refuses"
)


class Beat(msgspec.Struct, frozen=True, kw_only=True):
    """What a process leaves for those who look at it from outside."""

    at: float
    working: bool


class Heart:
    """Leaves a beat every half minute.

    Args:
        folder: of the site.
    """

    def __init__(self, folder: Path) -> None:
        self._file, self._last, self._working = folder / BEAT, 0.0, False

    def beat(self, *, working: bool, now: float) -> None:
        """The site takes a turn.

        Args:
            working: whether it will compute something in it, which may take hours.
            now: seconds since 1970.
        """
        if working == self._working and 0 <= now - self._last < BEAT_EVERY:
            return
        self._last, self._working = now, working
        content = msgspec.json.encode(Beat(at=now, working=working))
        with contextlib.suppress(OSError):  # a full disk stops the store, and says so
            replace_file(self._file, content, mode=0o600, durable=False)


class LineDue:
    """Whether the log gets a line: as waiting for peers begins or ends, and every hour.

    Args:
        since: when the site began to wait; 0: it does not.
        now: seconds of a clock that is never set.
    """

    def __init__(self, since: float, now: float) -> None:
        self._since, self._last = since, now

    def __call__(self, since: float, now: float) -> bool:
        """As the site takes a turn; the same arguments."""
        due = since != self._since or now - self._last >= LOG_EVERY
        if due:
            self._since, self._last = since, now
        return due


def read_beat(folder: Path) -> Beat | None:
    """What a site's process left; None for nothing that can be read."""
    try:
        return msgspec.json.decode((folder / BEAT).read_bytes(), type=Beat)
    except (OSError, msgspec.DecodeError):
        return None


def health_of(
    folder: Path,
    tx: Transaction,
    project: Project,
    settings: SiteSettings,
    *,
    runs: bool,
    now: float,
) -> Health:
    """How a site is, whether it runs or not.

    Args:
        folder: of the site.
        tx: of its store.
        project: of the site.
        settings: of the site.
        runs: whether a process has its store.
        now: seconds since 1970.
    """
    data = tx.memory.get(STATE)
    known = SiteState() if data is None else msgspec.msgpack.decode(data, type=SiteState)
    warnings = tuple(_warnings(folder, tx, project, settings, now))
    beat = read_beat(folder)
    seen = None if beat is None else utc(beat.at)
    if tx.memory.get(LEFT) is not None:
        return Health(state=SiteLife.LEFT)
    if not runs:
        if (folder / OVER).exists():
            if len(stored_records(tx)) >= rounds_of(project.terms):
                return Health(state=SiteLife.OVER, since=seen)
            warnings = (OLDER, *warnings)
        return Health(state=SiteLife.STOPPED, since=seen, warnings=warnings)
    if beat is not None and now - beat.at > (STUCK_AT_WORK if beat.working else STUCK_AFTER):
        return Health(state=SiteLife.STUCK, since=seen, warnings=warnings)
    if known.since:
        peers = len(peers_of(tx, project, settings.name))
        said = f"a round needs {fewest_peers(project, peers)} of {peers} peers"
        return Health(
            state=SiteLife.WAITING,
            since=utc(known.since),
            waiting_for=known.missing,
            warnings=(said, *warnings),
        )
    return Health(state=SiteLife.RUNNING, warnings=warnings)


def _warnings(
    folder: Path, tx: Transaction, project: Project, settings: SiteSettings, now: float
) -> Iterator[str]:
    if len(stored_records(tx)) >= rounds_of(project.terms):
        return  # nothing can stop it any more
    ends = [("the project", project.terms.valid_until)]
    ends += [(f"the card of {card.name}", card.valid_until) for card in project.cards]
    for what, end in ends:
        if now >= end:
            yield f"{what} has expired ({utc(end)}): nobody can start a site any more"
        elif now >= end - WARN_DAYS * DAY:
            days = round((end - now) / DAY)
            yield f"{what} expires in {days} day{'s' * (days != 1)} ({utc(end)})"
    free = shutil.disk_usage(folder).free
    if free < LEAST_FREE:
        yield f"only {free / 1e6:.0f} MB are free on the disk of {folder}"
    try:
        problem = courier_of(settings.courier.kind).problem(settings.courier)
    except SecureFairError as error:
        problem = str(error)
    if problem:
        yield problem
    renewals = taken_in(tx).number
    for number in range(renewals, len(settings.renewals) + 1):
        if not os.access(data := settings.at(number).data, os.R_OK):
            yield f"the file of samples cannot be read: {data}"
    if settings.renewals[renewals:]:
        yield "other patients take effect as the next round begins, or once the last is over"
    yield from _silence(tx, project, settings.name, now)


def _silence(tx: Transaction, project: Project, name: str, now: float) -> Iterator[str]:
    """Nothing comes and nothing is taken: that is no peer's fault."""
    heard, waiting = 0, 0
    peers = peers_of(tx, project, name)
    for peer in peers:
        known = read_peer(tx, peer)
        heard = max(heard, known.heard)
        waiting += tx.outbox.next_sequence(stream_of(peer, known.epoch)) > known.confirmed
    if peers and waiting == len(peers) and heard and now - heard > SILENT_AFTER:
        yield (
            f"no peer has been heard or has confirmed anything since {utc(heard)}: "
            "look at the courier, or the relay"
        )
