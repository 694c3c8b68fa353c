"""Years of a few small hospitals on a simulated clock.

For tests of who says what when. Messages are as many as between hospitals of real size, and of the
same kinds; with some dozen patients of four features they are small, and so are fits.
"""

from securefair.sites.rehearsal.days import Year
from securefair.sites.rehearsal.nights import DAY, Clock
from securefair.sites.rehearsal.rehearsal import make_places, project_between
from support.populations import overlapping

NOW = 1_800_000_000
NAMES = ("coast", "east", "hill", "lake", "north", "south")
"""In the order that a project has them in."""


FEW, MANY = 24, 63
"""Patients that train. Of many, as many may be renewed as have to be at once."""


def small_hospitals(count, first=FEW):
    """In place of `hospitals`; the first may have more patients than the others."""
    trains = [first] + [FEW] * (count - 1)
    return [overlapping(NAMES[at], at, train=train) for at, train in enumerate(trains)]


def small_year(
    place, data, algorithm, rounds, backend="clear", *, round_days, now=NOW, days=365, **wishes
):
    """A project between these hospitals, whose sites are ready to start; `wishes` are of it."""
    project, identities = project_between(
        data,
        algorithm,
        rounds,
        backend,
        now=now,
        days=days,
        round_seconds=round_days * DAY,
        **wishes,
    )
    make_places(place, data, project, identities, "local")
    return Year(place, project, Clock(now))
