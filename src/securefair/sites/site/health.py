"""How a site is, for people and for monitoring: one state, since when, and what will stop it.

Terminal, page, log and metrics say it in the same words (`Health.summary`).
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from securefair.report.presence import SiteLife
from securefair.sites.project.agreeing import fewest_peers, rounds_of
from securefair.sites.project.card import utc
from securefair.sites.project.project import Project
from securefair.sites.site.folder import OVER, STORE, SiteSettings
from securefair.sites.site.records import LEFT, peers_of, rounds_over, state_in, stored_records
from securefair.sites.site.warnings import STUCK_AFTER, warnings_of
from securefair.storage import Transaction, held_since
from securefair.storage.files import replace_file

BEAT = "beat"
"""File in a site's folder: what it does, and when it looked at its clock last."""

BEAT_EVERY = 30.0
LOG_EVERY = 3600.0
STUCK_AT_WORK = 12 * 3600.0
"""Seconds without a beat of a site that computes; of one that waits they are `STUCK_AFTER`."""

OK, WARNING, CRITICAL = 0, 1, 2
"""Codes of monitoring plug-ins (Nagios and its heirs); where nobody can look, 3 (`cli.ending`)."""


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """A site at one moment.

    Attributes:
        state: what it does; see `SiteLife`.
        since: when it began to wait, or was seen last; None where nothing tells.
        since_seconds: the same, since 1970.
        waiting_for: peers without whom too few are there for a round.
        warnings: what will stop it, or stops others, a sentence each.
    """

    state: SiteLife
    since: str | None = None
    since_seconds: float | None = None
    waiting_for: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        """For monitoring: 0 well, 1 warnings or waiting, 2 stopped before the end, or stuck."""
        if self.state in (SiteLife.STUCK, SiteLife.STOPPED):
            return CRITICAL
        return WARNING if self.state is SiteLife.WAITING or self.warnings else OK

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
    """What a process leaves for those who look at it from outside.

    Attributes:
        at: when it looked at its clock last, seconds since 1970.
        working: whether it computes something.
        unvisited: seconds since somebody was at its door, or else since it began.
        hindrance: what keeps its courier's parcels, until somebody mends it; "" for nothing.
    """

    at: float
    working: bool
    unvisited: float = 0.0
    hindrance: str = ""


class Heart:
    """Leaves a beat every half minute.

    Args:
        folder: of the site.
    """

    def __init__(self, folder: Path) -> None:
        self._file, self._last = folder / BEAT, Beat(at=0.0, working=False)

    def beat(
        self, now: float, unvisited: float = 0.0, hindrance: str = "", *, working: bool
    ) -> None:
        """The site takes a turn.

        Args:
            now: seconds since 1970.
            unvisited, hindrance: see `Beat`.
            working: whether it will compute something in it, which may take hours.
        """
        last, same = self._last, (self._last.working, self._last.hindrance)
        if same == (working, hindrance) and 0 <= now - last.at < BEAT_EVERY:
            return
        self._last = Beat(at=now, working=working, unvisited=unvisited, hindrance=hindrance)
        content = msgspec.json.encode(self._last)
        with contextlib.suppress(OSError):  # a full disk stops the store, and says so
            replace_file(self._file, content, mode=0o600, durable=False)


class LineDue:
    """Whether the log gets a line: as waiting for peers begins or ends, as a courier's hindrance
    does, and every hour.

    Args:
        since: when the site began to wait; 0: it does not.
        now: seconds of a clock that is never set.
    """

    def __init__(self, since: float, now: float) -> None:
        self._told, self._last = (since, ""), now

    def __call__(self, since: float, now: float, hindrance: str = "") -> bool:
        """As the site takes a turn; the same arguments, and `Beat.hindrance`."""
        due = self._told != (since, hindrance) or now - self._last >= LOG_EVERY
        if due:
            self._told, self._last = (since, hindrance), now
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
    known = state_in(tx)
    beat = read_beat(folder)
    courier = (beat.unvisited, beat.hindrance) if runs and beat is not None else (0.0, "")
    warnings = tuple(warnings_of(folder, tx, project, settings, known, now, *courier))
    at = None if beat is None else beat.at
    seen = None if at is None else utc(at)
    if tx.memory.get(LEFT) is not None:
        return Health(state=SiteLife.LEFT)
    if not runs:
        if (folder / OVER).exists():
            if rounds_over(stored_records(tx)) >= rounds_of(project.terms):
                return Health(state=SiteLife.OVER, since=seen, since_seconds=at)
            warnings = (OLDER, *warnings)
        return Health(state=SiteLife.STOPPED, since=seen, since_seconds=at, warnings=warnings)
    # What another process left, before this one took the store, says nothing of it: it is starting.
    held = held_since(folder / STORE)
    starting = beat is not None and beat.at < held
    sign = held if starting else at
    working = starting or (beat is not None and beat.working)
    if sign is not None and now - sign > (STUCK_AT_WORK if working else STUCK_AFTER):
        return Health(state=SiteLife.STUCK, since=seen, since_seconds=at, warnings=warnings)
    if known.since:
        peers = len(peers_of(tx, project, settings.name))
        said = f"a round needs {fewest_peers(project, peers)} of {peers} peers"
        if rounds_over(stored_records(tx)) >= rounds_of(project.terms):
            said = "its own rounds are over, and too few peers are through with theirs"
        elif not known.missing:
            said = "it has blocked every peer that has not left; `site block --undo` takes one back"
        return Health(
            state=SiteLife.WAITING,
            since=utc(known.since),
            since_seconds=known.since,
            waiting_for=known.missing,
            warnings=(said, *warnings),
        )
    return Health(state=SiteLife.RUNNING, warnings=warnings)
