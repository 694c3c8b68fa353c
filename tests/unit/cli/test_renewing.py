"""`securefair renew`: a hospital of a finished run has other patients."""

import json
import shutil

import numpy as np
import pytest

from securefair.config import load_config
from securefair.records import LedgerRow, RoundRecord
from securefair.report import read_json, read_json_lines

pytestmark = pytest.mark.slow

CONFIG = """
[run]
name = "clinics"
algorithms = ["standalone", "transfer"]
[data]
source = "files"
[table]
label = "ill"
[transfer]
opened = "each"
q = 2
[encryption]
backend = "clear"
"""


def write_table(path, seed, count):
    draw = np.random.default_rng(seed)
    lines = ["age,pressure,sugar,ill"]
    for _ in range(count):
        ill = draw.integers(2)
        age, pressure, sugar = draw.normal(50 + 8 * ill, 6), draw.normal(120, 15), draw.normal(5, 1)
        lines.append(f"{min(max(age, 30), 80):.0f},{pressure:.0f},{sugar:.1f},{ill}")
    path.write_text("\n".join(lines), encoding="utf-8")


@pytest.fixture(scope="module")
def clinics(prepared):
    folder, invoke = prepared
    text = CONFIG
    for seed, name in enumerate(("north", "south", "west")):
        write_table(folder / f"{name}.csv", seed, 40)
        text += f'[[participants]]\nname = "{name}"\nfile = "{name}.csv"\n'
    (folder / "c.toml").write_text(text)
    invoke("run", "c.toml", "--out", "runs/clinics", "--quiet")
    write_table(folder / "new.csv", 9, 50)
    return folder


@pytest.fixture
def finished(clinics, tmp_path):
    return shutil.copytree(clinics, tmp_path, dirs_exist_ok=True)


def test_one_hospital_asks_anew_and_only_that_is_added(finished, invoke):
    done = invoke("renew", "runs/clinics", "--hospital", "north", "--data", "new.csv")
    assert done.exit_code == 0, done.output
    out = finished / "runs" / "clinics-renewed"
    records = read_json_lines(out / "rounds.jsonl", RoundRecord)
    asked = [sum(map(sum, one.asked)) for one in records if one.algorithm == "transfer"]
    assert asked == [6, 2]
    rows = read_json(out / "ledger.json", list[LedgerRow])
    for row in rows:
        # Who asks anew learns whether it is answered.
        assert row.control_bits == (row.student == "north")
        assert row.answers == 1 or row.student == "north"
    result = json.loads((out / "metrics.json").read_text())
    samples = {one["name"]: one["samples"] for one in result["participants"]}
    assert samples == {"north": 50, "south": 40, "west": 40}
    assert "the patients of north changed" in (out / "report.html").read_text()
    before = read_json_lines(finished / "runs" / "clinics" / "rounds.jsonl", RoundRecord)
    assert [one for one in before if one.algorithm == "transfer"] == [
        one for one in records if one.algorithm == "transfer"
    ][:1]
    checked = invoke("check", str(out / "config.toml"))
    assert checked.exit_code == 0, checked.output


def test_what_an_earlier_version_was_told_of_a_control_still_holds(finished, invoke):
    """One may no longer ask for it; a renewal computes everything else as it was."""
    path = finished / "runs" / "clinics" / "config.toml"
    given = "[training]\nrounds = 1\nlocal_epochs = 1\nlocal_steps = 1\nlearning_rate = 0.001\n"
    assert "[training]\n" in path.read_text()
    path.write_text(path.read_text().replace("[training]\n", given))
    assert invoke("check", str(path)).exit_code == 2
    done = invoke("renew", "runs/clinics", "--hospital", "north", "--data", "new.csv")
    assert done.exit_code == 0, done.output
    out = finished / "runs" / "clinics-renewed"
    training = load_config(out / "config.toml").training
    assert (training.rounds, training.local_epochs, training.local_steps) == (1, 1, 1)
    stopped, before = (
        json.loads((folder / "metrics.json").read_text())["algorithms"]["early_stopping"]
        for folder in (out, finished / "runs" / "clinics")
    )
    for name in ("south", "west"):  # whose patients are the same, trained for one step only
        ours, theirs = (
            one["metrics"]["log_loss"]["by_hospital"][name] for one in (stopped, before)
        )
        assert ours != theirs


def test_from_inside_the_folder_it_goes_beside_it_and_looks_at_the_new_table(
    finished, invoke, monkeypatch
):
    rows = [line.split(",") for line in (finished / "new.csv").read_text().splitlines()]
    in_other_units = [[r[0], r[1], str(float(r[2]) * 2), r[3]] for r in rows[1:]]
    lines = [rows[0], *in_other_units]
    (finished / "new.csv").write_text("\n".join(",".join(line) for line in lines))
    monkeypatch.chdir(finished / "runs" / "clinics")
    done = invoke("renew", ".", "--hospital", "north", "--data", "../../new.csv")
    assert done.exit_code == 0, done.output
    assert (finished / "runs" / "clinics-renewed" / "metrics.json").exists()
    assert "sugar" in done.output
    assert "unit" in done.output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--hospital", "east", "--data", "new.csv"), ("east", "north, south, west")),
        (("--hospital", "north", "--data", "gone.csv"), ("gone.csv",)),
        (("--hospital", "north", "--data", "other.csv"), ("north", "pressure")),
        (("--hospital", "north", "--data", "new.csv", "--fraction", "0"), ("fraction",)),
    ],
)
def test_what_cannot_be_renewed_is_named(finished, invoke, options, words):
    (finished / "other.csv").write_text("age,sugar,ill\n40,5.0,1\n41,5.5,0\n")
    done = invoke("renew", "runs/clinics", *options)
    assert done.exit_code == 2, done.output
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.output
    assert not (finished / "runs" / "clinics-renewed").exists()


def test_other_kinds_of_collaboration_are_not_renewed(finished, invoke):
    config = finished / "runs" / "clinics" / "config.toml"
    config.write_text(config.read_text().replace('"transfer"]', '"vpdl"]'))
    done = invoke("renew", "runs/clinics", "--hospital", "north", "--data", "new.csv")
    assert done.exit_code == 2
    assert "vpdl" in done.stderr
    assert "Run it again" in done.stderr


def test_there_must_be_a_finished_run(tmp_path, invoke):
    done = invoke("renew", "runs/none", "--hospital", "north", "--data", "new.csv")
    assert done.exit_code == 2
    assert "no folder of a finished run" in done.stderr
