"""The report is one safe, self-contained, accessible file."""

import base64
import hashlib
import json
from html.parser import HTMLParser

import msgspec
import numpy as np
import pytest

from securefair.config import override
from securefair.report import render_report

VOID = {"meta", "input", "br", "link", "img", "line", "rect", "polyline", "polygon"}


class Page(HTMLParser):
    """Elements with attributes and text; refuses tags that do not match."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.texts = []
        self._open = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self._open[-1] if self._open else "", data))

    def inside(self, tag):
        return [text for parent, text in self.texts if parent == tag]

    def attributes(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


PAGES = {}  # of unchanged records: by their identity, which lasts as long as they are here


def page_of(run, **changes):
    if changes:
        return rendered(run, **changes)
    if id(run) not in PAGES:
        PAGES[id(run)] = run, rendered(run)
    return PAGES[id(run)][1]


def rendered(run, **changes):
    arguments = {
        "result": run.result,
        "rounds": run.rounds,
        "exchanges": run.exchanges,
        "ledger": run.ledger,
        "traffic": run.traffic,
        "config": run.config,
        "versions": run.versions,
    }
    return render_report(**(arguments | changes))


def test_nothing_is_loaded_from_anywhere(run):
    text = page_of(run)
    page = Page(text)
    for tag, attributes in page.elements:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base"}
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")
        assert not any(name.startswith("on") or name == "style" for name in attributes)
    assert "url(" not in text
    assert "@import" not in text
    assert "://" not in text


def test_the_policy_allows_exactly_the_packaged_style_and_script(run):
    text = page_of(run)
    (policy,) = [
        a["content"]
        for a in Page(text).attributes("meta")
        if a.get("http-equiv") == "Content-Security-Policy"
    ]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        inline = text.split(f"<{tag}>")[1].split(f"</{tag}>")[0]
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>",
        '"><img onerror=alert(1)>',
        "</script><script>alert(1)</script>",
        "{{ 7 * 7 }}",
        "'; --\\",
        "<!--",
    ],
)
def test_a_name_cannot_become_markup(make_run, name):
    plain, hostile = make_run(names=("A", "B", "C")), make_run(names=("A", name, "C"))
    page = Page(page_of(hostile))
    # The same elements as with a harmless name: nothing was opened, closed or commented out.
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in Page(page_of(plain)).elements]
    assert name in page.inside("th")
    assert len(page.inside("script")) == 2


def test_titles_and_versions_are_escaped_too(run):
    text = page_of(
        run,
        config=override(run.config, {"report.title": "<b>bold & co</b>"}),
        versions={"<i>": "<u>"},
    )
    page = Page(text)
    assert "<b>bold & co</b>" in page.inside("h1")
    assert "<u>" in page.inside("dd")
    assert page.attributes("i") == Page(page_of(run)).attributes("i")


def test_the_slider_has_every_round(run):
    text = page_of(run)
    data = json.loads(text.split('id="reputation-data">')[1].split("</script>")[0])
    records = [record for record in run.rounds if record.algorithm == "cycle"]
    assert [one["round"] for one in data] == list(range(40))
    assert [one["forced"] for one in data] == [record.forced for record in records]
    for one, record in zip(data, records, strict=True):
        marks = [[int(digit) for digit in row] for row in one["marks"]]
        assert marks == (np.array(record.asked, int) + np.array(record.answered, int)).tolist()
    assert data[5]["reputation"][0][1] == pytest.approx(records[5].reputation[0][1], abs=5e-4)
    assert data[5]["reputation"][0][0] is None
    assert [at for at, one in enumerate(data) if one["reputation"]] == list(range(0, 40, 5))
    (slider,) = [a for a in Page(text).attributes("input") if a["type"] == "range"]
    assert (slider["min"], slider["max"], slider["value"]) == ("0", "39", "39")


def test_without_scripts_the_last_round_is_shown(run):
    page = Page(page_of(run))
    cells = [a for a in page.attributes("td") if "data-student" in a]
    assert len(cells) == 4 * 3
    last = run.rounds[-1].reputation[1][0]
    (cell,) = [a for a in cells if (a["data-student"], a["data-teacher"]) == ("1", "0")]
    assert cell["class"] == f"s{int(last * 10 + 0.5)}"
    assert f"{last:.2f}" in page.inside("span")
    assert "hidden" in next(
        a for a in page.attributes("div") if a.get("id") == "reputation-control"
    )


def test_what_can_be_seen_can_also_be_read(run):
    page = Page(page_of(run))
    identifiers = [a["id"] for _, a in page.elements if "id" in a]
    assert len(set(identifiers)) == len(identifiers)
    for tag, attributes in page.elements:
        if "aria-labelledby" in attributes:
            assert attributes["aria-labelledby"] in identifiers
        if tag == "label":
            assert attributes["for"] in identifiers
        if attributes.get("role") in {"img", "region"}:
            assert attributes["aria-label"]
        if tag == "th":
            assert attributes["scope"] in {"row", "col"}
    assert page.attributes("html") == [{"lang": "en-GB"}]
    plots = [a["aria-label"] for a in page.attributes("div") if a.get("class") == "plot"]
    assert len(plots) == 4
    assert plots[0].startswith("Cleveland, accuracy after the last round: Alone")


def test_figures_and_sentences_carry_the_numbers(run):
    text = page_of(run)
    for part in (
        "83.2\u00a0%",  # Cleveland together
        "546 parameters",
        "What is not protected",
        "not differential privacy",
        "128 bits",
        "8,192",
        "forced_every = 5",
        "torch",
    ):
        assert part in text


def test_a_run_without_encryption_says_so_first(make_run):
    for backend in ("clear", None):
        page = Page(page_of(make_run(backend=backend)))
        assert any(a.get("class") == "alert" for a in page.attributes("div"))
    assert not any(a.get("class") == "alert" for a in Page(page_of(make_run())).attributes("div"))


def test_a_run_of_everyone_alone_shows_no_collaboration(make_run):
    text = page_of(make_run(algorithms=("standalone",), backend=None))
    for heading in ("Who thinks what of whom", "What was disclosed", "Cost and traffic", "MCG"):
        assert heading not in text
    assert "How well each does alone" in text


def test_where_nobody_forms_reputations_none_are_shown(make_run):
    text = page_of(make_run(algorithms=("standalone", "vpdl")))
    assert "Who thinks what of whom" not in text
    assert "What was disclosed" in text
    assert "480 of 480 questions were answered, 0 declined" in text


@pytest.mark.parametrize("left_out", ["rounds", "exchanges", "ledger", "traffic"])
def test_missing_records_leave_their_sections_out(run, left_out):
    Page(page_of(run, **{left_out: []}))


def test_algorithms_without_standalone_records_are_compared_all_the_same(make_run):
    run = make_run(algorithms=("standalone", "cycle"))
    result = msgspec.structs.replace(
        run.result, algorithms={"cycle": run.result.algorithms["cycle"]}
    )
    assert "81.2\u00a0%" in page_of(run, result=result)


def test_many_participants_and_seeds_fit(make_run):
    run = make_run(names=tuple(f"Hospital {i}" for i in range(12)), seeds=(0, 1), rounds=3)
    page = Page(page_of(run))
    assert any(a.get("class") == "dense" for a in page.attributes("section"))
    assert any("whisker" in a.get("class", "") for a in page.attributes("line"))


def test_equal_records_give_equal_pages(make_run):
    assert page_of(make_run()) == page_of(make_run.__wrapped__())


def test_the_best_control_is_shown_beside_every_gain(run, make_run):
    text = page_of(run)
    assert "+1.4 over Stopped early" in text
    assert "+1.4" in text.split("Average gain over the best control")[1].split("</div>")[0]
    page = Page(text)
    assert page.inside("th").count("Stopped early") == 2  # a column of one table, a row of another
    without = page_of(make_run(algorithms=("standalone", "vpdl", "cycle")))
    assert "stopped early" not in without.lower()


def test_who_taught_whom_is_counted(run):
    page = Page(page_of(run))
    own = [record for record in run.rounds if record.algorithm == "cycle"]
    total = sum(sum(map(sum, record.answered)) for record in own)
    assert f"{total}" in page.inside("td")
    assert "Who taught whom, over all rounds" in page.inside("h3")


def test_exact_repetition_is_promised_only_without_encryption(make_run):
    assert "not exactly" in page_of(make_run())
    for backend in ("clear", None):
        assert "come out the same" in page_of(make_run(backend=backend))
        assert "not exactly" not in page_of(make_run(backend=backend))


def test_the_page_tells_that_one_program_read_everything(run):
    (told,) = [text for text in Page(page_of(run)).inside("dd") if "One program played" in text]
    assert "read everybody's patients and held all models and keys" in told


def test_print_has_reputations_of_several_rounds(run):
    captions = Page(page_of(run)).inside("caption")
    assert [one for one in captions if one.startswith("Round ")] == [
        f"Round {number}" for number in (1, 6, 16, 21, 31, 40)
    ]


@pytest.mark.slow
def test_the_file_stays_small(make_run):
    """Thirty participants and two hundred rounds are more than this is made for."""
    text = page_of(make_run(names=tuple(f"H{i}" for i in range(30)), rounds=200))
    assert len(text.encode()) < 2_000_000
    assert len(page_of(make_run()).encode()) < 200_000


def test_the_bound_on_no_gain_counts_what_seeds_differ_by(make_run):
    """Everybody gains 20 points on one seed and loses 10 on the other: half gain nothing."""
    run = make_run(seeds=(0, 1))
    n = len(run.result.participants)
    halves = {"mcg": 0.05, "cgs": 0.006, "gain": [0.05] * n, "gain_spread": [0.3 / 2**0.5] * n}
    everyone = {
        name: msgspec.structs.replace(one, **halves) for name, one in run.result.algorithms.items()
    }
    page = rendered(run, result=msgspec.structs.replace(run.result, algorithms=everyone))
    shown = {"".join(text.split()) for text in Page(page).inside("td")}
    assert "90%" in shown
    assert not {"1%", "2%"} & shown
