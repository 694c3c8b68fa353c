"""The first page says what the records say, and no more than they carry."""

import pytest
from msgspec import structs

from securefair.records import MetricResult, Reliability, ThresholdResult
from securefair.report.clinician import first_page
from securefair.words import languages, words_of
from securefair.worth.interval import wilson
from support.verdicts import with_verdicts

NOUNS = words_of().about("hospitals")


def metric(values, error=0.01):
    return MetricResult(
        mean=sum(values.values()) / len(values),
        se=error,
        by_hospital=values,
        se_by_hospital=dict.fromkeys(values, error),
        interval_by_hospital=dict.fromkeys(values, (0.676, 1.0)),
    )


def cell(page, at, heading):
    """Of one row, under a heading."""
    place = [one.text for one in page.headings].index(NOUNS(heading))
    return page.rows[at].cells[place - 1]


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
    assert [row.cells[-1] for row in page.rows] == [NOUNS(f"helped.{one}") for one in told]
    assert cell(page, 0, "table.sensitivity") == "80\u00a0% (68\u2013100)"


def test_the_confusion_matrix_counts_a_hundred_of_each_class(result):
    page = first_page(result, NOUNS, "ill")
    assert [row.cells for row in page.recognised] == [("80", "20"), ("20", "80")]
    assert [row.samples for row in page.recognised] == [
        40 // len(result.seeds),
        20 // len(result.seeds),
    ]


def test_the_plot_has_the_place_of_what_came_true(result):
    (picture,) = first_page(result, NOUNS, "ill").pictures
    ((dot,),) = [one.dots for one in picture.series]
    assert (dot.x, dot.y) == (pytest.approx(20), pytest.approx(75))
    low, high = wilson(0.25, 16 // len(result.seeds))
    assert dot.low == pytest.approx(100 * (1 - low), abs=0.01)
    assert dot.high == pytest.approx(100 * (1 - high), abs=0.01)
    assert "predicted 20\u00a0%, seen 25\u00a0%" in dot.label
    assert [mark.text for mark in picture.x_marks] == [
        f"{share}\u00a0%" for share in (0, 25, 50, 75, 100)
    ]


def test_it_says_that_few_tested_are_told_so_by_chance_more_often(result):
    few = NOUNS("ward.cannot_few", number="30")
    for number, said in ((29, True), (30, False)):
        people = [structs.replace(one, test_samples=number) for one in result.participants]
        page = first_page(structs.replace(result, participants=people), NOUNS, "ill")
        assert (few in page.cannot) == said


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
    assert f"Which class is a patient of: {no} or {yes}?" in page.asked[0]


def test_another_threshold_is_told_of_two_classes(result):
    figure = structs.replace(
        result.algorithms[result.algorithm],
        thresholds=[
            ThresholdResult(threshold=0.2, said=0.6, sensitivity=0.9, specificity=0.5, right=None)
        ],
    )
    found = structs.replace(result, algorithms=result.algorithms | {result.algorithm: figure})
    (row,) = first_page(found, NOUNS, "ill").thresholds
    assert [one.replace("\u00a0", " ") for one in row] == ["20 %", "90 %", "50 %", ""]


def test_how_common_the_second_class_is_stands_first(result):
    names = [one.name for one in result.participants]
    counts = dict(zip(names, ([6, 4], [9, 1], [5, 5], [8, 2]), strict=True))
    page = first_page(structs.replace(result, class_counts=counts), NOUNS, "ill")
    shares = [cell(page, at, "table.common") for at in range(4)]
    assert shares == [f"{share}\u00a0%" for share in (40, 10, 50, 20)]
    said = page.asked[-1].replace("\u00a0", " ")
    assert said == (
        f"Yes is found in 30 % of all patients, from 10 % at {names[1]} to 50 % at {names[2]}."
    )


def test_several_classes_are_asked_for_by_name_and_each_has_its_share(result):
    names = [one.name for one in result.participants]
    figure = result.algorithms[result.algorithm]
    confusion = {name: [[3, 1, 0], [1, 2, 1], [0, 1, 3]] for name in names}
    several = structs.replace(
        result,
        algorithms=result.algorithms
        | {result.algorithm: structs.replace(figure, confusion=confusion)},
        classes=["mild", "moderate", "severe"],
        outcome="several_classes",
        class_counts={name: [6, 3, 1] for name in names},
    )
    page = first_page(several, NOUNS, "stage")
    assert page.asked[0].startswith(
        "What does “stage” say of a patient: “mild”, “moderate” or “severe”?"
    )
    said = page.asked[-1].replace("\u00a0", " ")
    assert "“mild” 60 %, “moderate” 30 % and “severe” 10 %" in said


@pytest.mark.parametrize("language", languages())
def test_the_page_can_be_had_in_every_language(result, language):
    words = words_of(language).about("hospitals")
    page = first_page(result, words, "ill")
    english = first_page(result, NOUNS, "ill")
    assert len(page.glossary) == len(english.glossary)
    assert all(meaning for _, meaning in page.glossary)
    assert (page.cannot == english.cannot) == (language == "en")


def test_runs_without_predictions_have_no_such_page(make_run):
    found = make_run().result
    figure = structs.replace(found.algorithms[found.algorithm], metrics={}, confusion={})
    bare = structs.replace(found, algorithms=found.algorithms | {found.algorithm: figure})
    assert first_page(bare, NOUNS, None) is None


@pytest.fixture
def of_a_number(result):
    """At the first and the third answers are as close as alone, and ranges are wider."""
    names = [one.name for one in result.participants]
    figure = result.algorithms[result.algorithm]

    def scored(errors, r2, coverage):
        return {
            "mean_absolute_error": metric(dict(zip(names, errors, strict=True))),
            "r2": metric(dict(zip(names, r2, strict=True))),
            "coverage": metric(dict.fromkeys(names, coverage)),
        }

    here = scored((349.0, 5.0, 349.0, 5.0), (0.929, 0.5, 0.929, 0.5), 1.0)
    alone = scored((355.0, 5.0, 355.0, 4.0), (0.9295, 0.5, 0.9295, 0.5), 0.95)
    verdict = figure.verdict
    told = dict(zip(names, ("worse", "unclear", "better", "worse"), strict=True))
    hospitals = {
        name: structs.replace(one, told=told[name]) for name, one in verdict.hospitals.items()
    }
    found = structs.replace(
        figure,
        metrics=here,
        confusion={},
        verdict=structs.replace(verdict, hospitals=hospitals, control="standalone"),
    )
    before = structs.replace(result.algorithms["standalone"], metrics=alone)
    algorithms = {"standalone": before, result.algorithm: found}
    return structs.replace(
        result, algorithms=result.algorithms | algorithms, outcome="number", classes=[]
    )


@pytest.mark.parametrize("language", languages())
def test_a_worse_range_beside_an_answer_as_good_is_called_that(of_a_number, language):
    """ "Made it worse" stood beside a smaller error, and nothing said what was worse."""
    words = words_of(language).about("hospitals")
    page = first_page(of_a_number, words, "cost")
    told = ("worse_range", "unclear", "better", "worse")
    assert [row.cells[-1] for row in page.rows] == [words(f"helped.{one}") for one in told]
    assert words("ward.number.worse_range") in page.note
