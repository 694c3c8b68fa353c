"""Every command of the operator's guide, in the order of the page, at two hospitals."""

import json
import os
import re
import shlex
import shutil
import signal
import time
import urllib.request
from pathlib import Path

import pytest

from support.operators import ended, securefair, write_table
from support.processes import Process

GUIDE = Path(__file__).parents[2] / "docs" / "operators-guide.md"
BOTH = {
    *("identity new", "identity show", "identity verify", "project propose"),
    *("site status", "site stop", "predict", "audit verify"),
}
"""What each hospital does; the first one alone does the rest."""

ELSEWHERE = {"rehearse": "test_rehearsal", "flare keep": "test_flare"}
SHARED = ("*.card", "*.proposal.toml", "settings.toml", "heart.toml")
PASSPHRASE = "correct horse battery staple"


def commands():
    text = GUIDE.read_text(encoding="utf-8")
    for block in re.findall(r"^```shell\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            words = shlex.split(line)
            if words[0] == "securefair":
                yield words[1:]


class Hospital:
    """A home folder of its own; files that hospitals send each other are copied by hand."""

    def __init__(self, place, name, other, seed):
        self.name, self.other = name, other
        self.home = place / name
        self.work = self.home / "securefair"
        self.work.mkdir(parents=True)
        write_table(self.work / "own.csv", seed)
        shutil.copy(self.work / "own.csv", self.work / "new.csv")
        later = self.work / "own-2027.csv"  # patients of the other have come
        write_table(later, 1 - seed)
        came = later.read_text(encoding="utf-8").partition("\n")[2]
        later.write_text(f"{(self.work / 'own.csv').read_text('utf-8')}\n{came}", "utf-8")
        self.drive = place / "mnt"
        (self.drive / "heart").mkdir(parents=True, exist_ok=True)

    def words(self, words):
        """The page is written for the north."""
        swap = {"north": self.name, "south": self.other}
        for word in words:
            parts = [part.partition(".") for part in word.split("/")]
            word = "/".join(f"{swap.get(stem, stem)}{dot}{kind}" for stem, dot, kind in parts)
            for here, there in (("~/", f"{self.home}/"), ("/mnt/", f"{self.drive}/")):
                word = word.replace(here, there) if word.startswith(here) else word
            yield word

    def run(self, words, monkeypatch, *, fails=False):
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.chdir(self.work)
        return securefair(*self.words(words), fails=fails, types="y\n")

    def start(self, *words):
        variables = os.environ | {"HOME": str(self.home)}
        return Process("securefair", self.words(words), cwd=self.work, env=variables)


def exchange(hospitals):
    """Send what changed last to the other."""
    for pattern in SHARED:
        files = {path.name for one in hospitals for path in one.work.glob(pattern)}
        for name in files:
            copies = [one.work / name for one in hospitals if (one.work / name).exists()]
            newest = max(copies, key=lambda path: path.stat().st_mtime_ns)
            for one in hospitals:
                if one.work / name != newest:
                    shutil.copy2(newest, one.work / name)


@pytest.fixture
def hospitals(tmp_path, monkeypatch):
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    (credentials / "securefair-passphrase").write_text(PASSPHRASE, encoding="ascii")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(credentials))
    return [
        Hospital(tmp_path, name, other, at)
        for at, (name, other) in enumerate((("north", "south"), ("south", "north")))
    ]


def read_page(north, words):
    """`site page` serves until it is interrupted."""
    page = north.start(*words, "--json")
    try:
        address = json.loads(page.stdout.readline())["address"]
        with urllib.request.urlopen(address, timeout=60) as answer:
            assert b"EventSource" in answer.read()
        page.send_signal(signal.SIGINT)
        page.communicate(timeout=60)
    finally:
        page.kill()


def change_passphrases(hospitals, words, monkeypatch):
    """Each hospital in turn; from then on the new passphrase is the one that systemd gives."""
    credentials = Path(os.environ["CREDENTIALS_DIRECTORY"])
    (credentials / "securefair-new-passphrase").write_text("new horse", encoding="ascii")
    for one in hospitals:
        assert "opens with the new passphrase only" in one.run(words, monkeypatch)
    (credentials / "securefair-new-passphrase").rename(credentials / "securefair-passphrase")


def run_sites(hospitals, words):
    outputs = ended([one.start(*words) for one in hospitals], timeout=600)
    assert all("All rounds are over" in output for output in outputs)


@pytest.mark.slow
def test_two_hospitals_do_what_the_page_says(hospitals, monkeypatch):
    north = hospitals[0]
    done = []
    for words in commands():
        what = words[0] if words[1][:1] in ("-", "~") else " ".join(words[:2])
        done.append(what)
        if what in ELSEWHERE:
            continue
        if what == "identity verify":
            shown = hospitals[1].run(["identity", "show", "north.card"], monkeypatch)
            words[-1] = shown.split("Fingerprint: ")[1].split("\n")[0]
            assert "The same" in north.run(words, monkeypatch)
        elif what == "site join":
            run_sites(hospitals, [*words, "--yes"])
            assert len(list((north.drive / "heart").glob("heart.*.signature"))) == 2
        elif what == "identity passphrase":
            change_passphrases(hospitals, words, monkeypatch)
        elif what == "site page":
            read_page(north, words)
        elif what == "site renew":
            assert "after round 1" in north.run(words, monkeypatch)
        elif what == "site leave":  # the other has ended: nobody would hear it in a minute either
            said = north.run([*words, "--seconds", "1"], monkeypatch)
            assert "south: not reached" in said
        elif what == "site init":  # with a relay instead, from the start: files are sent by hand
            shutil.rmtree(north.home / "north")
            for file in (north.drive / "heart").glob("heart.*"):
                if file.is_file():
                    shutil.copy(file, north.work)
            north.run(words, monkeypatch)
        elif what == "flare harden":
            kit = north.work / words[2]
            (kit / "startup").mkdir(parents=True)
            (kit / "local").mkdir()
            for file in ("resources.json", "authorization.json"):
                (kit / "local" / f"{file}.default").write_text("{}", encoding="ascii")
            north.run(words, monkeypatch)
        else:
            differ = words[-1].endswith("south.proposal.toml")  # their tables do
            for one in hospitals if what in BOTH else hospitals[:1]:
                one.run(words, monkeypatch, fails=differ)
                time.sleep(0.01)  # so that the newest copy is the newest
                exchange(hospitals)
    assert {"site join", "refit", "site renew", "site erase", "flare export"} <= set(done)
    assert len(done) > 20
