"""The report of one site in a real browser: hostile names, a slider, a phone, contrast, paper."""

import base64

import pytest

from securefair.report import write_text
from securefair.report.presence import PeerLife
from securefair.report.site import site_page
from support.browser import CHROMIUM, Chromium, contrasts, too_wide
from support.site_reports import ROUNDS, site_facts, site_peer

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="NO BROWSER: chromium is not installed, the report is not tested in it"
)

HOSTILE = "<img src=x onerror=document.title='broken'>"
NAMES = (HOSTILE, 'Saint "Mary\'s" of the very long name', "Süd-Klinik", "West & <b>Sons</b>")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    running = Chromium(tmp_path_factory.mktemp("profile"))
    yield running
    running.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    away = site_peer(NAMES[0], presence=PeerLife.UNHEARD, answered=0, missed=7)
    facts = site_facts(
        name=f"{HOSTILE} north",
        peers=(away, *map(site_peer, NAMES[1:])),
        refused={f"forged, {HOSTILE}": 3},
        promised="At most 7.4 times as likely.",
        gaps=("Every row was counted as a patient.",),
    )
    return write_text(tmp_path_factory.mktemp("site") / "report.html", site_page(facts))


@pytest.fixture
def page(browser, report):
    """Freshly opened on a desktop; nothing may complain until the test is over."""
    browser.command("Emulation.setEmulatedMedia", media="", features=[])
    browser.command("Emulation.clearDeviceMetricsOverride")
    browser.open(report)
    yield browser
    assert browser.errors == []


def label(page):
    return page.value("document.getElementById('reputation-label').textContent")


def test_names_show_as_they_are_and_run_nothing(page):
    rows = "[...document.querySelectorAll('[aria-label=Peers] tbody th')]"
    assert page.value(f"{rows}.map(one => one.textContent)") == list(NAMES)
    assert page.value("document.querySelector('.alert').innerText").startswith(
        "Never heard of at the end: <"
    )
    assert page.value("document.title").startswith(HOSTILE)
    assert page.value("document.images.length") == 0
    assert page.value("document.querySelectorAll('th b').length") == 0


def test_the_slider_steps_through_the_reputations_of_this_site(page):
    cells = "[...document.querySelectorAll('#reputation-map td[data-student]')]"
    assert label(page) == f"Round {ROUNDS} of {ROUNDS}"
    last = page.value(f"{cells}.map(one => one.innerText)")
    assert last == ["0.90\nno answer", "0.80\nno answer", "0.70\nno answer", "0.60\nno answer"]
    page.value("document.getElementById('reputation-round').focus()")
    page.press("ArrowLeft", 37)
    assert label(page) == f"Round {ROUNDS - 1} of {ROUNDS}"
    assert page.value(f"{cells}.map(one => one.innerText)")[0] == "0.90\nanswered"


@pytest.mark.parametrize("width", [320, 390, 800, 1280])
def test_nothing_is_wider_than_the_screen(page, width):
    wide, cut = too_wide(page, width)
    assert wide == []
    assert page.value("document.documentElement.scrollWidth") == width
    assert cut == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(page, scheme):
    found = contrasts(page, scheme)
    assert len(found) > 100
    assert [one for one in found if one[0] < 4.5] == []


def test_it_prints_with_everything_open(page):
    printed = base64.b64decode(page.command("Page.printToPDF", printBackground=True)["data"])
    assert printed.startswith(b"%PDF-")
    assert 1 <= printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") <= 8
    assert page.value("document.querySelectorAll('details[open]').length") == 0
