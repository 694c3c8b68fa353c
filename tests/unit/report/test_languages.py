"""A page has no text but that of its language, of records and of names."""

import re
import string
from html.parser import HTMLParser

import pytest
from msgspec import structs

from securefair.collaboration.kinds import REGISTERED
from securefair.collaboration.privacy import ROWS
from securefair.records import (
    AveragingResult,
    MetricResult,
    PrivacyResult,
    Reliability,
    ThresholdResult,
    TrustResult,
)
from securefair.report import html, render_report
from securefair.words import Words, languages, words_of
from support.verdicts import with_verdicts

NAMES = ("Q1", "Q2", "Q3", "Q4")
"""Of participants and classes: no letters beside the one, so that no word is theirs."""

CALLED = {
    "CYCle",
    "VPDL",
    "Transfer",
    "Validation",
    "Table",
    "gossip",
    "CKKS",
    "securefair",
    "python",
    "torch",
    "demo",
}
CALLED |= {"kB", "MB", "ms", "min", "heart", "projection", "seal", "clear", "config", "toml", "run"}
CALLED |= {"masked", "complete", "objective", "perturbation", "smaller"}
"""Names and units, the same in all languages."""

SHOWN = ("alt", "aria-label", "title", "data-yes", "data-no", "data-none", "data-forced")


class Shown(HTMLParser):
    """What people see of a page, but for code and what is marked as English."""

    def __init__(self, text):
        super().__init__()
        self.said, self.english, self._hidden = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.said += [found[name] for name in SHOWN if name in found]
        if tag in ("style", "script", "code", "pre"):
            self._hidden.append((tag, None))
        elif found.get("lang") == "en-GB" and tag != "html":
            self._hidden.append((tag, self.english))

    def handle_endtag(self, tag):
        if self._hidden and self._hidden[-1][0] == tag:
            self._hidden.pop()

    def handle_data(self, data):
        if not self._hidden:
            self.said.append(data)
        elif self._hidden[-1][1] is not None and data.strip():
            self.english.append(data.strip())


def metric(error=0.01):
    values = dict.fromkeys(NAMES, 0.8125)
    return MetricResult(
        mean=0.8125,
        se=error,
        by_hospital=values,
        se_by_hospital=dict.fromkeys(NAMES, error),
        interval_by_hospital=dict.fromkeys(NAMES, (0.6765, 1.0)),
    )


TRUST = TrustResult(in_peers=0.75, gain=0.1, gain_se=0.01, left_out=[], weights={NAMES[1]: -0.25})


def filled(run, **more):
    """The same run with everything that a report can show."""
    found = run.result
    scores = ("log_loss", "brier", "auc", "calibration_error", "accuracy", "balanced_accuracy")
    algorithms = {
        name: structs.replace(
            one,
            metrics={score: metric() for score in (*scores, "sensitivity", "specificity")},
            confusion={name: [[8, 2], [1, 4]] for name in NAMES},
            reliability=[Reliability(predicted=0.2, observed=0.25, samples=16)],
            thresholds=[
                ThresholdResult(
                    threshold=0.3, said=0.5, sensitivity=0.9, specificity=0.6, right=0.7
                )
            ],
            gain_over_best_control={found.metric: metric()},
            nearly_constant=[NAMES[1]],
            left_out={"0": {NAMES[0]: [NAMES[1], "all"]}},
            trust={
                NAMES[0]: TrustResult(
                    in_peers=0.75, gain=0.1, gain_se=0.01, weights={NAMES[1]: -0.25}, left_out=[]
                )
            },
        )
        for name, one in found.algorithms.items()
    }
    result = structs.replace(
        found,
        algorithms=algorithms,
        classes=["Q5", "Q6"],
        class_counts={name: [10, 5] for name in NAMES},
        findings={NAMES[0]: ["one finding, as it was recorded"]},
        problems={"0": ["one failure, as it was recorded"]},
        privacy={
            name: PrivacyResult(
                mechanism="objective perturbation",
                epsilon=2.5,
                delta=1e-5,
                spent_epsilon=1.25,
                spent_delta=1e-5,
                unit="patient",
                noise="seed",
                asked_epsilon=None,
                asked_delta=None,
                meaning="a meaning in English",
                caveats=[ROWS],
            )
            for name in NAMES
        },
        **more,
    )
    return with_verdicts(result)


