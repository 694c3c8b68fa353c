"""Sites of which one measures more: it asks about, and answers by, what both have."""

import csv

import numpy as np
import pytest

from support.operators import PASSPHRASE, kept_models, securefair

NAMES = ("north", "south")
SETTINGS = """
[transfer]
q = 8
[table]
label = "ill"
classes = [["0"], ["1"]]
origin = "public"
[[table.columns]]
name = "age"
kind = "numeric"
low = 20
high = 90
[[table.columns]]
name = "smokes"
kind = "binary"
"""


def write_table(path, seed, *, more):
    rng = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "smokes", *(["crp"] if more else []), "ill"])
        for _ in range(45):
            age, smokes, crp = rng.uniform(30, 80), rng.integers(0, 2), rng.normal(10, 4)
            ill = (age - 55) / 20 + 0.5 * (crp - 10) + rng.logistic() > 0
            writer.writerow([round(age, 1), smokes, *([round(crp, 1)] if more else []), int(ill)])


@pytest.fixture
def ward(tmp_path):
    """A signed project of two columns, and two tables, one of which has a third."""
    secret = tmp_path / "passphrase"
    secret.touch(mode=0o600)
    secret.write_text(PASSPHRASE, encoding="ascii")
    for at, name in enumerate(NAMES):
        write_table(tmp_path / f"{name}.csv", at, more=name == "north")
        securefair("identity", "new", name, "--out", tmp_path, "--passphrase-file", secret)
    (tmp_path / "settings.toml").write_text(SETTINGS, encoding="utf-8")
    cards = [part for name in NAMES for part in ("--card", tmp_path / f"{name}.card")]
    project = tmp_path / "heart.toml"
    options = ("--max-samples", 60, "--settings", tmp_path / "settings.toml", "--out", project)
    securefair("project", "new", "heart", *cards, *options)
    for name in NAMES:
        keys = ("--identity", tmp_path / f"{name}.keys", "--passphrase-file", secret)
        securefair("project", "sign", project, *keys)
    (tmp_path / "shared").mkdir()
    return tmp_path


def init(ward, name, *more, **said):
    return securefair(
        *("site", "init", ward / name, "--project", ward / "heart.toml"),
        *("--identity", ward / f"{name}.keys", "--data", ward / f"{name}.csv"),
        *("--shared-folder", ward / "shared", "--passphrase-file", ward / "passphrase"),
        *more,
        **said,
    )


def test_each_site_keeps_a_model_of_what_it_measures(ward):
    refused = init(ward, "south", "--own-column", "crp", fails=True)
    assert "the table has no such column" in refused
    init(ward, "north", "--own-column", "crp")
    init(ward, "south")
    said = securefair("site", "check", ward / "north", "--passphrase-file", ward / "passphrase")
    assert "The model of north alone also uses column crp" in said
    north, south = kept_models([ward / name for name in NAMES])
    for model, table in ((north, "north"), (south, "south"), (south, "north")):
        out = ward / f"{model.name}-{table}.csv"
        securefair("predict", model, ward / f"{table}.csv", "--out", out)
        rows = list(csv.DictReader(out.read_text().splitlines()))
        assert len(rows) == 45
    assert "crp" in (north / "card.json").read_text()
    assert "crp" in securefair("predict", north, ward / "south.csv", fails=True)
