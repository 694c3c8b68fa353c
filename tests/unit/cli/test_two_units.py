"""A measurement in two units stops check, run and describe with one line."""

import json
import tomllib

import numpy as np
import pytest

FACTOR = 38.67


def table(path, seed, factor=1.0):
    draw = np.random.default_rng(seed)
    rows = [
        f"{draw.normal(60, 9):.0f},{factor * draw.normal(5.4, 0.9):.4g},{at % 2}"
        for at in range(60)
    ]
    path.write_text("\n".join(["age,chol,ill", *rows]) + "\n", encoding="utf-8")


@pytest.fixture
def made(invoke, tmp_path):
    for at, (name, factor) in enumerate((("north", 1.0), ("south", FACTOR), ("west", FACTOR))):
        table(tmp_path / f"{name}.csv", at, factor)
    data = [part for name in ("north", "south", "west") for part in ("--data", f"{name}.csv")]
    done = invoke("new", "mine", *data, "--label", "ill")
    assert done.exit_code == 0, done.output
    assert "as if one were in another unit" in done.output
    return tmp_path / "mine" / "config.toml"


@pytest.mark.parametrize("command", ["check", "run", "describe", "validate"])
def test_nothing_is_sent(invoke, made, command):
    done = invoke(command, "mine/config.toml")
    assert done.exit_code == 2
    said = [line for line in done.output.splitlines() if "another unit" in line]
    assert len(said) == 1
    assert "column chol" in said[0]
    assert "mmol/l of cholesterol and mg/dl" in said[0]
    assert 'same_unit = ["chol"]' in said[0]
    assert not (made.parent.parent / "runs").exists()
    assert not (made.parent / "described.json").exists()


def test_json_says_so_too_and_whoever_means_it_goes_on(invoke, made):
    done = invoke("check", "mine/config.toml", "--json")
    assert done.exit_code == 2
    kinds = [one["kind"] for one in json.loads(done.stdout)["findings"]]
    assert "units" in kinds
    assert "refused" in kinds
    text = made.read_text(encoding="utf-8")
    assert tomllib.loads(text)["table"]["same_unit"] == []
    made.write_text(text.replace("same_unit = []", 'same_unit = ["chol"]'), encoding="utf-8")
    done = invoke("check", "mine/config.toml")
    assert done.exit_code == 0, done.output
    assert "another unit" not in done.output


def test_a_unit_beyond_the_agreed_range_is_refused(invoke, tmp_path, made):
    for name in ("north", "south", "west"):
        table(tmp_path / f"{name}.csv", 1, FACTOR)
    text = made.read_text(encoding="utf-8")
    start = text.index('name = "chol"')
    low = text.index("low = ", start)
    end = text.index("\n", text.index("high = ", start))
    made.write_text(text[:low] + "low = 2.0\nhigh = 12.0" + text[end:], encoding="utf-8")
    done = invoke("check", "mine/config.toml")
    assert done.exit_code == 2
    assert "beyond the agreed range, as if in another unit (such as " in done.output


def test_sites_are_told_before_rules_are_joined(invoke, tmp_path):
    """Of what proposals tell: ranges that do not meet."""
    for name, factor in (("north", 1.0), ("south", FACTOR)):
        table(tmp_path / f"{name}.csv", 1, factor)
        invoke("project", "propose", f"{name}.csv", "--label", "ill", "--out", f"{name}.toml")
    words = ("project", "check", "north.toml", "south.toml", "--out", "settings.toml")
    refused = invoke(*words)
    assert refused.exit_code == 2
    assert "column chol: values are" in refused.output
    assert "--same-unit chol" in refused.output
    assert not (tmp_path / "settings.toml").exists()
    done = invoke(*words, "--same-unit", "chol")
    assert done.exit_code == 0, done.output
    assert tomllib.loads((tmp_path / "settings.toml").read_text())["table"]["same_unit"] == ["chol"]
