"""Participants at a glance: a few shares in [0, 1] each, and the radar that draws them.

`profiles` derives the shares from the records; `radar` turns one profile into the points of an
SVG drawing of `WIDTH` by `HEIGHT`. Every axis reads the same way: further out is more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from securefair.records import ParticipantResult, RoundRecord

WIDTH, HEIGHT = 250, 200
_CENTRE_X, _CENTRE_Y, _RADIUS = WIDTH / 2, HEIGHT / 2 + 10, 66
_LABEL_GAP = 9  # between the outermost ring and its labels


@dataclass(frozen=True)
class Axis:
    """One share of a participant.

    Attributes:
        name: in two or three words.
        value: in [0, 1].
        average: of all participants.
    """

    name: str
    value: float
    average: float


@dataclass(frozen=True)
class Profile:
    """One participant's axes, the same ones in the same order for everyone."""

    name: str
    axes: list[Axis]


@dataclass(frozen=True)
class Label:
    """The text at the end of an axis; `anchor` as in SVG."""

    axis: Axis
    x: float
    y: float
    anchor: str


@dataclass(frozen=True)
class Radar:
    """One drawing: polygons as SVG points, spokes as pairs of ends."""

    name: str
    outline: str
    average: str
    rings: list[str]
    spokes: list[tuple[float, float, float, float]]
    labels: list[Label]


def profiles(
    participants: Sequence[ParticipantResult],
    rounds: Sequence[RoundRecord],
    *,
    reputations: bool,
    names: tuple[str, str, str],
) -> list[Profile]:
    """What each participant is, gives and gets.

    Args:
        participants: of the run.
        rounds: of one collaborative algorithm; without any there are no profiles.
        reputations: whether reputations were formed; the axis of regard is left out otherwise.
        names: of the axes for what is received, what is given, and the mean reputation after
            the last round. The first two are shares of what everyone could always have given.
    """
    if not rounds or len(participants) < 2:
        return []
    peers = range(len(participants))
    possible = len(rounds) * (len(participants) - 1)
    received = [sum(sum(record.answered[n]) for record in rounds) / possible for n in peers]
    given = [
        sum(record.answered[n][k] for record in rounds for n in peers) / possible for k in peers
    ]
    columns = {
        "Accuracy": [one.accuracy for one in participants],
        "Alone": [one.standalone_accuracy for one in participants],
        names[0]: received,
        names[1]: given,
    }
    if reputations:
        columns[names[2]] = [_regard(rounds[-1], k) for k in peers]
    averages = {name: sum(values) / len(values) for name, values in columns.items()}
    return [
        Profile(
            name=one.name,
            axes=[
                Axis(name=name, value=values[at], average=averages[name])
                for name, values in columns.items()
            ],
        )
        for at, one in enumerate(participants)
    ]


def radar(profile: Profile) -> Radar:
    """The drawing of one profile; the first axis points up, the others follow clockwise."""
    count = len(profile.axes)
    ends = [_point(at, count, 1.0) for at in range(count)]
    return Radar(
        name=profile.name,
        outline=_polygon([axis.value for axis in profile.axes]),
        average=_polygon([axis.average for axis in profile.axes]),
        rings=[_polygon([share] * count) for share in (0.25, 0.5, 0.75, 1.0)],
        spokes=[(_CENTRE_X, _CENTRE_Y, round(x, 1), round(y, 1)) for x, y in ends],
        labels=[_label(axis, at, count) for at, axis in enumerate(profile.axes)],
    )


def _regard(last: RoundRecord, of: int) -> float:
    """Mean reputation of one participant among those who have one; 0 where nobody has."""
    known = [row[of] for row in last.reputation]
    values = [value for value in known if value is not None]
    return sum(values) / len(values) if values else 0.0


def _label(axis: Axis, at: int, count: int) -> Label:
    x, y = _point(at, count, 1 + _LABEL_GAP / _RADIUS)
    side = x - _CENTRE_X
    anchor = "middle" if abs(side) < 1 else "start" if side > 0 else "end"
    # Two lines of text: above the drawing they grow upwards, below it downwards.
    lift = -14 if y < _CENTRE_Y - _RADIUS else 4 if y > _CENTRE_Y else 0
    return Label(axis=axis, x=round(x, 1), y=round(y + lift, 1), anchor=anchor)


def _point(at: int, count: int, share: float) -> tuple[float, float]:
    angle = 2 * math.pi * at / count - math.pi / 2
    reach = _RADIUS * min(max(share, 0.0), 2.0)
    return _CENTRE_X + reach * math.cos(angle), _CENTRE_Y + reach * math.sin(angle)


def _polygon(shares: Sequence[float]) -> str:
    points = (_point(at, len(shares), share) for at, share in enumerate(shares))
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
