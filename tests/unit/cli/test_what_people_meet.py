"""Slips of new users, each of which an earlier version met with silence or with a riddle."""

import contextlib
import csv
import shutil

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


@pytest.fixture(scope="module")
def run_once(tmp_path_factory):
    """A folder in which a project of these tables has run."""
    folder = tmp_path_factory.mktemp("run")
    for seed, name in enumerate(("north.csv", "south.csv")):
        write(folder / name, 45, seed)
    with contextlib.chdir(folder):
        assert run(*NEW)[0] == 0
        assert run("run", "m/config.toml", "--quiet", "--backend", "clear")[0] == 0
    return folder


@pytest.fixture
def ran(tables, run_once):
    """A copy of it."""
    shutil.copytree(run_once, tables, dirs_exist_ok=True)
    return tables


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


def test_scores_on_the_own_patients_say_so(ran):
    code, said = run("evaluate", "runs/m/models/north", "north.csv")
    assert code == 0
    assert "the patients that the model was fitted to" in said
    write(ran / "later.csv", 45, 7)
    code, said = run("evaluate", "runs/m/models/north", "later.csv")
    assert (code, "fitted to" in said) == (0, False)
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


def numbers(path, patients, seed, *, leak=False, event=None):
    """A table with a number, a time and whether its event came."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["age", "bmi", "hba1c", "months", "died", *(["sugar"] if leak else [])])
        for _ in range(patients):
            age, bmi = round(rng.normal(60, 12)), round(float(rng.normal(27, 4)), 1)
            told = round(float(rng.normal(7 + (bmi - 27) / 20, 0.4)), 1)
            came = int(rng.random() < 0.5)
            came = came if event is None else event[came]
            row = [age, bmi, told, round(float(rng.exponential(20)) + 0.1, 1), came]
            table.writerow(row + ([round(28.7 * told - 46.7, 1)] if leak else []))


NUMBER = ("new", "n", "--data", "a.csv", "--data", "b.csv", "--label", "hba1c")
TIME = ("new", "t", "--data", "a.csv", "--data", "b.csv", "--time", "months", "--event", "died")


def test_a_column_that_is_another_form_of_the_number_is_found(tables):
    for seed, name in enumerate(("a.csv", "b.csv")):
        numbers(tables / name, 45, seed, leak=True)
    code, said = run(*NUMBER, "--outcome", "number", "--drop", "months", "--drop", "died")
    assert (code, said.count("this column alone tells the number")) == (0, 2)
    assert "a, column sugar" in said
    code, said = run("check", "n/config.toml")
    assert (code, said.count("this column alone tells the number")) == (0, 2)
    for seed, name in enumerate(("a.csv", "b.csv")):
        numbers(tables / name, 45, seed)
    assert "tells the number" not in run(*NUMBER[:1], "m", *NUMBER[2:], "--outcome", "number")[1]


def test_what_stands_beside_a_time_is_told(tables):
    for seed, name in enumerate(("a.csv", "b.csv")):
        numbers(tables / name, 45, seed, event=("no", "yes"))
    code, said = run(*TIME)
    assert code == 2
    assert "found 'yes'" in said or "found 'no'" in said
    assert "1 where the event came, 0 where it was not seen" in said
    code, said = run(*TIME[:-1], "months")
    assert (code, "one column is named twice" in said) == (2, True)
    code, said = run(*TIME[:-1], "death")
    assert (code, "a column beside the label is not in the table" in said) == (2, True)
    assert not (tables / "t").exists()


def test_an_outcome_that_is_none_is_told_what_classes_and_times_need(tables):
    for name in ("binary", "survival", "classes"):
        code, said = run(*NEW, "--outcome", name)
        assert (code, "Classes need no --outcome" in said) == (2, True)


def test_a_number_is_told_in_its_parts_and_written_as_onnx(tables):
    for seed, name in enumerate(("a.csv", "b.csv")):
        numbers(tables / name, 45, seed)
    assert run(*NUMBER, "--outcome", "number", "--drop", "months", "--drop", "died")[0] == 0
    code, said = run("check", "n/config.toml")
    assert (code, "up to its median above its median" in said) == (0, True)
    code, _ = run("run", "n/config.toml", "--quiet", "--backend", "clear", "--out", "r1")
    assert code == 0
    code, said = run("export", "r1/models/a", "--out", "a.onnx")
    assert (code, "a.onnx" in said) == (0, True)
    code, said = run("evaluate", "r1/models/a", "b.csv")
    assert (code, "Score Value 95 % interval" in said) == (0, False)


def test_a_table_coded_the_other_way_round_is_worse_than_chance(ran):
    write(ran / "later.csv", 60, 7)
    assert "worse than chance" not in run("evaluate", "runs/m/models/north", "later.csv")[1]
    text = (ran / "later.csv").read_text()
    swapped = text.replace(",ill", ",x").replace(",well", ",ill").replace(",x", ",well")
    (ran / "later.csv").write_text(swapped)
    code, said = run("evaluate", "runs/m/models/north", "later.csv")
    assert (code, "worse than chance" in said) == (0, True)


def test_a_run_without_its_metrics_is_no_site(ran):
    (ran / "runs" / "m" / "metrics.json").unlink()
    code, said = run("report", "runs/m")
    assert (code, "run the configuration again" in said, "A site" in said) == (2, True, False)


def test_options_of_a_plan_keep_the_range_that_their_help_says(tables):
    for option, value in (("flooding_bits", "0"), ("weight_bits", "3"), ("precision", "2")):
        code, said = run("plan", f"--{option.replace('_', '-')}", value)
        assert (code, f"{option}: out of range" in said) == (2, True)


def test_two_codes_that_are_numbered_anew_at_one_hospital_are_found(tables):
    for name, add in (("north.csv", 0), ("south.csv", 1)):
        lines = (tables / name).read_text().splitlines()
        rows = [f"{line},{int(at % 3 == 0) + add}" for at, line in enumerate(lines[1:])]
        (tables / name).write_text("\n".join([f"{lines[0]},diabetes", *rows, ""]))
    code, said = run(*NEW)
    assert (code, "1 may mean two things" in said) == (0, True)


def test_numbers_with_exponents_are_numbers_without_a_unit(tables):
    lines = (tables / "south.csv").read_text().splitlines()
    rows = [line.split(",") for line in lines[1:]]
    text = [f"{age},{float(crea):.2E},{rest},{label}" for age, crea, rest, label in rows]
    (tables / "south.csv").write_text("\n".join([lines[0], *text, ""]))
    code, said = run(*NEW)
    assert (code, "hold a number and a text" in said) == (0, False)


def test_a_web_page_is_no_table(tables):
    (tables / "south.csv").write_text("<html><body>Log in</body></html>")
    code, said = run(*NEW)
    assert (code, "this is a web page, and no table" in said) == (2, True)


def test_the_only_number_below_zero_is_a_code_and_counts_as_missing_in_predictions(tables):
    lines = (tables / "south.csv").read_text().splitlines()
    for at in (3, 9, 11):
        age, _, rest = lines[at].split(",", 2)
        lines[at] = f"{age},-7,{rest}"
    (tables / "south.csv").write_text("\n".join([*lines, ""]))
    code, said = run(*NEW)
    assert (code, '"-7"' in said, "code for a missing value" in said) == (0, True, True)
    assert run("run", "m/config.toml", "--quiet", "--backend", "clear")[0] == 0
    (tables / "new.csv").write_text("age,crea,sex\n-5,1.1,f\n60,1.1,f\n")
    code, said = run("predict", "runs/m/models/north", "new.csv")
    assert (code, '"-5": unknown to the model' in said) == (0, True)


def with_diabetes(path, seed, turned):
    rng = np.random.default_rng(seed)
    lines = path.read_text().splitlines()
    codes = [str(int((rng.random() < 0.08) != turned)) for _ in lines[1:]]
    rows = [f"{line},{one}" for line, one in zip(lines[1:], codes, strict=True)]
    path.write_text("\n".join([lines[0] + ",diabetes", *rows]) + "\n")


@pytest.mark.parametrize("turned", [True, False])
def test_codes_that_may_be_swapped_at_one_hospital_are_asked_about_and_stop_nothing(tables, turned):
    with_diabetes(tables / "north.csv", 1, turned)
    with_diabetes(tables / "south.csv", 2, False)
    said = [
        run(*NEW),
        run("check", "m/config.toml"),
        run("run", "m/config.toml", "--quiet", "--backend", "clear"),
    ]
    assert [code for code, _ in said] == [0, 0, 0]
    asked = ["the two codes may be swapped at one of them" in text for _, text in said[:2]]
    assert asked == [turned, turned]
    metrics = (tables / "runs" / "m" / "metrics.json").read_text()
    assert ("the two codes may be swapped at one of them" in metrics) == turned


def test_a_code_of_the_label_that_is_given_as_missing_is_named_as_a_reason(tables):
    code, said = run(*NEW, "--missing", "ill")
    assert (code, "codes of a missing value (--missing) are none" in said) == (2, True)


def test_a_hospital_where_everybody_had_the_event_is_told_in_its_words(tables):
    rng = np.random.default_rng(0)
    for name, all_died in (("north", False), ("south", True)):
        died = all_died | (rng.random(60) < 0.5)
        rows = [f"{rng.normal(60, 9):.0f},{rng.uniform(1, 50):.1f},{int(one)}" for one in died]
        (tables / f"{name}.csv").write_text("\n".join(["age,months,died", *rows]) + "\n")
    files = ("--data", "north.csv", "--data", "south.csv")
    assert run("new", "m", *files, "--time", "months", "--event", "died")[0] == 0
    code, said = run("check", "m/config.toml")
    assert (code, "south has training samples of one kind only (event)" in said) == (0, True)


def test_codes_that_were_joined_are_not_told_as_of_one_hospital(tables):
    text = (tables / "south.csv").read_text()
    (tables / "south.csv").write_text(text.replace("ill\n", "krank\n").replace("well", "gesund"))
    code, said = run(*NEW, "--class", "well,gesund", "--class", "ill,krank")
    assert (code, "only this hospital" in said) == (0, False)


def test_help_names_every_kind_of_file():
    said = run("new", "--help")[1]
    assert all(kind in said for kind in ("SPSS", "Stata", "SAS"))


def test_help_says_where_keys_of_an_interrupted_run_are():
    """It said that no key is stored; stores of the participants hold them."""
    said = " ".join(run("resume", "--help")[1].split())
    assert "never stored" not in said
    assert "which hold their secret keys until the run is over" in said
