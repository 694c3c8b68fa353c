"""One page of scores for a kept model on another year, and for peers' models."""

import numpy as np
import pytest

from securefair.data import Samples
from securefair.data.rows import read_rows
from securefair.model.outcomes.register import outcome_named
from securefair.prediction.evaluation import ModelEvaluation
from securefair.prediction.predicted import read_specially
from securefair.report.score_pages import score_tables
from securefair.report.scored import evaluated_page, scored_page
from securefair.words import words_of
from securefair.worth.page import score_page

SHOWN = {
    "two_classes": ("roc", "came_true", "worth"),
    "time": ("survival", "survival_until", "hazards"),
    "number": ("calibration", "errors"),
    "count": ("calibration", "counts"),
}


def page_of(name, count=200):
    rng, outcome = np.random.default_rng(0), outcome_named(name)
    predictors = rng.normal(size=(count, 1))
    known = outcome.drawn(predictors, rng)
    samples = Samples(
        np.zeros((count, 1)),
        known.labels,
        known.classes,
        outcome="" if outcome.tells_classes else name,
        values=known.values,
    )
    own = outcome.own_part(predictors, samples)
    return score_page(outcome.said(predictors, own), samples, own=own, draws=20)


@pytest.mark.parametrize("name", SHOWN)
def test_every_outcome_has_the_pictures_that_it_needs(name):
    page = page_of(name)
    assert [one.name for one in page.pictures] == list(SHOWN[name])
    words = words_of().about("hospitals")
    text = scored_page({"north": page}, title="T", notes=["note"], words=words, label="ill")
    assert text.count('<figure class="picture">') == len(SHOWN[name])
    for one in SHOWN[name]:
        assert words(f"pictures.{one}.across", label="ill")[:12] in text
    assert "<script src" not in text


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_a_kept_model_has_the_same_page_in_every_language(language):
    found = ModelEvaluation(
        hospital="north",
        patients=200,
        classes=["0", "1"],
        scores={},
        accuracy_se=0.0,
        confusion=[],
        outside=3,
        warnings=("a warning",),
        page=page_of("two_classes"),
    )
    words = words_of(language).about("hospitals")
    text = evaluated_page(found, "year.csv", label="ill", words=words)
    assert "year.csv" in text
    assert "a warning" in text
    assert words("page_of_scores.outside", patients="3") in text
    assert text.count('<figure class="picture">') == 3
    assert "{" not in text.split("</style>")[1].split("<script")[0]


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
@pytest.mark.parametrize("language", ["de", "fr"])
def test_how_a_table_was_read_is_said_in_the_language(tmp_path, encoding, language):
    """It stood in English among French notes; what has no translation is marked as English."""
    path = tmp_path / "year.csv"
    path.write_bytes("Âge,Durée\n40,5\n50,6\n".encode(encoding))
    recorded = read_specially(read_rows(path))
    text = scored_page(
        {},
        title="T",
        notes=[],
        words=words_of(language).about("hospitals"),
        recorded=(*recorded, "another warning"),
    )
    (translated,) = map(words_of(language).translation, recorded)
    assert translated not in recorded
    assert translated in text
    assert recorded[0] not in text
    assert "another warning" in text.partition('<ul lang="en-GB">')[2]


def test_of_too_few_patients_only_notes_are_left():
    found = ModelEvaluation(
        hospital="north",
        patients=4,
        classes=[],
        scores={},
        accuracy_se=0.0,
        confusion=[],
        warnings=("no standard errors",),
    )
    text = evaluated_page(found, "few.csv")
    assert "no standard errors" in text
    assert "<figure" not in text


@pytest.mark.parametrize(
    ("name", "told", "untold"),
    [
        ("time", ("nine times", "slope below 1"), ("Moved", "intercept")),
        ("number", ("right on average", "intercept below 0"), ("prevalence", "nine times")),
        ("two_classes", ("prevalence", "intercept below 0"), ("nine times",)),
    ],
)
def test_the_foot_tells_of_what_the_table_shows(name, told, untold):
    first = score_tables({"m": page_of(name)}, words_of())[0]
    assert all(one in first.note for one in told)
    assert not any(one in first.note for one in untold)
    assert not any("undefined" in cell for row in first.rows for cell in row)
