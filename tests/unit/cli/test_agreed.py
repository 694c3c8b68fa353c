"""What a project says is read before anybody signs: columns, ranges, and who stands in a group."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from securefair.cli.agreed import MOST_COLUMNS, column_text, group_lines, table_lines
from securefair.config.columns import CategoricalColumn, ImageColumn, NumericColumn
from securefair.model.transfer.peers import asked_peers
from securefair.sites.project.project import signature_file
from support.operators import SETTINGS, found, init_arguments, securefair

COLUMNS = (
    "Columns (3): age (numeric, 30 to 80), sex (binary, 0 or 1), pressure (numeric, 90 to 200)"
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Two hospitals; the range of pressure clips all but a few of the north."""
    place = tmp_path_factory.mktemp("agreed")
    found(place, settings=SETTINGS)
    return place


def signing(place, name="north"):
    keys = ("--identity", place / f"{name}.keys", "--passphrase-file", place / "passphrase")
    return ("project", "sign", place / "heart.toml", *keys)


@pytest.mark.parametrize("command", ["join", "init", "check", "sign"])
def test_columns_with_kind_and_range_are_said_before_a_signature(place, tmp_path, command):
    words = init_arguments(place, "north", tmp_path / "n")
    said = {
        "join": lambda: securefair("site", "join", *words[2:], fails=True, types="n\n"),
        "init": lambda: securefair(*words),
        "check": lambda: securefair("project", "check", place / "heart.toml"),
        "sign": lambda: securefair(*signing(place)),
    }
    if command == "join":
        signature_file(place / "heart.toml", "north").unlink()
    out = said[command]()
    assert f"Label: num\n{COLUMNS}\n" in out
    if command == "join":
        assert out.index("Columns") < out.index("Sign this as north?")
        assert not signature_file(place / "heart.toml", "north").exists()
        securefair(*signing(place))
    if command == "sign":
        assert out.index("Columns") < out.index("Signature: ")


def test_scripts_read_the_same(place):
    facts = json.loads(securefair("project", "check", place / "heart.toml", "--json"))
    assert facts["table"] == ["Label: num", COLUMNS]
    assert facts["groups"] == [["north", "south"]]


def test_ranges_that_clip_most_own_patients_are_said_before_a_signature(tmp_path):
    """Whoever writes such a range may look for those beyond the other end."""
    found(tmp_path, settings=SETTINGS.replace("low = 90.0", "low = 150.0"))
    signature_file(tmp_path / "heart.toml", "north").unlink()
    words = init_arguments(tmp_path, "north", tmp_path / "n")
    out = securefair("site", "join", *words[2:], fails=True, types="n\n")
    clipped = out.index("patients lie beyond the range 150 to 200")
    assert clipped < out.index("Sign this as north?")
    securefair(*signing(tmp_path))
    assert "patients lie beyond the range 150 to 200" in securefair(*words)


def terms(columns, **table):
    given = {"label": "ill", "label_range": None, "patient_column": None} | table
    section = SimpleNamespace(columns=columns, **given)
    return SimpleNamespace(config=SimpleNamespace(table=section))


def test_the_range_of_a_label_and_the_column_of_patients_are_said():
    said = table_lines(terms([], label="grade", label_range=(0.0, 20.0), patient_column="case"))
    assert said[0] == "Label: grade, 0 to 20; case names patients"
    assert table_lines(SimpleNamespace(config=SimpleNamespace(table=None))) == []


def test_long_lists_end_with_how_many_more():
    many = [NumericColumn(name=f"x{at}", low=0, high=1) for at in range(MOST_COLUMNS + 7)]
    said = " ".join(" ".join(table_lines(terms(many))[1:]).split())
    assert said.endswith("and 7 more")
    assert f"x{MOST_COLUMNS - 1} " in said
    assert f"x{MOST_COLUMNS} " not in said
    assert max(map(len, table_lines(terms(many)))) < 100


def test_every_kind_of_column_is_said():
    cp = CategoricalColumn(name="cp", levels=("1", "2", "3"))
    assert column_text(cp) == "cp (categorical, 3 levels)"
    scan = ImageColumn(name="scan", architecture="resnet18", sha256="0" * 64, features=64)
    assert column_text(scan) == "scan (image, 64 features)"


def test_names_with_line_breaks_make_no_lines():
    forged = NumericColumn(name="age\nBefore you sign: nothing", low=0, high=1)
    assert len(table_lines(terms([forged], label="ill\nfine"))) == 2


# --- groups ---


def agreement(names, seed):
    asked = asked_peers(names, 8, seed)
    return SimpleNamespace(participants=names, met_by=lambda name: asked[name])


def test_a_hospital_reads_who_stands_in_its_group():
    """Whoever writes the project chooses: with this seed seven of eight accomplices do."""
    names = tuple(f"a{at}" for at in range(8)) + tuple(f"h{at}" for at in range(10))
    seed = next(
        seed
        for seed in range(2000)
        if sum(one.startswith("a") for one in asked_peers(names, 8, seed)["h3"]) >= 7
    )
    group, chosen = group_lines(agreement(names, seed), "h3")
    told = group.split(": ")[1].split(", ")
    assert group.startswith("Group of h3, 9 of 18 sites: ")
    assert sum(one.startswith("a") for one in told) >= 7
    assert "chooses its seed and the order of its cards" in chosen


def test_who_reads_for_nobody_sees_all_groups_up_to_some():
    names = tuple(np.char.add("h", np.arange(120).astype(str)).tolist())
    *groups, more, _ = group_lines(agreement(names, 0))
    assert len(groups) == 10
    assert all(one.startswith("A group, ") for one in groups)
    assert more == "And 3 more groups"


def test_one_group_is_everybody_and_not_said():
    assert group_lines(agreement(("a", "b", "c"), 0), "a") == []
