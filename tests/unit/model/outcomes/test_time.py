import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from securefair.data.dataset import Samples
from securefair.errors import ConfigError
from securefair.model.outcomes.columns import Columns
from securefair.model.outcomes.interface import Frame
from securefair.model.outcomes.pictures import Shown
from securefair.model.outcomes.survival import kaplan_meier, survival
from securefair.model.outcomes.time import OUTCOME, usual_horizons
from securefair.model.transfer.penalised import fit

LUNG = json.loads((Path(__file__).parents[3] / "vectors/survival.json").read_text("utf-8"))


def of(times, events, features=None):
    values = np.column_stack([times, events]).astype(float)
    x = np.zeros((len(values), 0)) if features is None else features
    return Samples(x, values[:, 1].astype(np.int64), 2, outcome="time", values=values)


@pytest.fixture(scope="module")
def lung():
    rows = np.array(LUNG["rows"])
    return of(rows[:, 0], rows[:, 1], rows[:, 2:])


def test_the_fit_is_that_of_another_library(lung):
    """lifelines, on patients of whom many died on the same day."""
    columns = Columns(lung.features, np.empty((len(lung), 1, 0)))
    known, ones = OUTCOME.likelihood(lung), np.ones((1, len(lung)))
    theta = fit(columns, known, np.zeros((1, len(lung), 1)), np.full((1, 3), 1e-9), ones)
    np.testing.assert_allclose(theta[0], LUNG["coefficients"], rtol=1e-5)
    predictors = columns.logits(theta)
    assert known.total(predictors, ones)[0] == pytest.approx(-LUNG["log_likelihood"], rel=1e-8)
    scores = OUTCOME.point_scores(predictors[0], lung)
    assert scores["concordance"] == pytest.approx(LUNG["concordance"], abs=1e-9)
    said = survival(
        predictors[0][:3], OUTCOME.own_part(predictors[0], lung), np.array(LUNG["horizons"])
    )
    np.testing.assert_allclose(said, LUNG["survival"], rtol=1e-4)


def test_ties_are_efrons_by_hand():
    # Two of three die at 1: e^f / 3 and then e^f / (3 - 2/2), with all predictors 0.
    known = OUTCOME.likelihood(of([1, 1, 2], [1, 1, 0]))
    assert known.total(np.zeros((1, 3, 1)), np.ones((1, 3)))[0] == pytest.approx(np.log(3 * 2))


def test_a_constant_added_to_all_predictors_changes_nothing(lung):
    known, ones = OUTCOME.likelihood(lung), np.ones((2, len(lung)))
    f = np.random.default_rng(0).normal(size=(1, len(lung), 1))
    first, moved = known.total(np.concatenate([f, f + 300]), ones)
    assert moved == pytest.approx(first, rel=1e-9)


def test_without_an_event_everything_is_finite():
    nobody = of([1, 2, 3], [0, 0, 0])
    assert OUTCOME.losses(np.ones((3, 1)), nobody).tolist() == [0]
    assert OUTCOME.point_scores(np.ones((3, 1)), nobody) == {
        "concordance": None,
        "integrated_brier": None,
        "partial_log_likelihood": None,
    }
    own = OUTCOME.own_part(np.ones((3, 1)), nobody)
    assert survival(np.ones((2, 1)), own, np.array([5.0])).tolist() == [[1], [1]]


def test_survival_starts_at_one_and_never_rises(lung):
    f = lung.features @ np.array([[0.2], [-0.5], [0.4]])
    horizons = np.linspace(0, 1200, 50)
    said = survival(f[:5], OUTCOME.own_part(f, lung), horizons)
    assert (said[:, 0] == 1).all()
    assert all((later <= earlier).all() for earlier, later in pairwise(said.T))


def test_the_brier_score_is_a_mean_square_where_nobody_is_censored():
    rng = np.random.default_rng(0)
    predictors, times = rng.normal(size=(40, 1)), rng.exponential(size=40)
    known = of(times, np.ones(40))
    said = OUTCOME.said(predictors, OUTCOME.own_part(predictors, known))
    number = (said.shape[1] - 1) // 2
    alive = times[:, None] > said[:, 1 + number :]
    expected = np.mean((alive - said[:, 1 : 1 + number]) ** 2)
    assert OUTCOME.point_scores(said, known)["integrated_brier"] == pytest.approx(expected)


