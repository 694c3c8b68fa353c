"""Which rounds count as ended, by the records of all sites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from securefair.collaboration.observer import SiteRecord
from securefair.protocol.messages import DeclineReason

DECISIONS = (DeclineReason.NOT_SHARING.value, DeclineReason.DISCLOSURE_LIMIT.value)
"""Reasons to decline that are no fault and no loss."""


def rounds_with(
    counted: Callable[[SiteRecord], set[str]],
    records: Iterable[Mapping[int, SiteRecord]],
    fewest: int,
) -> int:
    """Rounds that enough sites ended, each with enough peers.

    Args:
        counted: peers of a record that count.
        records: of each site, by round.
        fewest: peers that a round needs; one site more must have ended it.
    """
    ended = Counter[int]()
    for own in records:
        for number, record in own.items():
            ended[number] += len(counted(record)) >= fewest
    return sum(count >= fewest + 1 for count in ended.values())


def answered_by(record: SiteRecord) -> set[str]:
    """Peers with an answer or a model in it."""
    return {*record.opened, *record.combined}


def word_of(record: SiteRecord) -> set[str]:
    """Peers whose answers are here, or kept back by decision and by nothing else.

    Who is not asked was judged before: without a reputation nobody has decided anything.
    """
    lost = {*record.missed, *record.failed, *record.lost, *record.away}
    said = {**record.declined, **record.sum_declined}
    lost |= {peer for peer, reason in said.items() if reason not in DECISIONS}
    judged = {peer for peer, worth in record.reputations.items() if worth is not None}
    return ({*judged, *said} - lost) | answered_by(record)
