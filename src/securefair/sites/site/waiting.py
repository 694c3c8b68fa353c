"""When a deadline counts for nothing, because too few peers would be left. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from securefair.sites.site.records import SiteState
from securefair.sites.site.schedule import Timetable


def too_few(
    state: SiteState, absent: Collection[str], schedule: Timetable, peers: Sequence[str]
) -> bool:
    """Whether a site waits for some of these peers although a deadline has passed.

    Args:
        state: of the site.
        absent: peers that it would go on without.
        schedule: of the site; once its project ends, every deadline counts.
        peers: all.
    """
    wanted = schedule.fewest, schedule.rounds, tuple(peers)
    return schedule.wall() < schedule.ends and state.pace.too_few(absent, *wanted)


def held(
    state: SiteState, absent: Collection[str], schedule: Timetable, peers: Sequence[str]
) -> SiteState | None:
    """What a site remembers as a deadline counts for nothing; None: it counts.

    Once enough are back it waits for nobody any more (`since` is 0), and everybody gets the time of
    a round again.

    Args:
        state, absent, schedule, peers: as of `too_few`; nobody waits for who is shut out.
    """
    shut = state.pace.shut
    missing = tuple(peer for peer in dict.fromkeys(absent) if peer not in shut)
    if too_few(state, missing, schedule, peers):
        return replace(state, missing=missing, since=state.since or schedule.wall())
    return replace(state, missing=(), since=0.0) if state.since else None
