"""Three hospitals whose patients have several rows, from their proposals to what each computes."""

import json
import tomllib

import numpy as np
import pytest

from securefair.sites.project.project import load_project
from securefair.sites.site.folder import read_settings
from securefair.sites.site.samples import own_findings, own_samples
from support.operators import PASSPHRASE, ended, init_arguments, securefair, start

NAMES = ("north", "south", "west")
PATIENTS, VISITS = 20, 3


def write_visits(path, seed, heading="patient_id"):
    """Visits of patients in any order; only the pressure differs from visit to visit."""
    draw = np.random.default_rng(seed)
    age = draw.integers(40, 70, PATIENTS)
    lines = [
        f"P{seed}{who:02},{age[who]},{who // 2 % 2},{draw.normal(130, 12):.0f},{who % 2}"
        for who in draw.permutation(np.repeat(np.arange(PATIENTS), VISITS))
    ]
    path.write_text("\n".join([f"{heading},age,sex,pressure,died", *lines]), encoding="utf-8")


def propose(place, name, *options):
    out = place / f"{name}.proposal.toml"
    words = ("project", "propose", place / f"{name}.csv", "--label", "died", "--out", out)
    return securefair(*words, "--force", *options)


def new_project(place, *options):
    words = ("project", "new", "heart", "--share", place, "--max-samples", 60, "--force")
    said = securefair(*words, *options)
    return said, tomllib.loads((place / "heart.toml").read_text())["table"]


@pytest.fixture
def ward(tmp_path):
    """A folder of all with cards and proposals."""
    secret = tmp_path / "passphrase"
    secret.touch(mode=0o600)
    secret.write_text(PASSPHRASE, encoding="ascii")
    (tmp_path / "shared").mkdir()
    for seed, name in enumerate(NAMES):
        write_visits(tmp_path / f"{name}.csv", seed)
        securefair("identity", "new", name, "--out", tmp_path, "--passphrase-file", secret)
        propose(tmp_path, name)
    return tmp_path


def sign(place):
    for name in NAMES:
        keys = ("--identity", place / f"{name}.keys", "--passphrase-file", place / "passphrase")
        securefair("project", "sign", place / "heart.toml", *keys)


def test_a_sites_parts_are_of_patients(ward):
    said, table = new_project(ward)
    assert "Before you sign: Ranges and levels" in said
    assert "patient_id names the patients" in said
    assert "left out: patient_id" not in said
    assert table["patient_column"] == "patient_id"
    assert [one["name"] for one in table["columns"]] == ["age", "sex", "pressure"]
    sign(ward)
    terms = load_project(ward / "heart.toml").terms
    for name in NAMES:
        said = securefair(*init_arguments(ward, name, ward / name))
        assert "Before you sign" not in said
        assert "Signed, and to think of: Ranges and levels" in said
        own = own_samples(read_settings(ward / name), terms, seed=0)
        lines = (ward / f"{name}.csv").read_text().splitlines()[1:]
        whose = [lines[row].split(",")[0] for row in own.rows]
        train, test = set(whose[: len(own.train)]), set(whose[len(own.train) :])
        assert train.isdisjoint(test)
        assert len(train) + len(test) == PATIENTS


def test_table_one_of_sites_counts_patients(ward):
    _, table = new_project(ward, "--algorithm", "table-one")
    assert table["patient_column"] == "patient_id"
    sign(ward)
    for name in NAMES:
        securefair(*init_arguments(ward, name, ward / name))
    ended([start(ward, name) for name in NAMES], timeout=240)
    for name in NAMES:
        found = json.loads((ward / name / "results" / "description.json").read_text())
        everyone = len(NAMES) * PATIENTS
        assert (found["patients"], found["by_hospital"]) == (everyone, {name: PATIENTS})


def test_rules_of_compared_proposals_have_the_column(ward):
    files = [ward / f"{name}.proposal.toml" for name in NAMES]
    securefair("project", "check", *files, "--out", ward / "rules.toml")
    rules = tomllib.loads((ward / "rules.toml").read_text())
    assert rules["table"]["patient_column"] == "patient_id"


@pytest.mark.parametrize("heading", ["case_id", "visit"])
def test_a_hospital_of_another_column_or_none_is_told(ward, heading):
    write_visits(ward / "west.csv", 2, heading)
    propose(ward, "west")
    said, table = new_project(ward)
    assert "patient_column" not in table
    line = next(one for one in said.splitlines() if one.startswith("patient_id: "))
    other = {"case_id": "case_id names the patients of west", "visit": "west.proposal.toml named"}
    assert other[heading].removesuffix(" of west") in line
    assert "every row counts as a patient" in line
    assert "propose again with --patient-column patient_id" in line
    terms = load_project(ward / "heart.toml").terms
    found = own_findings("north", str(ward / "north.csv"), terms)
    (told,) = [one for one in found if one.kind == "several_rows"]
    assert told.remedy.startswith("Ask who writes the project to name this column")


def test_a_row_of_nobody_is_told_by_who_proposes(ward):
    table = ward / "north.csv"
    first, *lines = table.read_text().splitlines()
    lines[6] = "," + lines[6].split(",", 1)[1]
    table.write_text("\n".join([first, *lines]))
    assert "patient_id: line 8 names nobody" in propose(ward, "north")
    new_project(ward)
    sign(ward)
    refused = securefair(*init_arguments(ward, "north", ward / "north"), fails=True)
    assert "line 8, column patient_id: a row without a patient. Say whose it is" in refused
