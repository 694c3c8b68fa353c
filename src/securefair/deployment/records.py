"""What a site remembers and reports of its rounds: what *it* may know, and nobody else's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from securefair.deployment.pace import Pace
from securefair.protocol.effects import RoundOver


@dataclass(frozen=True, kw_only=True)
class SiteState:
    """What a site remembers besides its machine.

    Attributes:
        pace: everybody's rounds.
        left: seconds to the deadline when it was written; time in which the site is down does not
            count.
    """

    pace: Pace = field(default_factory=Pace)
    left: float = 0.0


class SiteRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One round of one site.

    Attributes:
        round: its number.
        forced: everyone was asked.
        asked, opened, failed, missed, declined: peers, see `RoundSummary`.
        reputations: after the round.
        away: peers that were not waited for.
        measured: of the own model after the round, on own samples.
        step_error: why the own step failed.
    """

    round: int
    forced: bool
    asked: tuple[str, ...]
    opened: tuple[str, ...]
    declined: dict[str, str]
    failed: tuple[str, ...]
    missed: tuple[str, ...]
    reputations: dict[str, float | None]
    away: tuple[str, ...]
    measured: dict[str, float]
    step_error: str | None

    @property
    def decisions(self) -> tuple[object, ...]:
        """Who was asked and who answered: what two runs of equal seeds have in common."""
        return (self.round, self.asked, self.opened, tuple(sorted(self.declined)))


def record_of(over: RoundOver, measured: Mapping[str, float], away: tuple[str, ...]) -> SiteRecord:
    """The record of a round that has just ended."""
    summary = over.summary
    return SiteRecord(
        round=over.round,
        forced=summary.forced,
        asked=summary.asked,
        opened=summary.opened,
        declined={peer: reason.value for peer, reason in summary.declined.items()},
        failed=summary.failed,
        missed=summary.missed,
        reputations=dict(summary.reputations),
        away=away,
        measured=dict(measured),
        step_error=summary.step_error,
    )