def page_of(run, result, language):
    return render_report(
        result=result,
        smaller=result,
        rounds=run.rounds,
        exchanges=run.exchanges,
        ledger=run.ledger,
        traffic=run.traffic,
        config=run.config,
        versions=run.versions,
        language=language,
    )


def empty(template):
    """A template's values alone, with a sign for each stretch of its own."""
    parts = string.Formatter().parse(template)
    return "".join("\u00b7" + f"{{{name}}}" * (name is not None) for _, name, _, _ in parts)


@pytest.fixture
def wordless(monkeypatch):
    """A language that says nothing."""
    templates = {key: empty(text) for key, text in words_of().templates.items()}
    nouns = dict.fromkeys(words_of().under("nouns.hospitals"), "·")
    templates |= {
        f"nouns.{whom}.{n}": "\u00b7" for whom in ("hospitals", "participants") for n in nouns
    }
    silent = Words("xx", templates | {"numbers.decimal": ",", "numbers.thousands": "."})
    monkeypatch.setattr(html, "words_of", lambda _: silent)


AVERAGED = AveragingResult(
    averaging="masked",
    hides_weights=False,
    hides_parameters=True,
    parameters=20_000,
    average_error_bound=2e-8,
    cosine_error_bound=0.06,
    min_senders=2,
    kept_own=1,
    lost=2,
)


@pytest.mark.parametrize("backend", ["seal", "clear"])
@pytest.mark.parametrize("name", sorted(REGISTERED))
@pytest.mark.usefixtures("wordless")
def test_no_word_of_a_report_is_written_elsewhere(make_run, name, backend):
    run = make_run(
        names=NAMES,
        algorithms=("standalone", "early_stopping", name),
        backend=backend,
        seeds=(0, 1),
    )
    encryption = run.result.encryption
    if name == "cycle-gossip":
        encryption = structs.replace(encryption, averaging=AVERAGED)
    shown = Shown(page_of(run, filled(run, encryption=encryption), "xx"))
    text = " ".join(shown.said)
    words = set(re.findall(r"[A-Za-z][A-Za-z]+", text))
    assert words - CALLED == set()
    assert re.findall(r"(?<![\d.])\d+\.\d{1,2}(?![\d.])[^\n]{0,20}", text) == []
    assert len(shown.english) == 2


@pytest.mark.parametrize("language", languages())
def test_a_report_of_every_language_is_whole(make_run, language):
    run = make_run(names=NAMES, algorithms=("standalone", "early_stopping", "cycle"))
    text = page_of(run, filled(run), language)
    for key in ("gained.title", "limits.title", "repeat.title", "ledger.title", "promised.title"):
        assert words_of(language).about("hospitals")(key) in text
    assert "{" not in " ".join(Shown(text).said)


@pytest.mark.parametrize("language", languages())
def test_a_report_of_sums_speaks_of_no_questions_and_of_no_noise(make_run, language):
    """Nobody is asked about patients there, and equal seeds give equal results."""
    run = make_run(names=NAMES, algorithms=("standalone", "early_stopping", "transfer"))
    sums = {"ring_degree": 0, "backend": "masked", "release": "summed_fits"}
    words = words_of(language).about("hospitals")

    def said(encryption):
        text = page_of(run, filled(run, encryption=encryption), language)
        return [
            words(key) in text
            for key in ("repeat.exact", "repeat.noisy", "tiles.summed", "tiles.answered")
        ]

    encryption = run.result.encryption
    assert said(structs.replace(encryption, **sums)) == [True, False, True, False]
    assert said(encryption) == [False, True, False, True]


def test_names_that_records_hold_are_said_in_french(make_run):
    run = make_run(names=NAMES, algorithms=("standalone", "early_stopping", "transfer"))
    encryption = structs.replace(
        run.result.encryption, ring_degree=0, backend="masked", release="summed_fits"
    )
    text = " ".join(Shown(page_of(run, filled(run, encryption=encryption), "fr")).said)
    for recorded in ("masked", "summed_fits", "objective perturbation", "ma\u00eetre", "MB"):
        assert recorded not in text
