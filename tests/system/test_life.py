"""Every command of the pages on a project's life, as it stands there, at real sites."""

import json
import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

from securefair.cli.ending import EXIT_INTERRUPTED
from securefair.errors import SecureFairError
from securefair.sites.rehearsal.year import YEAR
from securefair.sites.site import stopping
from securefair.sites.site.running import run_site
from securefair.sites.site.site import Site
from securefair.sites.site.stopping import STOPS_WITHIN, stop_site, stopped_by_signals
from securefair.storage import Secret, running_process
from support.hospitals import PASSPHRASE, Hospital, hospitals_in
from support.operators import ended

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "life").glob("*.md"))
NOT_RUN = {"pip"}
"""It would change what runs this."""

UP = {"running", "waiting"}


def commands(name):
    """Of a page, block by block."""
    text = (ROOT / "docs" / "life" / f"{name}.md").read_text("utf-8")
    return [
        [shlex.split(line) for line in block.splitlines()]
        for block in re.findall(r"^```shell\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    ]


def seen_from_south(lines):
    """What a page has for south by name: there, `Hospital` takes north for the own one."""
    swap = {"south": "north", "north": "south"}
    return [
        [re.sub("north|south", lambda found: swap[found[0]], word) for word in words]
        for words in lines
    ]


class Night:
    """Somebody at one hospital who does what a page says, line by line."""

    def __init__(self, hospital, monkeypatch):
        self.hospital, self._monkeypatch = hospital, monkeypatch
        self._running, self.said = None, []

    def follow(self, lines):
        for words in lines:
            if words[0] not in NOT_RUN:
                self._do(words)

    def _do(self, words):
        if words[0] != "securefair":
            there = self.hospital.work
            subprocess.run(list(self.hospital.words(words)), cwd=there, check=True)
        elif words[1:3] == ["site", "start"]:
            assert self._running is None
            self._running = self.hospital.start(*words[1:])
            self.look(words[3], UP)
        else:
            self.said.append(self.hospital.run(words[1:], self._monkeypatch))
            if words[1:3] == ["site", "stop"] and self._running is not None:
                # The next line takes or copies the store: it is nobody's already.
                assert running_process(self.hospital.home / "north" / "store") is None
                self.end()
                self._running = None

    def look(self, folder, expected):
        """The status, as soon as it is one of these."""
        until = time.monotonic() + 120
        while True:
            status = json.loads(
                self.hospital.run(["site", "status", folder, "--json"], self._monkeypatch)
            )
            if status["health"]["state"] in expected:
                return status
            assert time.monotonic() < until, status
            time.sleep(0.1)

    def end(self):
        if self._running is not None:
            self._running.kill()
            self._running.communicate(timeout=60)


@pytest.fixture
def heart(tmp_path, monkeypatch):
    """North and south, who have signed a project."""
    people = hospitals_in(tmp_path, monkeypatch, "north", "south")
    for folder in ("backup", "disk"):
        (people[0].drive / folder).mkdir()
    for one in people:
        new = "identity new north --out ~/securefair --share /mnt/heart"
        one.run(new.split(), monkeypatch)
        propose = "project propose own.csv --label num --out /mnt/heart/north.proposal.toml"
        one.run(propose.split(), monkeypatch)
    found = "project new heart --share /mnt/heart --max-samples 400"
    people[0].run(found.split(), monkeypatch)
    for one in people:
        sign = "project sign /mnt/heart/heart.toml --identity north.keys"
        one.run(sign.split(), monkeypatch)
    return people


INIT = (
    "site init ~/north --project /mnt/heart/heart.toml --identity north.keys --data own.csv "
    "--shared-folder /mnt/heart"
)


@pytest.fixture
def night(heart, monkeypatch):
    """At north, whose site waits for south's."""
    night = Night(heart[0], monkeypatch)
    night.follow([["securefair", *INIT.split()], shlex.split("securefair site start ~/north")])
    yield night
    night.end()


def peer_of(night, name):
    status = night.look("~/north", UP)
    return next(one for one in status["peers"] if one["name"] == name)


@pytest.mark.slow  # a site is started and stopped
def test_a_backup_is_made_and_put_back(night):
    made, back = commands("backup")
    night.follow(made)
    assert (night.hospital.drive / "backup" / "north" / "store").is_dir()
    night.follow(back)
    *_, recovered, blocked = night.said[-1].splitlines()
    assert recovered.startswith("Recovered before its first round was over")
    assert blocked.startswith("Blocked: nobody. Whom it had blocked besides")


@pytest.mark.slow  # a site is opened
def test_a_stop_is_heard_wherever_it_interrupts(heart, monkeypatch):
    """Its handler raised, which is lost in a destructor: one of ten stops came to nothing within
    the first second of a site."""
    heart[0].run(INIT.split(), monkeypatch)

    class Hears:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)

    def run(site, over, beat):
        Hears()
        beat()
        pytest.fail("it runs on")

    monkeypatch.setattr(Site, "run", run)
    with stopped_by_signals() as stop, pytest.raises(KeyboardInterrupt):
        run_site(heart[0].home / "north", Secret(PASSPHRASE.encode()), lambda *_: None, stop)


@pytest.mark.slow  # a site is started seven times
def test_a_site_stops_at_any_moment_of_its_beginning(heart, monkeypatch):
    north = heart[0]
    north.run(INIT.split(), monkeypatch)
    store = north.home / "north" / "store"
    took = []
    for at in range(7):
        running = north.start("site", "start", "~/north")
        try:
            # The first moments are those before it has its store, which a signal just ends.
            while at and running.returncode is None and running_process(store) is None:
                time.sleep(0.001)
            time.sleep(max(0, at - 1) * 0.2)  # until a second after its store
            asked = time.monotonic()
            running.send_signal(signal.SIGINT if at % 3 == 2 else signal.SIGTERM)
            said = "".join(running.communicate(timeout=STOPS_WITHIN))
            took.append(time.monotonic() - asked)
        finally:
            running.kill()
        assert "Traceback" not in said
        assert running.returncode in (EXIT_INTERRUPTED, -signal.SIGTERM), said
        assert running.returncode == EXIT_INTERRUPTED or at < 2, (at, said)
        assert not store.exists() or running_process(store) is None
    assert max(took) < STOPS_WITHIN, took


def test_a_stop_says_where_the_site_runs_still(heart, monkeypatch):
    """Its process hears nothing; a real one might end by itself in the meantime."""
    north = heart[0]
    north.run(INIT.split(), monkeypatch)
    with monkeypatch.context() as deaf:
        deaf.setattr(stopping, "running_process", lambda _: os.getpid())
        deaf.setattr(os, "kill", lambda *_: None)
        with pytest.raises(SecureFairError, match="computes still"):
            stop_site(north.home / "north", seconds=0.1)


@pytest.mark.slow  # a site is started and stopped
def test_patients_change(night):
    (lines,) = commands("patients")
    night.follow(lines)
    settings = (night.hospital.home / "north" / "site.toml").read_text("utf-8")
    assert "own-2027.csv" in settings
    assert re.search("after round 1|from the first round", night.said[-1])


@pytest.mark.slow  # a site is started and stopped
def test_a_machine_is_replaced(night):
    old, new = commands("machine")
    night.follow(old)
    assert not (night.hospital.home / "north").exists()
    (night.hospital.work / "own.csv").unlink()
    night.follow(new)
    assert peer_of(night, "south")["presence"] != "blocked"


@pytest.mark.slow  # a site is started and stopped
def test_a_site_is_upgraded(night):
    (lines,) = commands("upgrade")
    assert [words for words in lines if words[0] in NOT_RUN] == [
        ["pip", "install", "--upgrade", "securefair"]
    ]
    night.follow(lines)
    assert any("goes on" in said or "up to date" in said for said in night.said)


@pytest.mark.slow  # a site is started and stopped
def test_a_peer_is_blocked_and_makes_a_new_identity(night, heart, monkeypatch):
    block, new = commands("keys")
    night.follow(block)
    assert peer_of(night, "south")["presence"] == "blocked"
    south = heart[1]
    Night(south, monkeypatch).follow(seen_from_south(new))
    assert (south.home / "securefair-2" / "south.keys").is_file()


@pytest.mark.slow  # two sites, from start to end
def test_a_hospital_leaves(heart, monkeypatch):
    running = []
    for one in heart:
        one.run(INIT.split(), monkeypatch)
        running.append(one.start("site", "start", "~/north"))
    ended(running, timeout=300)
    gone, without = commands("leave")
    Night(heart[1], monkeypatch).follow(seen_from_south(without))
    assert list(heart[1].work.glob("*-without-*/models/*"))
    for words in gone:
        if words[2] == "leave":
            words += ["--seconds", "1"]  # the other has ended, and hears nothing
    Night(heart[0], monkeypatch).follow(gone)
    assert (heart[0].home / "north" / "erased.json").is_file()
    assert not (heart[0].home / "north" / "keys").exists()


@pytest.mark.slow  # three sites, from start to end
def test_a_hospital_joins(heart, tmp_path, monkeypatch):
    """East makes an identity; north compares, and founds; all join, and end the project."""
    north, east = heart[0], Hospital(tmp_path, "east", "south", 2)
    new, founding, each = commands("join")
    for words in new:
        east.run(words[1:], monkeypatch)
    for words in founding:
        if words[2] == "verify":
            shown = east.run(["identity", "show", "east.card"], monkeypatch)
            words[-1] = shown.split("Fingerprint: ")[1].split("\n")[0]
        north.run(words[1:], monkeypatch)
    (words,) = each
    everyone = [*heart, east]
    ended([one.start(*words[1:], "--yes") for one in everyone], timeout=300)
    for one in everyone:
        assert (one.home / "north-2" / "results" / "report.html").is_file()


def test_every_page_says_what_rehearses_it():
    days, own = set(days_of(vars(YEAR).values())), Path(__file__).read_text("utf-8")
    assert len(PAGES) == 7
    for page in PAGES:
        (told,) = re.findall(r"^Rehearsed: .*(?:\n.+)*", page.read_text("utf-8"), re.MULTILINE)
        assert set(map(int, re.findall(r"\d+", told.partition("`")[0]))) <= days, page.name
        tests = re.findall(r"tests/[\w/]+\.py", told)
        assert "tests/system/test_life.py" in tests
        assert [test for test in tests if not (ROOT / test).is_file()] == []
        assert f'commands("{page.stem}")' in own


def days_of(values):
    for value in values:
        if isinstance(value, range):
            yield from (value.start, value.stop)
        elif isinstance(value, tuple):
            yield from days_of(value)
        elif value is not None:
            yield value