def test_the_brier_score_makes_up_for_who_is_censored():
    """By hand: of four one is censored at 1, so the three others count 4/3 each from there on."""
    known = of([1, 2, 3, 4], [0, 1, 1, 1])
    said = np.column_stack([np.zeros(4), np.full((4, 9), 0.5), np.full((4, 9), 2.5)])
    found = OUTCOME.point_scores(said, known)["integrated_brier"]
    assert found == pytest.approx(0.25 * 3 * (4 / 3) / 4)


def brier_by_loops(said, known):
    """Graf et al. (1999), patient by patient: what is censored before a horizon is made up for by
    the share that is not censored just before an event, or until the horizon."""
    times, events = known.values.T
    number = (said.shape[1] - 1) // 2

    def kept(time, *, before):
        share = 1.0
        for one in sorted(set(times[events == 0].tolist())):
            if one < time or (one == time and not before):
                lost = sum(1 for t, e in zip(times, events, strict=True) if t == one and not e)
                # Who has an event at a time has it before others are censored then.
                left = sum(
                    1 for t, e in zip(times, events, strict=True) if t > one or (t == one and not e)
                )
                share *= 1 - lost / left
        return share

    total = 0.0
    for patient, (time, event) in enumerate(zip(times, events, strict=True)):
        for at in range(number):
            surviving, horizon = said[patient, 1 + at], said[patient, 1 + number + at]
            if time <= horizon and event:
                total += surviving**2 / kept(time, before=True)
            elif time > horizon:
                total += (1 - surviving) ** 2 / kept(horizon, before=False)
    return total / number / len(times)


def test_the_brier_score_is_that_of_the_published_formula(lung):
    """Of patients of whom many have equal times, events and not."""
    some = lung.take(np.arange(0, len(lung), 4))
    predictors = some.features @ np.array([[0.2], [-0.5], [0.4]])
    said = OUTCOME.said(predictors, OUTCOME.own_part(predictors, some))
    found = OUTCOME.point_scores(said, some)["integrated_brier"]
    assert found == pytest.approx(brier_by_loops(said, some), rel=1e-12)


def test_the_brier_score_is_that_of_another_library(lung):
    """scikit-survival's, of which figures are kept, for its licence is no library's here."""
    times = lung.values[:, 0] + np.arange(len(lung)) / 1000
    apart = of(times, lung.values[:, 1], lung.features)
    predictors = lung.features @ np.array(LUNG["coefficients"])[:, None]
    said = OUTCOME.said(predictors, OUTCOME.own_part(predictors, apart))
    np.testing.assert_allclose(said[0, 10:], LUNG["brier"]["horizons"])
    expected = np.mean(LUNG["brier"]["scores"])
    assert OUTCOME.point_scores(said, apart)["integrated_brier"] == pytest.approx(expected)
    for at, score in enumerate(LUNG["brier"]["scores"]):
        one = np.column_stack([said[:, 0], *[said[:, 1 + at]] * 9, *[said[:, 10 + at]] * 9])
        found = OUTCOME.point_scores(one, apart)["integrated_brier"]
        assert found == pytest.approx(score, rel=1e-9)


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([[0, 1], [2, 1]], "above 0"),
        ([[1, 1], [2, 2]], "an event is 1"),
        ([[1, 0], [2, 0]], "nobody had"),
        ([[1, 1], [2, 0]], "one patient alone"),
    ],
)
def test_what_is_wrong_with_a_table_is_named(rows, problem):
    faults = [
        one.problem
        for one in OUTCOME.faults(np.array(rows, dtype=float))
        if one.wrong is None or one.wrong.any()
    ]
    assert problem in faults[0]


def test_a_horizon_that_nobody_was_followed_until_does_not_undo_the_others():
    """The last patient is censored: beyond, nothing is known, and before it all is as it was."""
    times, events = [1.0, 2.0, 3.0, 4.0, 5.0], [1, 1, 1, 1, 0]
    near, far = np.array([[1.5, 2.5, 3.5]]), np.array([[1.5, 2.5, 3.5, 9.0]])
    said = np.linspace(0.2, 0.8, 5)[:, None]

    def brier(horizons):
        whole = np.resize(horizons, (1, 9))
        rows = np.hstack([np.zeros((5, 1)), np.tile(said, (1, 9)), np.tile(whole, (5, 1))])
        return OUTCOME.point_scores(rows, of(times, events))["integrated_brier"]

    assert brier(near) is not None
    padded = np.array([[1.5, 2.5, 3.5] * 2 + [9.0] * 3])
    assert brier(padded) == pytest.approx(brier(near))
    assert brier(far) is not None
    assert brier(np.array([[9.0]])) is None


