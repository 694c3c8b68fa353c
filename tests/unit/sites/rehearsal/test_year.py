"""Days of a few hospitals on a simulated clock."""

import pytest

from securefair.sites.rehearsal.rehearsal import (
    hospitals,
    make_places,
    project_between,
    reputation_kind,
)
from securefair.sites.rehearsal.year import DAY, ROUND_DAYS, Clock, Year

NOW = 1_800_000_000


@pytest.fixture
def year(tmp_path):
    data = hospitals(3)
    project, identities = project_between(
        data,
        reputation_kind(),
        3,
        "clear",
        now=NOW,
        days=365,
        round_seconds=ROUND_DAYS * DAY,
    )
    make_places(tmp_path, data, project, identities, "local")
    year = Year(tmp_path, project, Clock(NOW))
    yield year
    year.close()


@pytest.mark.slow  # whole rounds of three sites
def test_no_outage_costs_a_round_and_a_site_that_leaves_stops_nobody(year):
    year.night()
    for _ in range(30):  # all are down for ten deadlines, in the middle of a round
        year.night(down=year.names)
    for name in year.names:
        year.upgrade(name)
        year.night()
    year.replace_machine(year.names[0])
    year.leave(year.names[-1])
    for _ in range(12):
        year.night()
    assert year.finished() == 3
    assert year.spent_twice() == 0
    assert year.outages == 3
    assert ["site leave" in action for action in year.actions] == [False] * 4 + [True]


@pytest.mark.slow
def test_a_day_of_a_wrong_clock_mutes_nobody(year):
    wrong = year.names[0]
    year.ahead[wrong] = DAY
    year.night()
    year.stop(wrong)
    year.ahead.clear()
    for _ in range(12):
        year.night()
    assert year.finished() == 3
