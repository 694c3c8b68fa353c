"""Outcomes that are no classes, through the command line: from tables to predictions."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import securefair as sf
from securefair.cli import app
from securefair.config import NumericColumn
from securefair.data import TableSpec, Target
from securefair.errors import DataError

ASKED = {
    "time": ["--time", "months", "--event", "died", "--drop", "grade", "--drop", "visits"],
    "number": ["--outcome", "number", "--label", "grade", "--drop", "months", "--drop", "died"],
    "count": ["--outcome", "count", "--label", "visits", "--exposure", "years"],
}
LEFT = {"time": ["years"], "number": ["visits", "years"], "count": ["months", "died", "grade"]}
SCORES = {
    "time": {"concordance", "integrated_brier", "partial_log_likelihood"},
    "number": {"r2", "mean_absolute_error", "log_likelihood", "coverage"},
    "count": {"deviance", "explained_deviance", "mean_absolute_error"},
}
PICTURES = {"time": 3, "number": 2, "count": 2}
FIRST = {"time": "log_hazard_ratio", "number": "expected", "count": "rate"}
NAMES = ["a", "b", "age", "months", "died", "grade", "visits", "years"]


def rows_of(seed, patients=60):
    rng = np.random.default_rng(seed)
    a, b, age = rng.normal(size=patients), rng.normal(size=patients), rng.integers(40, 80, patients)
    slope = 0.8 * a - 0.5 * b + (age - 60) / 30
    event, left = rng.exponential(20 * np.exp(-slope)), rng.exponential(30, patients)
    years = rng.uniform(0.5, 3, patients)
    columns = [
        a.round(3),
        b.round(3),
        age,
        np.maximum(0.1, np.minimum(event, left)).round(1),
        (event <= left).astype(int),
        (12 + 3 * slope + rng.normal(size=patients)).round(1),
        rng.poisson(years * np.exp(slope / 2)),
        years.round(2),
    ]
    return [list(row) for row in zip(*(one.tolist() for one in columns), strict=True)]


def write(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([NAMES, *rows])


@pytest.fixture
def started(tmp_path, monkeypatch):
    """A project of an outcome: `started(name, north=rows)` -> result of `securefair new`."""
    monkeypatch.chdir(tmp_path)

    def start(name, north=None):
        write(tmp_path / "north.csv", rows_of(1) if north is None else north)
        write(tmp_path / "south.csv", rows_of(2))
        drop = [word for column in LEFT[name] for word in ("--drop", column)]
        data = ["--data", "north.csv", "--data", "south.csv"]
        return command("new", "mine", *data, *ASKED[name], *drop)

    return start


def command(*words):
    return CliRunner().invoke(app, list(words))


def run(tmp_path, backend):
    config = tmp_path / "mine/config.toml"
    text = config.read_text().splitlines()
    lines = [f'backend = "{backend}"' if one.startswith("backend =") else one for one in text]
    config.write_text("\n".join(lines))
    found = command("run", "mine/config.toml", "--quiet")
    assert found.exit_code == 0, found.output
    return tmp_path / "runs/mine"


@pytest.mark.parametrize(
    ("name", "backend"),
    [("time", "clear"), ("number", "clear"), ("count", "clear"), ("time", "seal")],
)
def test_a_study_runs_from_tables_to_predictions(started, tmp_path, name, backend):
    assert started(name).exit_code == 0
    checked = command("check", "mine/config.toml")
    assert checked.exit_code == 0
    assert "accuracy" not in checked.output.casefold()
    folder = run(tmp_path, backend)
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["outcome"] == name
    assert set(metrics["controls"]) == {"standalone", "averaged_alone", "most_common"}
    for one in metrics["algorithms"].values():
        assert set(one["metrics"]) == SCORES[name]
        for metric in one["metrics"].values():
            assert metric["mean"] is not None
            assert metric["se"] is not None
            assert set(metric["by_hospital"]) == {"north", "south"}
            assert None not in metric["by_hospital"].values()
            assert None not in metric["se_by_hospital"].values()
    told = command("predict", str(folder / "models/north"), "south.csv").output.splitlines()
    assert told[0].startswith(FIRST[name])
    assert len(told) == 61
    for words in (("show",), ("evaluate",)):
        rest = ["south.csv"] if words == ("evaluate",) else []
        assert command(*words, str(folder / "models/north"), *rest).exit_code == 0
    assert "ratio" in (folder / "models/north/estimates.csv").read_text() or name == "number"
    assert "accuracy" not in command("report", str(folder)).output.casefold()
    page = (folder / "report.html").read_text("utf-8")
    assert "accurac" not in page.casefold()
    assert page.count('<figure class="picture">') == PICTURES[name]
    for language in ("de", "fr"):
        said = command("report", str(folder), "--language", language)
        assert said.exit_code == 0, said.output


def test_a_pool_can_be_asked_for_and_scores_go_by_their_names(started, tmp_path):
    assert started("time").exit_code == 0
    config = tmp_path / "mine/config.toml"
    text = config.read_text().replace("ceiling = false", "ceiling = true")
    config.write_text(text.replace('backend = "rns"', 'backend = "clear"'))
    ran = command("run", "mine/config.toml")
    assert ran.exit_code == 0, ran.output
    assert "Pooled data: round 1 of 1, concordance 0." in ran.output
    assert "accuracy" not in ran.output.casefold()
    folder = tmp_path / "runs/mine"
    metrics = json.loads((folder / "metrics.json").read_text())
    pooled = metrics["algorithms"]["pooled"]["metrics"]["integrated_brier"]
    assert set(pooled["by_hospital"]) == {"north", "south"}
    assert "pooled" not in metrics["controls"]
    rounds = [json.loads(line) for line in (folder / "rounds.jsonl").read_text().splitlines()]
    assert {one["headline"] for one in rounds} == {"concordance"}


@pytest.mark.parametrize("name", ["time", "number"])
def test_opened_numbers_are_off_by_less_than_the_check_said(started, tmp_path, name):
    """A check's bound and a run's error are of one unit; what they are set against differs."""
    assert started(name).exit_code == 0
    checked = json.loads(command("check", "mine/config.toml", "--json").output)
    folder = run(tmp_path, "rns")
    encryption = json.loads((folder / "metrics.json").read_text())["encryption"]
    measured = json.loads((folder / "measured.json").read_text())["encryption"]
    plan = checked["plan"]
    assert encryption["error_bound"] == plan["error_bound"]
    assert 0 < encryption["max_abs_error"] <= plan["error_bound"]
    # The public range of a number is wider than what the numbers of a run fill.
    public = plan["error_bound"] / plan["relative_error"]
    filled = encryption["max_abs_error"] / measured["error_over_range"]
    assert filled < public
    said = command("report", str(folder)).output
    assert "the plan allows" in " ".join(said.split())


def test_encryption_changes_scores_by_its_error_only(started, tmp_path):
    assert started("count").exit_code == 0
    means = []
    for backend in ("clear", "seal"):
        folder = run(tmp_path, backend)
        metrics = json.loads((folder / "metrics.json").read_text())
        means.append(metrics["algorithms"]["transfer"]["metrics"]["deviance"]["mean"])
        folder.rename(tmp_path / backend)
    assert means[1] == pytest.approx(means[0], abs=0.05)


def test_survival_falls_with_the_horizon(started, tmp_path):
    assert started("time").exit_code == 0
    model = str(run(tmp_path, "clear") / "models/north")
    said = command("predict", model, "south.csv", "--json", "--horizon", "5", "--horizon", "20")
    numbers = json.loads(said.output)["numbers"]
    early, late = np.array(numbers["survival_5"]), np.array(numbers["survival_20"])
    assert (early > late).all()
    assert ((late > 0) & (early < 1)).all()
    assert command("predict", model, "south.csv", "--horizon", "-1").exit_code != 0
    beyond = command("predict", model, "south.csv", "--horizon", "10000")
    assert beyond.exit_code == 2
    assert "say nothing of so late a time" in " ".join(beyond.output.split())


@pytest.mark.parametrize(
    ("name", "column", "value", "problem"),
    [
        ("time", 3, -1, "a time to an event is above 0"),
        ("time", 3, 0, "a time to an event is above 0"),
        ("time", 3, "", "what is to be predicted is missing"),
        ("time", 3, "inf", "not a number"),
        ("time", 4, 2, "an event is 1 where it came"),
        ("count", 6, 2.5, "a count is a whole number"),
        ("count", 7, 0, "an exposure is above 0"),
        ("number", 5, "good", "not a number"),
    ],
)
def test_a_wrong_value_is_one_line_before_anything_is_sent(
    started, tmp_path, name, column, value, problem
):
    rows = rows_of(1)
    rows[4][column] = value
    found = started(name, rows)
    assert found.exit_code != 0
    assert problem in " ".join(found.output.split())
    assert not (tmp_path / "mine").exists()


def with_events(event):
    """Rows whose events are `event(at, came)`."""
    rows = rows_of(1)
    for at, row in enumerate(rows):
        row[4] = event(at, row[4])
    return rows


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        (lambda _, came: came + 1, "an event is 1 where it came and 0 where it was not seen"),
        (lambda _, came: 0 * came, "nobody had the event"),
        (lambda at, _: int(at == 3), "one patient alone had the event"),
    ],
    ids=["coded 1 and 2", "everybody censored", "one event"],
)
def test_events_that_tell_nothing_are_one_line(started, tmp_path, event, problem):
    found = started("time", with_events(event))
    assert found.exit_code != 0
    lines = found.output.strip().splitlines()
    assert problem in " ".join(" ".join(lines).split())
    assert lines[0].startswith("securefair: participant north, north.csv")
    assert not (tmp_path / "mine").exists()


def test_who_censors_nobody_is_asked_whether_it_is_so_and_can_run(started, tmp_path):
    made = started("time", with_events(lambda *_: 1))
    assert made.exit_code == 0
    assert "north, column died: every patient has the same value" in made.output
    assert "see that it is so for all of them" in made.output
    run(tmp_path, "clear")


@pytest.mark.parametrize(
    ("name", "label", "column", "times"),
    [("time", "months", 3, 30.44), ("number", "grade", 5, 18)],
)
def test_another_unit_is_one_line_before_anything_is_sent(started, name, label, column, times):
    rows = rows_of(1)
    for row in rows:
        row[column] = round(row[column] * times, 1)
    made = started(name, rows)
    assert made.exit_code == 0
    for said in (made.output, command("check", "mine/config.toml").output):
        assert f'same_unit = ["{label}"]' in " ".join(said.split())


def test_sites_propose_what_is_predicted(started, tmp_path):
    assert started("time").exit_code == 0
    asked = ("--time", "months", "--event", "died")
    for name in ("north", "south"):
        out = ("--out", f"{name}.toml")
        assert command("project", "propose", f"{name}.csv", *asked, *out).exit_code == 0
    proposal = (tmp_path / "north.toml").read_text()
    assert 'outcome = "time"' in proposal
    rules = command("project", "check", "north.toml", "south.toml", "--out", "rules.toml")
    assert rules.exit_code == 0, rules.output
    assert 'event = "died"' in (tmp_path / "rules.toml").read_text()
    other = ("--outcome", "count", "--label", "visits", "--exposure", "years", "--out", "o.toml")
    assert command("project", "propose", "south.csv", *other).exit_code == 0
    differ = command("project", "check", "north.toml", "o.toml")
    assert differ.exit_code != 0
    assert "Predict one column of one name everywhere" in " ".join(differ.output.split())
    # Units show as ranges of the label, and wrong values before anything is written.
    rows = rows_of(2)
    for row in rows:
        row[3] = round(row[3] * 30.44)
    write(tmp_path / "days.csv", rows)
    out = ("--out", "d.toml")
    assert command("project", "propose", "days.csv", *asked, *out).exit_code == 0
    assert "months: 0 to" in command("project", "check", "north.toml", "d.toml").output
    rows[2][3] = -5
    write(tmp_path / "bad.csv", rows)
    bad = command("project", "propose", "bad.csv", *asked, "--out", "bad.toml")
    assert bad.exit_code != 0
    assert "a time to an event is above 0" in " ".join(bad.output.split())
    assert not (tmp_path / "bad.toml").exists()


def test_a_promise_without_a_mechanism_is_refused_by_name(started, tmp_path):
    assert started("time").exit_code == 0
    config = tmp_path / "mine/config.toml"
    config.write_text(config.read_text() + "\n[privacy]\nepsilon = 1.0\n")
    found = command("check", "mine/config.toml")
    assert found.exit_code != 0
    assert "no mechanism is proved to be private for the time to an event" in " ".join(
        found.output.split()
    )


def test_hospitals_collaborate_from_python(tmp_path):
    for at, name in enumerate(("north", "south")):
        write(tmp_path / f"{name}.csv", rows_of(at))
    columns = [NumericColumn(name=name, low=low, high=-low) for name, low in (("a", -3), ("b", -3))]
    spec = TableSpec(
        columns=columns, target=Target(name="months", outcome="time", beside=("died",))
    )
    tables = {name: tmp_path / f"{name}.csv" for name in ("north", "south")}
    found = sf.collaborate(tables, label=spec, backend="clear")
    model = found.models["north"]
    assert set(found.outcome.result.algorithms["transfer"].metrics) == SCORES["time"]
    numbers = model.predict_details(tables["south"], horizons=[5]).numbers
    assert list(numbers) == ["log_hazard_ratio", "survival_5"]
    np.testing.assert_array_equal(model.predict(tables["south"]), numbers["log_hazard_ratio"])
    with pytest.raises(DataError, match="no probabilities of classes"):
        model.predict_proba(tables["south"])


def test_three_hospitals_add_up_what_they_know_of_a_number(tmp_path):
    names = ("north", "south", "west")
    for at, name in enumerate(names):
        write(tmp_path / f"{name}.csv", rows_of(at))
    spec = TableSpec(
        columns=[
            *(NumericColumn(name=name, low=-3, high=3) for name in ("a", "b")),
            NumericColumn(name="age", low=20, high=100),
        ],
        target=Target(name="grade", outcome="number", range=(0, 25)),
    )
    tables = {name: tmp_path / f"{name}.csv" for name in names}
    found = sf.collaborate(tables, label=spec)
    result = found.outcome.result.algorithms["transfer"]
    assert result.sums == "gradient"
    encryption = found.outcome.result.encryption
    assert encryption.max_abs_error <= encryption.error_bound
    for model in found.models.values():
        (scale,) = model.record.own["scale"]
        assert scale == model.function.spread
    alone = found.outcome.result.algorithms["standalone"].metrics["log_likelihood"].mean
    assert result.metrics["log_likelihood"].mean > alone - 0.05
