"""The report in a real browser: no errors, a slider that moves, a phone's width, print, contrast.

Chromium is spoken to in the DevTools protocol over a pipe, which needs no library. Scripts that
are evaluated so are not bound by the page's content security policy, unlike the page's own.
"""

import base64
import json

import pytest
from typer.testing import CliRunner

from securefair.cli import app
from securefair.sites.rehearsal.made_up import made_up
from support.browser import CHROMIUM, Chromium, contrasts, too_wide

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="NO BROWSER: chromium is not installed, the report is not tested in it"
)

ROUNDS = 7
HOSTILE = "<script>document.title='broken'</script>"
NAMES = ("North & <b>Sons</b>", HOSTILE, 'Saint "Mary\'s" of the very long name', "Süd-Klinik")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report of a real run on a generated project, with names that a page must escape."""
    folder = tmp_path_factory.mktemp("browser")
    made = CliRunner().invoke(app, ["new", str(folder / "project")])
    assert made.exit_code == 0, made.output
    config = folder / "project" / "config.toml"
    text = config.read_text("utf-8")
    for old, new in zip(
        ("Cleveland", "Hungary", "Switzerland", "VA Long Beach"), NAMES, strict=True
    ):
        assert f'name = "{old}"' in text
        text = text.replace(f'name = "{old}"', f"name = {json.dumps(new)}")
    assert text.count('"transfer"') >= 1
    text = text.replace('"transfer"', '"cycle"', 1)  # it has rounds and reputations to look at
    config.write_text(text, encoding="utf-8")
    options = ("--rounds", str(ROUNDS), "--backend", "clear", "--out", str(folder / "out"))
    done = CliRunner().invoke(app, ["run", str(config), *options])
    assert done.exit_code == 0, done.output
    return folder / "out" / "report.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    running = Chromium(tmp_path_factory.mktemp("profile"))
    yield running
    running.close()


@pytest.fixture
def page(browser, report):
    """The report, freshly opened on a desktop; nothing may complain until the test is over."""
    browser.command("Emulation.setEmulatedMedia", media="", features=[])
    browser.command("Emulation.clearDeviceMetricsOverride")
    browser.open(report)
    yield browser
    assert browser.errors == []


def heat(page):
    """Numbers and words of all cells of the heat map, and what stands above it."""
    cells = "[...document.querySelectorAll('#reputation-map td[data-student]')]"
    return page.value(f"{cells}.map(one => one.innerText)"), page.value(
        "document.getElementById('reputation-label').textContent"
    )


def test_a_real_browser_shows_it_without_complaint(page):
    assert page.value("document.title").endswith(": collaboration report")
    assert page.value("document.querySelector('main h2').textContent") == "In brief, for the ward"
    assert page.value("document.querySelectorAll('.came_true .dot').length") >= 3
    assert page.value("document.getElementById('reputation-control').checkVisibility()")


def test_names_show_as_they_are_and_run_nothing(page):
    heads = page.value(
        "[...document.querySelectorAll('#reputation-map tbody th')].map(one => one.textContent)"
    )
    assert heads == list(NAMES)
    assert page.value("document.scripts.length") == 2
    assert page.value("document.querySelectorAll('th b').length") == 0


def test_the_slider_moves_with_the_keyboard_and_changes_the_numbers(page):
    assert heat(page)[1] == f"Round {ROUNDS} of {ROUNDS}"
    seen = [heat(page)]
    page.value("document.getElementById('reputation-round').focus()")
    for at in range(ROUNDS - 1, 0, -1):
        page.press("ArrowLeft", 37)
        assert page.value("document.getElementById('reputation-round').valueAsNumber") == at - 1
        assert heat(page)[1].startswith(f"Round {at} of {ROUNDS}")
        seen.append(heat(page))
    # Reputations are formed anew in rounds 1 and 6.
    numbers = [[cell.split("\n")[0] for cell in cells] for cells, _ in seen]
    assert numbers[0] == numbers[1] != numbers[2] == numbers[-1]
    assert seen[-1][1] == f"Round 1 of {ROUNDS}, everyone answers"
    assert all(cell.endswith("answered") for cell in seen[-1][0])
    said = page.value("document.getElementById('reputation-round').getAttribute('aria-valuetext')")
    assert said == seen[-1][1]


def test_the_numbers_are_those_of_the_records(page, report):
    lines = (report.parent / "rounds.jsonl").read_text("utf-8").splitlines()
    rounds = [json.loads(line) for line in lines]
    own = [one for one in rounds if one["algorithm"] == "cycle"]
    for at in (0, 3, ROUNDS - 1):
        page.value(
            "(() => { const one = document.getElementById('reputation-round');"
            f"one.value = {at}; one.dispatchEvent(new Event('input')); }})()"
        )
        pairs = [(n, k) for n in range(4) for k in range(4) if n != k]
        for (n, k), cell in zip(pairs, heat(page)[0], strict=True):
            number, mark = cell.split("\n")
            assert float(number) == pytest.approx(own[at]["reputation"][n][k], abs=0.0056)
            assert (mark == "answered") == own[at]["answered"][n][k]


def test_play_runs_through_the_rounds(page):
    page.value("document.getElementById('reputation-play').click()")
    assert heat(page)[1].startswith("Round 1 of")
    finished = (
        "new Promise(done => { const wait = () => "
        "document.getElementById('reputation-play').textContent === 'Play' ? done(true) "
        ": setTimeout(wait, 50); wait(); })"
    )
    assert page.value(finished)
    assert heat(page)[1] == f"Round {ROUNDS} of {ROUNDS}"


@pytest.mark.parametrize("width", [320, 390, 800, 1280])
def test_nothing_is_wider_than_the_screen(page, width):
    wide, cut = too_wide(page, width)
    assert wide == []
    assert page.value("document.documentElement.scrollWidth") == width
    assert cut == []  # whoever must scroll sideways does not see that there is more
    overlapping = """
        [...document.querySelectorAll('.row > span:first-child')].filter(one =>
          one.scrollWidth > one.clientWidth + 1).map(one => one.textContent)
    """
    assert page.value(overlapping) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(page, scheme):
    """WCAG 2.2, 1.4.3: a contrast of 4.5 to 1 at least; every shade of the heat map included."""
    page.value(
        "document.querySelectorAll('#reputation-map td[data-student]')"
        ".forEach((one, at) => { one.className = `s${at % 11}`; })"
    )
    found = contrasts(page, scheme)
    assert len(found) > 200
    assert [one for one in found if one[0] < 4.5] == []


def sheets(printed):
    """Pages of what `Page.printToPDF` gives."""
    data = base64.b64decode(printed["data"])
    assert data.startswith(b"%PDF-")
    return data.count(b"/Type /Page\n") + data.count(b"/Type /Page ")


def test_it_prints_with_everything_open_and_the_round_named(page):
    assert 3 <= sheets(page.command("Page.printToPDF", printBackground=True)) <= 20
    # Opened for printing, and closed again.
    assert page.value("document.querySelectorAll('details[open]').length") == 0
    page.command("Emulation.setEmulatedMedia", media="print")
    assert not page.value("document.getElementById('reputation-round').checkVisibility()")
    assert page.value("document.getElementById('reputation-label').checkVisibility()")


def test_the_wards_part_is_one_sheet_of_paper(page):
    """Heading and first part fill one sheet of A4; what follows begins on the next."""
    a4 = {"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": True}
    whole = sheets(page.command("Page.printToPDF", **a4))
    page.value("document.querySelectorAll('.first ~ *, footer').forEach(one => one.remove())")
    assert sheets(page.command("Page.printToPDF", **a4)) == 1
    assert whole > 2
    assert page.value("getComputedStyle(document.querySelector('.first')).breakAfter") == "auto"
    page.command("Emulation.setEmulatedMedia", media="print")
    assert page.value("getComputedStyle(document.querySelector('.first')).breakAfter") == "page"


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_no_table_makes_the_printed_pages_smaller(page, report, tmp_path, language):
    """Chromium shrinks all pages until the widest table fits: A4 with its margins is 717 px."""
    options = ("--language", language, "--out", str(tmp_path))
    done = CliRunner().invoke(app, ["report", str(report.parent), *options])
    assert done.exit_code == 0, done.output
    (written,) = tmp_path.glob("report*.html")
    sheet = {"width": 717, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    page.command("Emulation.setEmulatedMedia", media="print")
    page.command("Emulation.setDeviceMetricsOverride", **sheet)
    page.open(written)
    page.value("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert page.value("document.documentElement.scrollWidth") == 717
    # Page one in every language, at its own size: A4 less two margins is 1046 px high.
    assert page.value("document.querySelector('.first').getBoundingClientRect().bottom") < 1046


def test_without_scripts_the_last_round_stands(page, report):
    page.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open(report)
    finally:
        page.command("Emulation.setScriptExecutionDisabled", value=False)
    cells, label = heat(page)
    assert label == f"Round {ROUNDS} of {ROUNDS}"
    assert len(cells) == 12
    assert not page.value("document.getElementById('reputation-control').checkVisibility()")


@pytest.fixture(scope="module")
def of_times(tmp_path_factory):
    """The report of a study of times to an event, in every language."""
    folder = tmp_path_factory.mktemp("times")
    tables = made_up(folder / "tables", "time", 3)
    data = [word for name in tables.names for word in ("--data", str(tables.files(name)[0]))]
    asked = ("--time", "label", "--event", "event")
    made = CliRunner().invoke(app, ["new", str(folder / "project"), *data, *asked])
    assert made.exit_code == 0, made.output
    config, out = folder / "project" / "config.toml", folder / "out"
    done = CliRunner().invoke(app, ["run", str(config), "--backend", "clear", "--out", str(out)])
    assert done.exit_code == 0, done.output
    for language in ("de", "fr"):
        said = CliRunner().invoke(app, ["report", str(out), "--language", language])
        assert said.exit_code == 0, said.output
    return out


@pytest.mark.parametrize("language", ["", ".de", ".fr"])
def test_pictures_of_an_outcome_fit_every_screen_and_one_sheet(browser, of_times, language):
    browser.command("Emulation.setEmulatedMedia", media="", features=[])
    browser.open(of_times / f"report{language}.html")
    assert browser.value("document.querySelectorAll('.first figure.picture').length") == 2
    assert browser.value("document.querySelectorAll('.survival polyline').length") == 6
    # Numbers at risk stand below the ticks that they are of, and nothing lies over another.
    places = """
        (() => { const of = (row) => [...row.children].map(one => one.getAttribute('x'));
          const rows = [...document.querySelectorAll('.survival svg.marks')];
          return rows.map(of); })()
    """
    first, *others = browser.value(places)
    assert len(others) == 3
    assert all(row == first for row in others)
    for width in (320, 390, 1280):
        wide, _ = too_wide(browser, width)
        assert wide == []
        assert browser.value("document.documentElement.scrollWidth") == width
    sheet = {"width": 717, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    browser.command("Emulation.setEmulatedMedia", media="print")
    browser.command("Emulation.setDeviceMetricsOverride", **sheet)
    browser.open(of_times / f"report{language}.html")
    assert browser.value("document.querySelector('.first').getBoundingClientRect().bottom") < 1046
    browser.command("Emulation.setEmulatedMedia", media="", features=[])
    browser.command("Emulation.clearDeviceMetricsOverride")
    assert browser.errors == []


def test_a_page_of_scores_fits_every_screen(browser, report):
    browser.command("Emulation.setEmulatedMedia", media="", features=[])
    browser.command("Emulation.clearDeviceMetricsOverride")
    model = next((report.parent / "models").iterdir())
    table = next((report.parents[1] / "project").rglob("*.csv"))
    page = report.parent / "scores.html"
    done = CliRunner().invoke(app, ["evaluate", str(model), str(table), "--out", str(page)])
    assert done.exit_code == 0, done.output
    browser.open(page)
    for width in (320, 390, 1280):
        wide, _ = too_wide(browser, width)
        assert wide == []
        assert browser.value("document.documentElement.scrollWidth") == width
    tops = "[...document.querySelectorAll('.picture')].map(one => one.getBoundingClientRect().top)"
    first, second, *_ = browser.value(tops)
    assert first == second  # beside each other where there is room
    browser.command("Emulation.clearDeviceMetricsOverride")
    assert browser.errors == []
