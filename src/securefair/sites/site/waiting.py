"""When a deadline counts for nothing, because too few peers would be left. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from securefair.sites.site.pace import Pace
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


def nobody_needs(
    state: SiteState,
    left: float,
    schedule: Timetable,
    peers: Sequence[str],
    unconfirmed: Callable[[], bool],
) -> bool:
    """Whether a site whose rounds are over may go, as far as it can wait for the others.

    Args:
        state: of the site.
        left: seconds to its deadline.
        schedule: of the site.
        peers: all.
        unconfirmed: whether anything that it said has no receipt.
    """
    if left <= 0:
        behind = state.pace.behind(schedule.rounds, tuple(peers))
        return not (state.since or too_few(state, behind, schedule, peers))
    return not (state.pace.waits_for(schedule.rounds, tuple(peers)) or unconfirmed())


def resting(
    pace: Pace, round: int, gone: Collection[str], schedule: Timetable, peers: Sequence[str]
) -> tuple[str, ...]:
    """Peers that a round begins without, although they say that they are here; see `Pace.rests`.

    Args:
        pace: as the round is about to begin.
        round: its number.
        gone: peers that it begins without anyway.
        schedule: of the site.
        peers: all. Where too few would be left, nobody rests.
    """
    rest = tuple(peer for peer in pace.rests(round, tuple(peers)) if peer not in gone)
    absent = (*pace.away, *gone, *rest)
    few = pace.too_few(absent, schedule.fewest, schedule.rounds, tuple(peers))
    return () if few else rest


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
        since = state.since or schedule.wall()
        return replace(state, pace=state.pace.wakes(), missing=missing, since=since)
    return replace(state, missing=(), since=0.0) if state.since else None