def test_kaplan_meier_by_hand():
    times, events = np.array([1.0, 2.0, 2.0, 3.0, 4.0]), np.array([1.0, 1.0, 0.0, 1.0, 0.0])
    share, low, high = kaplan_meier(times, events, np.array([0.5, 1.0, 2.5, 3.0]))
    np.testing.assert_allclose(share, [1, 4 / 5, 4 / 5 * 3 / 4, 4 / 5 * 3 / 4 / 2])
    assert (low[0], high[0]) == (1, 1)
    assert ((low <= share) & (share <= high)).all()
    assert ((low >= 0) & (high <= 1)).all()
    spread = np.sqrt(1 / (5 * 4))  # Greenwood's sum at 1, on the scale of log(-log S)
    reach = np.exp(1.959964 * spread / -np.log(0.8))
    assert (low[1], high[1]) == (pytest.approx(0.8**reach), pytest.approx(0.8 ** (1 / reach)))


def test_pictures_show_what_was_seen_beside_what_was_said():
    rng = np.random.default_rng(0)
    f = rng.normal(0, 0.9, (300, 1))
    known = OUTCOME.drawn(f, rng)
    samples = of(*known.values.T)
    halves = [np.arange(0, 300, 2), np.arange(1, 300, 2)]
    shown = []
    for rows in halves:  # two hospitals, each with a baseline of its own
        own = OUTCOME.own_part(f[rows], samples.take(rows))
        shown.append(Shown(OUTCOME.said(f[rows], own), own, samples.take(rows)))
    curves, until, hazards = OUTCOME.pictures(shown)
    assert [one.name for one in curves.series[::2]] == ["seen_low", "seen_middle", "seen_high"]
    assert [one.patients[0] for one in curves.series[::2]] == [100, 100, 100]
    low, high = (dict(zip(one.x, one.y, strict=True)) for one in curves.series[::4])
    both = sorted(set(low) & set(high))
    assert low[both[20]] > high[both[20]] + 0.2
    for seen, said in zip(curves.series[::2], curves.series[1::2], strict=True):
        assert said.form == "line"
        apart = np.abs(np.array(seen.y) - np.array(said.y)[: len(seen.y)])
        assert apart[:40].max() < 0.15, seen.name  # the truth was said
    (dots,) = until.series
    assert until.at["horizon"] == pytest.approx(np.median(samples.values[samples.labels == 1, 0]))
    inside = [low <= x <= high for low, x, high in zip(dots.low, dots.x, dots.high, strict=True)]
    assert sum(inside) >= 4  # of five intervals of 95 %
    (line,) = hazards.series
    assert np.abs(np.array(line.x) - np.array(line.y))[:20].max() < 0.1
    assert hazards.behind
    assert OUTCOME.pictures([Shown(f[:3], shown[0].own, samples.take(np.arange(3)))]) == []


def test_survival_is_told_until_the_longest_time_that_anybody_was_followed():
    said = np.zeros((2, 1))
    own = {"times": [1.0, 5.0], "hazard": [0.1, 0.3], "until": [8.0]}
    told = OUTCOME.told(said, Frame((), own, None, (8.0,)))
    np.testing.assert_allclose(told["survival_8"], np.exp(-0.3))
    with pytest.raises(ConfigError, match="so late a time"):
        OUTCOME.told(said, Frame((), own, None, (8.5,)))


def early():
    """Whole months, and many die early: of 40 events 10 come in the first, 11 in the fourth."""
    months = np.repeat([1, 4, 10, 20, 30, 40, 50, 60], [10, 11, 10, 3, 2, 2, 1, 1])
    return of(months, np.ones(len(months)))


def test_survival_is_told_until_quarters_of_events_and_not_of_their_times():
    known = early()
    own = OUTCOME.own_part(np.zeros((len(known), 1)), known)
    assert own["events"] == [10, 11, 10, 3, 2, 2, 1, 1]
    assert usual_horizons(own) == [1, 4, 10]
    assert list(OUTCOME.told(np.zeros((2, 1)), Frame((), own, None))) == [
        "log_hazard_ratio",
        "survival_1",
        "survival_4",
        "survival_10",
    ]


def test_without_events_nothing_is_told_until_a_time():
    own = OUTCOME.own_part(np.zeros((3, 1)), of([1, 2, 3], [0, 0, 0]))
    assert usual_horizons(own) == []
    assert list(OUTCOME.told(np.zeros((2, 1)), Frame((), own, None))) == ["log_hazard_ratio"]
