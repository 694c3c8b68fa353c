"""Profiles hold the shares that the records give, and the drawing keeps inside its box."""

import math

import msgspec
import pytest

from securefair.report import radar

NAMES = ("Received", "Given", "Opinion")


@pytest.fixture
def cycle(run):
    return [record for record in run.rounds if record.algorithm == "cycle"]


def profiles_of(run, rounds, *, reputations=True):
    return radar.profiles(run.result.participants, rounds, reputations=reputations, names=NAMES)


def values(profile):
    return {axis.name: axis.value for axis in profile.axes}


def test_shares_are_those_of_the_records(run, cycle):
    profiles = profiles_of(run, cycle)
    assert [one.name for one in profiles] == [own.name for own in run.result.participants]
    first, own = values(profiles[0]), run.result.participants[0]
    assert list(first) == ["Accuracy", "Alone", "Received", "Given", "Opinion"]
    assert first["Accuracy"] == own.accuracy
    assert first["Alone"] == own.standalone_accuracy
    possible = len(cycle) * 3
    assert first["Received"] == pytest.approx(
        sum(record.answered[0][k] for record in cycle for k in (1, 2, 3)) / possible
    )
    assert first["Given"] == pytest.approx(
        sum(record.answered[n][0] for record in cycle for n in (1, 2, 3)) / possible
    )
    regard = [cycle[-1].reputation[n][0] for n in (1, 2, 3)]
    assert first["Opinion"] == pytest.approx(sum(regard) / 3)


def test_what_is_given_is_received(run, cycle):
    profiles = profiles_of(run, cycle)
    assert sum(values(one)["Received"] for one in profiles) == pytest.approx(
        sum(values(one)["Given"] for one in profiles)
    )
    for profile in profiles:
        for axis, other in zip(profile.axes, profiles[0].axes, strict=True):
            assert axis.average == other.average


def test_without_reputations_there_is_no_axis_for_them(run, cycle):
    assert "Opinion" not in values(profiles_of(run, cycle, reputations=False)[0])


def test_nobody_with_an_reputation_counts_as_none(run, cycle):
    blank = [[None] * 4 for _ in range(4)]
    last = msgspec.structs.replace(cycle[-1], reputation=blank)
    assert values(profiles_of(run, [*cycle[:-1], last])[0])["Opinion"] == 0.0


def test_without_rounds_or_partners_there_is_nothing_to_draw(run, cycle):
    assert profiles_of(run, []) == []
    alone = radar.profiles(run.result.participants[:1], cycle, reputations=True, names=NAMES)
    assert alone == []


def profile(*shares):
    return radar.Profile(
        name="A", axes=[radar.Axis(name=f"axis {s}", value=s, average=0.5) for s in shares]
    )


def points(polygon):
    return [tuple(map(float, pair.split(","))) for pair in polygon.split()]


def test_everything_stays_inside_the_drawing():
    drawing = radar.radar(profile(1.0, 1.0, 1.0, 1.0, 1.0))
    for x, y in [*points(drawing.outline), *points(drawing.rings[-1])]:
        assert 0 < x < radar.WIDTH
        assert 0 < y < radar.HEIGHT
    for label in drawing.labels:  # with the second line of text below the first
        assert 8 < label.y < radar.HEIGHT - 13
    assert drawing.outline == drawing.rings[-1]


def test_further_out_is_more():
    drawing = radar.radar(profile(0.0, 0.25, 1.0))
    middle = points(radar.radar(profile(0.0, 0.0, 0.0)).outline)[0]
    reach = [math.dist(point, middle) for point in points(drawing.outline)]
    assert reach[0] == 0
    assert reach[1] == pytest.approx(reach[2] / 4, abs=0.1)


def test_labels_lean_away_from_the_middle():
    anchors = [label.anchor for label in radar.radar(profile(0.5, 0.5, 0.5, 0.5, 0.5)).labels]
    assert anchors == ["middle", "start", "start", "end", "end"]
