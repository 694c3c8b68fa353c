"""Three hospitals with private answers: one only teaches, one never starts."""

import json
import os

import pytest

from support.operators import SETTINGS, ended, init_arguments, securefair, start, write_table

soak = pytest.mark.skipif(
    "SECUREFAIR_KILLS" not in os.environ, reason="minutes of waiting: `make soak` runs it"
)


@pytest.fixture(scope="module")
def half_staffed(tmp_path_factory):
    """Three hospitals agreed on private answers; a teacher and a student start, one never does."""
    place = tmp_path_factory.mktemp("t")
    secret = place / "passphrase"
    secret.touch(mode=0o600)
    secret.write_text("correct horse", encoding="ascii")
    names = ("north", "south", "west")
    for at, name in enumerate(names):
        write_table(place / f"{name}.csv", at)
        securefair("identity", "new", name, "--out", place, "--passphrase-file", secret)
    (place / "settings.toml").write_text("[privacy]\nepsilon = 4.0\n" + SETTINGS, encoding="utf-8")
    cards = [part for name in names for part in ("--card", place / f"{name}.card")]
    project = place / "heart.toml"
    options = ("--max-samples", 60, "--settings", place / "settings.toml", "--out", project)
    waits = ("--round-hours", 0.01, "--setup-hours", 0.005)
    securefair("project", "new", "heart", *cards, *options, *waits)
    for name in names:
        keys = ("--identity", place / f"{name}.keys", "--passphrase-file", secret)
        securefair("project", "sign", project, *keys)
    (place / "shared").mkdir()
    for name, role in (("north", "teacher"), ("south", "both")):
        securefair(*init_arguments(place, name, place / name), "--role", role)
    ended([start(place, "north"), start(place, "south")], timeout=600)
    return place


@pytest.mark.slow
@soak
def test_a_site_that_never_starts_keeps_nobody_from_a_model(half_staffed):
    report = (half_staffed / "south" / "results" / "report.md").read_text(encoding="utf-8")
    assert "| north | 1 | 0 | here | 4 | 0 |" in report
    assert "| west | 0 | 0 | never heard of | 0 | 0 |" in report
    [row] = [line for line in report.split("\n") if line.startswith("| 1 | north |")]
    assert row.endswith("| west away |")
    model = half_staffed / "south" / "results" / "models" / "south"
    predicted = securefair("predict", model, half_staffed / "west.csv")
    assert len(predicted.splitlines()) == 1 + 60
    assert "west: never heard of" in securefair("site", "status", half_staffed / "south")


@soak
@pytest.mark.slow
def test_a_teacher_pays_for_its_fit_and_keeps_its_own_model(half_staffed):
    site = half_staffed / "north"
    report = (site / "results" / "report.md").read_text(encoding="utf-8")
    assert "## Privacy of the own patients" in report
    assert "every row was counted as a patient" in report
    assert "This site only teaches: it asked nobody" in report
    assert "| south | 0 | 0 | here | 0 | 4 |" in report
    model = site / "results" / "models" / "north"
    assert len(securefair("predict", model, half_staffed / "west.csv").splitlines()) == 1 + 60
    card = json.loads((model / "card.json").read_text(encoding="utf-8"))
    assert "times as likely" in card["privacy"]
    secret = ("--passphrase-file", half_staffed / "passphrase")
    said = securefair("site", "check", site, *secret)
    assert "a private fit answers, epsilon 4" in said
