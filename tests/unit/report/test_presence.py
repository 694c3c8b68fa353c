"""One list of words for how sites and peers are: every place takes them from it."""

import ast
import re
from importlib import resources
from pathlib import Path

import msgspec
import pytest

from securefair.report.presence import PeerLife, SiteLife
from securefair.report.site import site_markdown, site_page
from securefair.sites.operator.metrics import metrics
from securefair.sites.site.attendance import Attendance
from securefair.sites.site.health import Health
from securefair.sites.site.status import sentences
from support.site_reports import site_facts, site_peer
from support.site_statuses import peer_status, site_status

ROOT = Path(__file__).parents[3]
WORDS = (*SiteLife, *PeerLife)


def status(life=SiteLife.RUNNING, presence=PeerLife.HERE):
    return site_status(peer_status(presence=presence), Health(state=life))


@pytest.mark.parametrize("life", SiteLife)
def test_what_a_site_does_has_one_word_everywhere(life):
    found = status(life)
    assert f"state: {life}" in sentences(found)  # terminal
    assert found.summary == life  # the line of the log, and the page
    shown = msgspec.json.decode(msgspec.json.encode(found))
    assert (shown["health"]["state"], shown["summary"]) == (life, life)  # programs and the page
    lines = re.findall(r'securefair_state\{state="(.+)"\} (.)', metrics(found))
    assert lines == [(one, str(int(one is life))) for one in SiteLife]


@pytest.mark.parametrize("life", PeerLife)
def test_how_a_peer_is_has_one_word_everywhere(life):
    found = status(presence=life)
    assert any(line.startswith(f"  south: {life}, ") for line in sentences(found))
    shown = msgspec.json.decode(msgspec.json.encode(found))
    assert shown["peers"][0]["presence"] == life  # programs and the page
    lines = re.findall(r'securefair_peer_state\{peer="south",state="(.+)"\} (.)', metrics(found))
    assert lines == [(one, str(int(one is life))) for one in PeerLife]
    facts = site_facts(peers=(site_peer("south", presence=life),))
    assert f"| {life} |" in site_markdown(facts)
    assert (f"{life.capitalize()} at the end:" in site_page(facts)) is (life is not PeerLife.HERE)


def test_every_word_has_its_case():
    peers = Attendance(away=("a",), left=("l",))
    found = [
        peers.life("h", heard=True),
        peers.life("a", heard=True),
        peers.life("a", heard=False),
        peers.life("l", heard=True),
        peers.life("l", heard=True, blocked=True),
    ]
    assert found == list(PeerLife)


def test_the_page_knows_no_word_of_its_own():
    page = resources.files("securefair.sites.operator").joinpath("page.html").read_text("utf-8")
    script = page[page.index("<script") :]
    assert "peer.presence" in script
    assert "site.summary" in script
    assert not [word for word in WORDS if f'"{word}"' in script.lower()]


@pytest.mark.parametrize(
    "module",
    [
        "report/site.py",
        *(f"sites/site/{name}.py" for name in ("health", "status", "warnings", "export")),
        *(f"sites/operator/{name}.py" for name in ("metrics", "page")),
        "sites/site/running.py",
    ],
)
def test_no_place_writes_such_a_word_anew(module):
    tree = ast.parse((ROOT / "src/securefair" / module).read_text("utf-8"))
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    keys = {"away"} if module == "sites/site/running.py" else set()  # a fact's name in the log
    assert set(WORDS) & set(texts) <= keys


def test_the_guide_says_all_words():
    guide = (ROOT / "docs/operators-guide.md").read_text("utf-8")
    told = guide[guide.index("From another terminal") : guide.index("## 5.")]
    assert not [word for word in WORDS if word not in told]
