"""Two hospitals whose patients have times to an event: what operators type, and what comes."""

import csv
import json

import pytest

from securefair.sites.rehearsal.made_up import made_up
from support.impatient import IMPATIENT
from support.operators import ended, securefair
from support.processes import Process

NAMES = ("hospital-a", "hospital-b")


@pytest.fixture(scope="module")
def share(tmp_path_factory):
    """A folder of both, with cards, proposals and a project that nobody has signed."""
    place = tmp_path_factory.mktemp("w")
    tables, share = made_up(place / "tables", "time", 2), place / "share"
    share.mkdir()
    secret = place / "passphrase"
    secret.touch(mode=0o600)
    secret.write_text("correct horse", encoding="ascii")
    for name in NAMES:
        where = ("--out", place, "--share", share)
        securefair("identity", "new", name, *where, "--passphrase-file", secret)
        proposal = ("--out", share / f"{name}.proposal.toml")
        asked = ("--time", "label", "--event", "event")
        securefair("project", "propose", tables.files(name)[0], *asked, *proposal)
    said = securefair("project", "new", "times", "--share", share, "--max-samples", 60)
    assert "Predicts the time to an event: label, event: event" in said
    return share


def join(share, name):
    place = share.parent
    words = [
        *("site", "join", place / name, "--project", share / "times.toml"),
        *("--identity", place / f"{name}.keys", "--passphrase-file", place / "passphrase"),
        *("--data", place / "tables" / f"{name}.train.csv", "--shared-folder", share, "--yes"),
    ]
    return Process(IMPATIENT, [str(word) for word in words], cwd=place)


@pytest.mark.slow
def test_two_hospitals_with_times_to_an_event_end(share):
    outputs = ended([join(share, name) for name in NAMES], timeout=300)
    assert all("All rounds are over" in output for output in outputs)
    place = share.parent
    for name, peer in (NAMES, NAMES[::-1]):
        status = securefair("site", "status", place / name)
        assert "own model: concordance 0." in status
        results = place / name / "results"
        report = (results / "report.md").read_text("utf-8")
        assert "| concordance | loss in training |" in report
        assert "accuracy" not in report.casefold()
        page = (results / "report.html").read_text("utf-8")
        assert "Survival by predicted risk" in page
        model, table = results / "models" / name, place / "tables" / f"{peer}.test.csv"
        told = securefair("predict", model, table, "--horizon", 5)
        first, *rows = csv.reader(told.splitlines())
        assert first[:2] == ["log_hazard_ratio", "survival_5"]
        assert len(rows) == 30
        found = json.loads(securefair("evaluate", model, table, "--json"))
        assert found["outcome"] == "time"
        assert found["scores"]["concordance"] > 0.5
