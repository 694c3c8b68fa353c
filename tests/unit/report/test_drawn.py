"""Pictures have every number where it belongs, and words of every language."""

import numpy as np
import pytest
from msgspec import structs

from securefair.data.dataset import Samples
from securefair.model.outcomes import outcome_named
from securefair.model.outcomes.pictures import Shown
from securefair.model.outcomes.register import REGISTERED
from securefair.records import MetricResult, Picture, PictureSeries
from securefair.report.clinician import first_page
from securefair.report.drawn import drawn, plain
from securefair.words import languages, words_of

WORDS = words_of().about("hospitals")


def picture(*series, **more):
    return Picture(
        name="survival", x_ticks=[0.0, 10.0], y_ticks=[0.0, 0.5, 1.0], series=[*series], **more
    )


def test_curves_and_steps_and_counts_stand_at_their_places():
    steps = PictureSeries(
        name="seen_low", form="steps", x=[0.0, 5.0], y=[1.0, 0.5], patients=[20, 3]
    )
    line = PictureSeries(name="predicted_low", form="line", x=[0.0, 10.0], y=[1.0, 0.0])
    (found,) = drawn([picture(steps, line, y_shares=True)], WORDS, label="months")
    seen, said = found.series
    assert seen.points == "0.00,0.00 50.00,0.00 50.00,50.00"
    assert said.points == "0.00,0.00 100.00,100.00"
    assert seen.style == said.style  # one colour a group
    assert [(mark.x, mark.text, mark.anchor) for mark in seen.counts] == [
        (0, "20", "start"),
        (100, "3", "end"),
    ]
    assert found.y_labels == ["100\u00a0%", "50\u00a0%", "0\u00a0%"]
    assert "months" in found.across
    assert "low risk, seen: 0: 100\u00a0%" in found.said


def test_a_dot_says_what_it_is_of_and_bars_stay_inside():
    dots = PictureSeries(
        name="parts", form="dots", x=[2.0], y=[0.75], low=[0.5], high=[1.0], patients=[12]
    )
    (found,) = drawn([picture(dots, alike=True)], WORDS, label="x")
    ((dot,),) = [one.dots for one in found.series]
    assert (dot.x, dot.y, dot.low, dot.high) == (20, 25, 50, 0)
    assert dot.label == "predicted 2, seen 0.75 (12 patients)"
    assert found.line == (0, 100, 10, 0)  # both axes have 0 to 1 in common
    bars = PictureSeries(name="share", form="bars", x=[0.0, 5.0, 10.0], y=[0.5, 1.0, 0.0])
    (found,) = drawn([structs.replace(picture(bars), name="counts")], WORDS, label="x")
    ((first, *_, last),) = [one.bars for one in found.series]
    assert first[0] == 0
    assert last[0] + last[2] == pytest.approx(100, abs=0.02)
    assert first[3] == 50


def pictures_of(name):
    outcome, rng = outcome_named(name), np.random.default_rng(0)
    predictors = rng.normal(0, 0.8, (90, outcome.outputs(3)))
    known = outcome.drawn(predictors, rng)
    samples = Samples(
        predictors,
        known.labels,
        known.classes,
        outcome="" if known.values is None else name,
        values=known.values,
    )
    own = outcome.own_part(predictors, samples)
    return outcome.pictures([Shown(outcome.said(predictors, own), own, samples)])


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("name", REGISTERED)
def test_every_picture_of_every_outcome_has_its_words(name, language):
    outcome, words = outcome_named(name), words_of(language).about("hospitals")
    found = pictures_of(name)
    assert bool(found) != outcome.tells_classes
    for one in drawn(found, words, label="L", plotted=""):
        assert one.title
        assert one.note
        assert one.across
        assert one.up
        assert one.said or any(dot.label for each in one.series for dot in each.dots)
    for score in outcome.scores:
        assert f"scores.{score}" in words.templates
        assert f"titles.{score}" in words.templates
    for score in outcome.on_ward or (outcome.headline,):
        assert f"table.{score}" in words.templates
    if outcome.effect:
        assert f"ward.effects.{outcome.effect}.head" in words.templates


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("name", ["time", "number", "count"])
def test_the_ward_reads_of_an_outcome_in_plain_words(make_run, name, language):
    outcome, words = outcome_named(name), words_of(language).about("hospitals")
    found = make_run().result
    names = [one.name for one in found.participants]

    def metric(value, error=0.05):
        return MetricResult(
            mean=value,
            se=error,
            by_hospital=dict.fromkeys(names, value),
            se_by_hospital=dict.fromkeys(names, error),
        )

    figure = structs.replace(
        found.algorithms[found.algorithm],
        metrics={score: metric(0.5) for score in outcome.scores},
        pictures=pictures_of(name),
        confusion={},
    )
    result = structs.replace(
        found,
        algorithms=found.algorithms | {found.algorithm: figure},
        outcome=name,
        metric=outcome.metric,
        class_counts={one: [3, 7] for one in names},
        classes=list(outcome.strata),
    )
    page = first_page(result, words, "months")
    assert words("ward.quoted", name="months") in page.asked[0]
    assert words(f"ward.{name}.cannot", label=words("ward.quoted", name="months")) in page.cannot
    assert page.note
    assert not page.recognised
    assert not page.thresholds
    assert 1 <= len(page.pictures) < len(figure.pictures)  # residuals stand behind
    assert [
        first_page(structs.replace(result, seeds=seeds), words, "months").of_first
        for seeds in ([0], [0, 1])
    ] == [False, True]
    share = next(score for score in outcome.on_ward if score in outcome.as_shares)
    place = [one.text for one in page.headings].index(words(f"table.{share}"))
    assert page.rows[0].cells[place - 1] == "50\u00a0% (40\u201360)"
    terms = " ".join(term for term, _ in page.glossary)
    assert "AUC" not in terms
    said = " ".join([*page.asked, page.note, *page.cannot]).casefold()
    assert "accuracy" not in said


@pytest.mark.parametrize(
    ("value", "digits", "said"),
    [
        (2957.3, 3, "2 960"),
        (6e8, 6, "600 000 000"),
        (1e7, 6, "10 000 000"),
        (-12.5, 6, "\u221212,5"),
    ],
)
def test_large_numbers_have_their_zeros(value, digits, said):
    assert plain(value, words_of("fr"), digits).replace("\u202f", " ") == said
