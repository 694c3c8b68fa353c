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

from support.hospitals import hospitals_in
from support.operators import ended

GUIDE = Path(__file__).parents[2] / "docs" / "operators-guide.md"
BOTH = {
    *("identity new", "identity show", "identity verify", "project propose"),
    *("site status", "site stop", "predict", "audit verify"),
}
"""What each hospital does; the first one alone does the rest."""

ELSEWHERE = {"rehearse": "test_rehearsal", "flare keep": "test_flare"}
SHARED = ("*.card", "*.proposal.toml", "settings.toml", "heart.toml")


def commands():
    text = GUIDE.read_text(encoding="utf-8")
    for block in re.findall(r"^```shell\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            words = shlex.split(line)
            if words[0] == "securefair":
                yield words[1:]


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
    return hospitals_in(tmp_path, monkeypatch, "north", "south")


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
    assert {"site join", "site page", "identity passphrase", "flare export"} <= set(done)
    assert len(done) >= 20
