"""How much a participant is willing to let out."""

from __future__ import annotations

from dataclasses import dataclass

from securefair.config import RunConfig, defaults


@dataclass(frozen=True, kw_only=True)
class DisclosureLimits:
    """How much one participant is willing to let out as teacher; each decides for itself.

    Attributes:
        fraction: most numbers to one student of one version of the model, as a part of the
            smaller disclosure bound (`protocol.ledger`).
        student_total, teacher_total: most numbers over all versions, to one student and to all.

    None stands for no limit.
    """

    fraction: float | None = defaults.DISCLOSURE_FRACTION
    student_total: int | None = None
    teacher_total: int | None = None


def limits_of(config: RunConfig) -> DisclosureLimits:
    """What every teacher of a configuration keeps to."""
    limits = config.disclosure
    return DisclosureLimits(
        fraction=limits.fraction,
        student_total=limits.student_total,
        teacher_total=limits.teacher_total,
    )
