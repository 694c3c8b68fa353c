"""Three hospitals that describe their patients together: what operators type, and what they see."""

import csv
import json

import numpy as np
import pytest

from support.flows import FILES
from support.operators import SETTINGS, ended, init_arguments, securefair, start, write_table

NAMES = ("north", "south", "west")


def found_project(place, *, name="heart", names=NAMES):
    cards = [part for one in names for part in ("--card", place / f"{one}.card")]
    options = ("--max-samples", 60, "--settings", place / "settings.toml")
    said = securefair(
        *("project", "new", name, *cards, *options),
        *("--algorithm", "table-one", "--out", place / "heart.toml", "--force"),
    )
    for signature in place.glob("heart.*.signature"):  # of an earlier project
        signature.unlink()
    for one in names:
        keys = ("--identity", place / f"{one}.keys", "--passphrase-file", place / "passphrase")
        securefair("project", "sign", place / "heart.toml", *keys)
    return said


@pytest.fixture(scope="module")
def ward(tmp_path_factory):
    """Sites that are ready to start; the table of one has missing values."""
    place = tmp_path_factory.mktemp("w")
    secret = place / "passphrase"
    secret.touch(mode=0o600)
    secret.write_text("correct horse", encoding="ascii")
    settings = SETTINGS.replace("[transfer]\nq = 16\n", "")
    (place / "settings.toml").write_text(settings, encoding="utf-8")
    (place / "shared").mkdir()
    for at, name in enumerate(NAMES):
        write_table(place / f"{name}.csv", at)
        securefair("identity", "new", name, "--out", place, "--passphrase-file", secret)
    return place


def own_column(path, name):
    with path.open(encoding="utf-8") as file:
        return [float(row[name]) for row in csv.DictReader(file)]


def test_three_hospitals_from_start_to_table_one(ward):
    said = found_project(ward)
    assert "Every hospital gets sums over the other 2" in said  # before anybody signs
    for name in NAMES:
        securefair(*init_arguments(ward, name, ward / name))
    checked = securefair("site", "check", ward / "north", "--passphrase-file", ward / "passphrase")
    assert "a cell is told that 3 of 3 hospitals have three patients or more in" in checked
    assert not (ward / "described.json").exists()  # nothing was told
    ended([start(ward, name) for name in NAMES], timeout=240)
    pressures = np.concatenate([own_column(ward / f"{name}.csv", "pressure") for name in NAMES])
    sex = np.concatenate([own_column(ward / f"{name}.csv", "sex") for name in NAMES])
    for name in NAMES:
        results = ward / name / "results"
        found = json.loads((results / "description.json").read_text())
        assert (found["patients"], found["by_hospital"]) == (180, {name: 60})
        rows = {(row["variable"], row["figure"], row["level"]): row for row in found["rows"]}
        mean = rows["pressure", "mean", ""]
        assert mean["together"] == pytest.approx(np.clip(pressures, 90, 200).mean(), abs=2)
        assert set(mean["by_hospital"]) == {name}
        assert rows["sex", "level", "1"]["together"] == sex.sum()
        page = (results / "description.html").read_text(encoding="utf-8")
        assert "pressure, mean (SD)" in page
        assert not [other for other in NAMES if other != name and other in page]
        text = (results / "description.csv").read_text(encoding="utf-8")
        assert text.splitlines()[0] == f"variable,figure,level,all,{name}"
        out = ward / f"{name}-results"
        securefair("site", "export", ward / name, out, "--passphrase-file", ward / "passphrase")
        assert (out / "description.csv").read_text() == text
        left = {path.name for path in out.iterdir()}
        assert left == {one for one in FILES if not one.startswith("validation.")}
        status = json.loads(securefair("site", "status", ward / name, "--json"))
        assert {peer["numbers"] for peer in status["peers"]} == {found["numbers"]}
    told = json.loads((ward / "described.json").read_text())
    assert set(told) == set(NAMES)
    assert {one["numbers"] for one in told.values()} == {found["numbers"]}


def test_a_second_project_of_other_patients_is_refused_before_a_signature(ward):
    """Its table less the first one would be who is new."""
    table = ward / "north.csv"
    table.write_text(table.read_text() + "\n66,1,155.0,1", encoding="utf-8")
    found_project(ward, name="again")
    refused = securefair(*init_arguments(ward, "north", ward / "n2"), fails=True)
    assert "two descriptions would tell their difference" in refused
    assert "of other patients" in refused
    assert len(refused.strip().splitlines()) == 1
    assert not (ward / "n2").exists()
    securefair(*init_arguments(ward, "south", ward / "s2"))  # whose patients are the same
    securefair(*init_arguments(ward, "north", ward / "n2"), "--again")
