"""Slips of new users, each of which an earlier version met with silence or with a riddle."""

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

from securefair.cli import app


def write(path, patients, seed):
    rng = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["age", "crea", "sex", "outcome"])
        for _ in range(patients):
            age, crea = round(rng.normal(60, 12)), round(float(rng.normal(1.1, 0.2)), 2)
            ill = rng.normal((age - 60) / 12, 1) > 0
            table.writerow([age, crea, rng.choice(["f", "m"]), "ill" if ill else "well"])


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("north.csv", "south.csv")):
        write(tmp_path / name, 45, seed)
    return tmp_path


def run(*arguments):
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, " ".join(done.output.split())


NEW = ("new", "m", "--data", "north.csv", "--data", "south.csv", "--label", "outcome")


def test_new_says_of_which_class_sensitivity_is(tables):
    code, said = run(*NEW)
    assert code == 0
    assert 'must not be missed: "well"' in said
    assert "--positive" in said


def test_the_label_cannot_be_dropped(tables):
    code, said = run(*NEW, "--drop", "outcome")
    assert (code, "the column to predict cannot be left out" in said) == (2, True)


def test_too_few_samples_are_no_good_order(tables):
    assert run(*NEW)[0] == 0
    config = tables / "m" / "config.toml"
    config.write_text(config.read_text().replace("0.3333333333333333", "0.97"))
    code, said = run("check", "m/config.toml")
    assert code == 0
    assert "too few samples to learn from or to test on at north, south" in said
    assert "Everything is in order" not in said


def test_scores_on_the_own_patients_say_so(tables):
    assert run(*NEW)[0] == 0
    assert run("run", "m/config.toml", "--quiet", "--backend", "clear")[0] == 0
    code, said = run("evaluate", "runs/m/models/north", "north.csv")
    assert code == 0
    assert "the patients that the model was fitted to" in said
    write(tables / "later.csv", 45, 7)
    code, said = run("evaluate", "runs/m/models/north", "later.csv")
    assert (code, "fitted to" in said) == (0, False)
    code, said = run("export", "runs/m", "--out", "m.pdf")
    assert (code, "a folder, or one file that ends in .zip" in said) == (2, True)
    assert not (tables / "m.pdf").exists()
    code, said = run("report", "runs/m", "--language", "DE")
    assert (code, "report.de.html" in said) == (0, True)


@pytest.mark.parametrize(
    ("name", "spelt"), [("Köln", "Koeln"), ("St. Mary", "St.-Mary"), ("Besançon", "Besancon")]
)
def test_a_name_with_accents_is_refused_with_a_spelling_that_is_not(tables, name, spelt):
    (tables / "pass").write_text("correct horse\n")
    (tables / "pass").chmod(0o600)
    code, said = run("identity", "new", name, "--passphrase-file", "pass")
    assert (code, f"Such as {spelt}" in said) == (2, True)


def test_a_folder_is_no_passphrase(tables):
    (tables / "folder").mkdir()
    code, said = run("identity", "new", "north", "--passphrase-file", "folder")
    assert (code, "is a folder" in said, "chmod" in said) == (2, True, False)
