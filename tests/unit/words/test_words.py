"""Every language says everything, of the same values."""

import re
import string
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

import securefair
from securefair.collaboration.verdict import verdict_sentence
from securefair.config.registers import OUTCOMES
from securefair.errors import ConfigError
from securefair.model.outcomes import outcome_named
from securefair.records import HospitalVerdict, VerdictResult
from securefair.words import ENGLISH, languages, words_of


@cache
def nouns():
    return set(words_of().about("hospitals").nouns)


def values_of(template):
    """Names in braces, but for nouns: which form of them a sentence takes is the language's."""
    found = {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}
    return found - nouns()


@pytest.mark.parametrize("language", languages())
def test_every_key_is_there_and_asks_for_the_same_values(language):
    english, words = words_of().templates, words_of(language).templates
    assert set(words) == set(english)
    differing = {key for key in english if values_of(words[key]) != values_of(english[key])}
    assert differing == set()
    assert all(text.strip() for key, text in words.items() if key != "numbers.thousands")


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("whom", ["hospitals", "participants"])
def test_every_sentence_can_be_said_of_both(language, whom):
    words = words_of(language).about(whom)
    for key, template in words.templates.items():
        said = words(key, **dict.fromkeys(values_of(template), "X"))
        assert "{" not in said
    assert words("table.participant")[0].isupper()


def test_numbers_and_lists():
    words = words_of()
    assert words.listing(["a", "b", "c"]) == "a, b and c"
    assert words.listing(["a"]) == "a"
    assert words.listing(["a", "b", "c"], either=True) == "a, b or c"
    assert words.count(5120) == "5,120"
    assert words.decimal(-0.5, 1) == "\u22120.5"
    assert words.decimal(-0.004, 2) == "0.00"
    assert words.percent(0.7349) == "73\u00a0%"
    assert words.with_error(0.031, 0.01) == "0.031\u00a0\u00b1\u00a00.010"
    assert words.with_error(0.031, 0.0) == "0.031"
    assert words.figure("4.3e-06") == "4.3\u00a0\u00d7\u00a010\u207b\u2076"
    assert words.decimal(1188.094, 2) == "1,188.09"
    french = words_of("fr")
    assert french.decimal(1188.094, 2) == "1\u202f188,09"
    assert french.size("1.48\u00a0MB") == "1,48\u00a0Mo"
    assert french("numbers.clauses").join("ab") == "a\u00a0; b"
    assert words.span("1", "2") == "1\u20132"
    assert words.span("\u22121", "2") == "\u22121 to 2"


def test_a_value_with_braces_stays_as_it_is():
    assert "{x}" in words_of()("verdict.better", names="{x}")


def test_a_name_that_a_record_holds_is_said_in_the_language():
    words = words_of("de")
    assert words.name("above 64.5", "groups") == "über 64,5"
    assert words.name("up to -0.5", "groups") == "bis \u22120,5"
    assert words.name("above 1e+06", "groups") == "über 1\u00a0\u00d7\u00a010\u2076"
    assert words.name("missing", "groups") == "fehlt"
    for text in ("above all", "Station 3", "above ", "event"):  # values as a table has them
        assert words.name(text, "groups") == text


def test_every_part_of_an_outcome_has_a_name():
    strata = {one for name in OUTCOMES for one in outcome_named(name).strata}
    assert set(words_of().under("strata").values()) == strata


@pytest.mark.parametrize(
    ("language", "frequent", "mean"),
    [("en", "common", "mean"), ("de", "häufigste", "Mittelwert"), ("fr", "fréquente", "moyenne")],
)
def test_the_constant_control_is_named_for_numbers_as_well(language, frequent, mean):
    """Of a number it is the mean, which no patient may have."""
    words = words_of(language)
    assert frequent not in words("controls.most_common").casefold()
    assert mean in words("rules.most_common")


@pytest.mark.parametrize("control", ["standalone", "alone-forest"])
def test_a_german_verdict_is_a_sentence_after_its_colon(control):
    verdict = VerdictResult(
        score="auc",
        algorithm="transfer",
        control=control,
        gain=0.03,
        se=0.01,
        told="better",
        hospitals={"a": HospitalVerdict(gain=0.03, se=0.01, told="better")},
        sentence="",
    )
    for gain in (0.03, -0.03, 0.0):
        said = verdict_sentence(replace(verdict, gain=gain), words_of("de"))
        assert said.startswith("Bessere Vorhersagen bei a: Mit Transfer ist die AUC")


def test_german_reasons_stand_behind_a_colon():
    """ "Der Grund: ...": a main clause, whose verb is not its last word."""
    said = words_of("de").under("because")
    assert said["outcome"].startswith("Summen sind nur für ")
    assert not [text for text in said.values() if text.endswith((" sind", " ist", " hat"))]


def test_an_unknown_language_is_refused_by_name():
    with pytest.raises(ConfigError, match="no words in this language") as refused:
        words_of("xx")
    assert ENGLISH in str(refused.value)


def test_every_key_is_said_somewhere():
    source = Path(securefair.__file__).parent
    files = [*source.rglob("*.py"), *source.rglob("*.j2")]
    text = "".join(path.read_text("utf-8") for path in files)
    # Names of what registers hold, or of one of several, follow these.
    groups = (
        "numbers.units",
        "scores",
        "titles",
        "controls",
        "rules",
        "messages",
        "caveats",
        "nouns",
        "verdict",
    )
    groups += ("helped", "glossary", "reputation", "weights", "encryption.weights", "repeat")
    groups += (
        "page.sources",
        "page_of_scores.explained",
        "pictures",
        "ward.time",
        "ward.number",
        "ward.count",
        "ward.effects",
        "table",
        "caution",
    )
    groups += (
        "recorded",
        "noticed",
        "releases",
        "distillation.ran",
        "distillation.asked",
        "strata",
        "groups",
    )
    said = set(re.findall(r"[\w.]+", text))  # most keys stand alone
    unsaid = [
        key
        for key in words_of().templates
        if key not in said
        and key not in text
        and key.removesuffix(".one").removesuffix(".many") not in text
    ]
    assert [key for key in unsaid if not key.startswith(groups)] == []
