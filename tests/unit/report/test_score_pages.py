"""Headings and groups of tables of scores, in every language."""

import numpy as np
import pytest

from securefair.config.registers import OUTCOMES
from securefair.data import Samples
from securefair.data.cells import Table, column_of
from securefair.data.groups import groups_of
from securefair.model.outcomes import outcome_named
from securefair.report.score_pages import score_tables
from securefair.words import languages, words_of
from securefair.worth.page import CALIBRATION, score_page

ARTICLES = ("Die ", "Der ", "Das ", "Le ", "La ", "L\u2019")


def two_classes(groups=None, count=60):
    rng = np.random.default_rng(0)
    chances = rng.uniform(0.1, 0.9, count)
    labels = (rng.uniform(size=count) < chances).astype(np.int64)
    samples = Samples(np.zeros((count, 1)), labels, 2)
    said = np.column_stack([1 - chances, chances])
    return score_page(said, samples, groups=groups, draws=20)


def grouped(language):
    """Of a table in which ages up to 64.5 are one half, and one is not known."""
    ages = ["?", *range(36, 95)]
    table = Table("own.csv", {"age": column_of([str(one) for one in ages])}, lambda at: at + 2)
    page = two_classes(groups_of(table, ["age"]))
    *_, by_age = score_tables({"north": page}, words_of(language))
    return {row[0].partition(" (")[0] for row in by_age.rows}


def test_groups_have_names_of_the_language():
    assert grouped("en") == {"above 65", "up to 65", "missing"}
    assert grouped("de") == {"über 65", "bis 65", "fehlt"}
    assert grouped("fr") == {"au-dessus de 65", "jusqu\u2019à 65", "manquant"}


@pytest.mark.parametrize("language", languages())
def test_headings_are_titles_without_articles(language):
    words = words_of(language)
    scores = {name for one in OUTCOMES for name in outcome_named(one).scores}
    titles = words.under("titles")
    assert scores | set(CALIBRATION) == set(titles)
    assert not [one for one in titles.values() if one.startswith(ARTICLES)]
    first, *_ = score_tables({"north": two_classes()}, words)
    assert len(first.headings) > 3
    assert set(first.headings[1:]) <= set(titles.values())
