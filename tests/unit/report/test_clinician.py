"""The first page says what the records say, and no more than they carry."""

import pytest
from msgspec import structs

from securefair.collaboration.verdict import headline, with_verdicts
from securefair.records import MetricResult, Reliability
from securefair.report.clinician import HELPED, first_page
from securefair.report.wording import nouns
from securefair.words import words_of
from securefair.worth.interval import wilson

NOUNS = nouns("files")


def metric(values, error=0.01):
    return MetricResult(
        mean=sum(values.values()) / len(values),
        se=error,
        by_hospital=values,
        se_by_hospital=dict.fromkeys(values, error),
        interval_by_hospital=dict.fromkeys(values, (0.676, 1.0)),
    )


@pytest.fixture
def result(make_run):
    found = make_run().result
    names = [one.name for one in found.participants]
    scores = ("accuracy", "sensitivity", "specificity")
    figure = structs.replace(
        found.algorithms[found.algorithm],
        metrics={score: metric(dict.fromkeys(names, 0.8)) for score in scores},
        gain_over_best_control={
            found.metric: metric(dict(zip(names, (0.5, 0.015, -0.5, 0.0), strict=True)))
        },
        best_control="standalone",
        confusion={name: [[8, 2], [1, 4]] for name in names},
        reliability=[Reliability(predicted=0.2, observed=0.25, samples=16)],
        nearly_constant=[names[2]],
    )
    return with_verdicts(
        structs.replace(
            found, algorithms=found.algorithms | {found.algorithm: figure}, classes=["no", "yes"]
        )
    )


def test_only_what_is_more_than_chance_is_called_help(result):
    page = first_page(result, NOUNS, "ill")
    told = ("better", "unclear", "worse", "unclear")
    assert [row.helped for row in page.rows] == [HELPED[one] for one in told]
    assert page.helped == headline(result, words_of())
    assert page.rows[0].sensitivity == "80\u00a0% (68\u2013100)"


def test_the_confusion_matrix_counts_a_hundred_of_each_class(result):
    page = first_page(result, NOUNS, "ill")
    assert [row.cells for row in page.recognised] == [("80", "20"), ("20", "80")]
    assert [row.samples for row in page.recognised] == [
        40 // len(result.seeds),
        20 // len(result.seeds),
    ]


def test_the_plot_has_the_place_of_what_came_true(result):
    (dot,) = first_page(result, NOUNS, "ill").dots
    assert (dot.x, dot.y) == (pytest.approx(20), pytest.approx(75))
    low, high = wilson(0.25, 16 // len(result.seeds))
    assert (dot.low, dot.high) == (pytest.approx(100 * (1 - low)), pytest.approx(100 * (1 - high)))
    assert "came true for 25 %" in dot.label


def test_what_it_cannot_say_names_models_of_one_class(result):
    page = first_page(result, NOUNS, None)
    assert any(
        result.participants[2].name in one and "only its probabilities" in one
        for one in page.cannot
    )
    no, yes = (
        f"\N{LEFT DOUBLE QUOTATION MARK}{one}\N{RIGHT DOUBLE QUOTATION MARK}"
        for one in ("no", "yes")
    )
    assert f"which class a patient is of: {no} and {yes}." in page.asked[0]


def test_runs_without_predictions_have_no_such_page(make_run):
    found = make_run().result
    figure = structs.replace(found.algorithms[found.algorithm], metrics={}, confusion={})
    bare = structs.replace(found, algorithms=found.algorithms | {found.algorithm: figure})
    assert first_page(bare, NOUNS, None) is None
