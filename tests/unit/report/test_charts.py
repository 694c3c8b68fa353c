"""Figures stay inside their frames and do not distort."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.report import charts

FRACTIONS = st.floats(0, 1)


@given(accuracy=FRACTIONS, spread=FRACTIONS)
def test_an_accuracy_bar_starts_at_zero_and_stays_inside(accuracy, spread):
    bar = charts.accuracy_bar(accuracy, spread)
    assert (bar.x, bar.width) == (0.0, accuracy * 100)
    if bar.whisker is not None:
        low, high = bar.whisker
        assert 0 <= low <= bar.width <= high <= 100


def test_without_a_spread_there_is_no_whisker():
    assert charts.accuracy_bar(0.5).whisker is None


@given(gains=st.lists(st.floats(-1, 1), min_size=1, max_size=6))
def test_gain_bars_share_one_scale_and_meet_in_the_middle(gains):
    scale = charts.gain_scale(gains)
    for gain in gains:
        bar = charts.gain_bar(gain, scale)
        assert bar.x >= 0
        assert bar.x + bar.width <= 100 + 1e-9
        assert bar.width == pytest.approx(abs(gain) / scale * 50)
        middle = bar.x if gain >= 0 else bar.x + bar.width
        assert middle == pytest.approx(50)


@pytest.mark.parametrize(
    ("gains", "scale"), [([], 0.01), ([0.0], 0.01), ([-0.03, 0.01], 0.05), ([0.4], 0.5)]
)
def test_the_gain_scale_is_a_round_number(gains, scale):
    assert charts.gain_scale(gains) == scale


def test_panels_draw_every_participant_on_the_same_axes(run):
    names = [one.name for one in run.result.participants]
    panels = charts.panels(run.rounds, ["standalone", "cycle", "absent"], names)
    assert [panel.name for panel in panels] == names
    assert len({(panel.low, panel.high) for panel in panels}) == 1
    for at, panel in enumerate(panels):
        assert [curve.algorithm for curve in panel.curves] == ["standalone", "cycle"]
        records = [record for record in run.rounds if record.algorithm == "cycle"]
        points = [tuple(map(float, p.split(","))) for p in panel.curves[1].points.split()]
        assert [x for x, _ in points] == pytest.approx([i / 39 * 100 for i in range(40)], abs=0.01)
        drawn = [panel.high - y / 100 * (panel.high - panel.low) for _, y in points]
        assert drawn == pytest.approx([r.accuracy[at] for r in records], abs=1e-3)
        assert panel.curves[1].last == records[-1].accuracy[at]


def test_a_control_of_one_round_draws_no_line_and_has_no_place_in_the_legend(run):
    rounds = [one for one in run.rounds if one.algorithm == "cycle" or one.round == 0]
    (panel, *_) = charts.panels(rounds, ["standalone", "cycle"], ["a"])
    assert [curve.algorithm for curve in panel.curves] == ["cycle"]


def test_without_rounds_there_is_no_panel():
    assert charts.panels([], ["cycle"], ["a"]) == []


def test_a_very_short_run_can_be_drawn(make_run):
    (panel, *_) = charts.panels(make_run(rounds=2).rounds, ["cycle"], ["a"])
    assert len(panel.curves[0].points.split()) == 2


def test_a_single_round_draws_no_empty_panel(make_run):
    assert charts.panels(make_run(rounds=1).rounds, ["cycle"], ["a"]) == []


@pytest.mark.parametrize(
    ("reputation", "style"),
    [
        (None, "none"),
        (0.0, "s0"),
        (0.049, "s0"),
        (0.05, "s1"),
        (0.25, "s3"),  # as JavaScript's Math.round
        (1.0, "s10"),
        (1.2, "s10"),
        (-0.1, "s0"),
    ],
)
def test_shades_follow_reputation(reputation, style):
    assert charts.shade(reputation) == style
