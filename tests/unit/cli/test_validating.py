import json

import pytest

from securefair.words import words_of

SCORES = ("auc", "log_loss", "brier", "calibration_slope", "calibration_intercept")


def table(folder, name, offset):
    rows = [
        f"{30 + 2 * ((7 * i + offset) % 13)},{'fm'[i % 2]},{'ab'[i % 3 % 2]},"
        f"{int((7 * i + offset) % 13 + i % 5 > 8)}"
        for i in range(40)
    ]
    (folder / f"{name}.csv").write_text("age,sex,ward,ill\n" + "\n".join(rows) + "\n")


@pytest.fixture
def config(invoke, tmp_path):
    for at, name in enumerate(("north", "south", "west")):
        table(tmp_path, name, at)
    data = [part for name in ("north", "south", "west") for part in ("--data", f"{name}.csv")]
    assert invoke("new", "three", *data, "--label", "ill").exit_code == 0
    return "three/config.toml"


@pytest.mark.parametrize("backend", ["clear", "rns"])
def test_each_scores_the_models_of_the_others(invoke, config, tmp_path, backend):
    done = invoke("validate", config, "--by", "sex", "--backend", backend, "--json", "--out", "v")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["backend"] == backend
    assert list(said["hospitals"]) == ["north", "south", "west"]
    for name, peers in said["hospitals"].items():
        assert set(peers) == {"north", "south", "west"} - {name}
        for one in peers.values():
            assert all(set(one[score]) == {"mean", "se"} for score in SCORES)
            assert 0.5 < one["auc"]["mean"] <= 1
            assert one["auc"]["se"] > 0
            assert one["patients"] == 40
            assert set(one["page"]["groups"]["sex"]) == {"f", "m"}
            assert sum(group["patients"] for group in one["page"]["groups"]["sex"].values()) == 40
            assert one["page"]["recalibrated"]["log_loss"]["mean"] <= one["log_loss"]["mean"] + 0.01
            assert one["page"]["decision_curve"]
        assert said["own"][name]["patients"] == 40
    assert all(row["answers"] == 1 and row["numbers_total"] >= 40 for row in said["ledger"])
    assert "know each teacher's fit" in done.stderr
    assert ("Backend clear encrypts nothing" in done.stderr) == (backend == "clear")
    page = (tmp_path / "v" / "north.html").read_text()
    unencrypted = "Nothing was encrypted (backend clear): for tests only."
    assert (unencrypted in page) == (backend == "clear")
    assert "Private models answered" not in page
    assert "south" in page
    assert "own model, held out" in page
    assert page.count("Who is told apart?</h3>") == 3  # of two peers and the own model
    assert json.loads((tmp_path / "v" / "validation.json").read_text()) == said


def test_who_only_validates_is_not_validated(invoke, config):
    roles = ("--role", "west=student", "--role", "south=teacher")
    done = invoke("validate", config, *roles, "--backend", "clear", "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert {name: set(peers) for name, peers in said["hospitals"].items()} == {
        "north": {"south"},
        "west": {"north", "south"},
    }
    assert said["unanswered"] == {"north": ["west"], "west": []}
    assert "west" not in {row["teacher"] for row in said["ledger"]}


def test_pages_may_be_of_another_language(invoke, config, tmp_path):
    options = ("--backend", "clear", "--out", "v", "--language")
    assert invoke("validate", config, *options, "FR").exit_code == 0
    page = (tmp_path / "v" / "north.html").read_text()
    assert words_of("fr")("validation.title", name="north") in page
    assert '<html lang="fr">' in page
    refused = invoke("validate", config, *options, "xx")
    assert (refused.exit_code, "expected 'en, de, fr'" in refused.stderr) == (2, True)


def test_a_page_names_the_column_of_times(invoke, tmp_path):
    names = ("north", "south")
    for at, name in enumerate(names):
        ages = [30 + (7 * i + at) % 41 for i in range(60)]
        rows = [f"{age},{(90 - age + i % 9) / 4},{i % 3 % 2}" for i, age in enumerate(ages)]
        (tmp_path / f"{name}.csv").write_text("age,Monate,died\n" + "\n".join(rows) + "\n")
    data = [part for name in names for part in ("--data", f"{name}.csv")]
    asked = ("--time", "Monate", "--event", "died")
    assert invoke("new", "two", *data, *asked).exit_code == 0
    options = ("--backend", "clear", "--out", "v", "--language", "de")
    done = invoke("validate", "two/config.toml", *options)
    assert done.exit_code == 0, done.output
    page = (tmp_path / "v" / "north.html").read_text()
    assert "Zeit (Monate)" in page
    assert "(das Ergebnis)" not in page
    assert "<th>Die " not in page
    assert ">Konkordanz<" in page


def test_the_table_says_what_the_page_says(invoke, config):
    done = invoke("validate", config, "--backend", "clear", "--by", "ward")
    assert done.exit_code == 0, done.output
    for text in ("Models of others at north", "AUC", "By ward", "Decision curve"):
        assert text in done.stdout
    assert "Nothing was encrypted (backend clear)" in done.stdout


def test_private_models_that_answer_are_not_taken_for_those_in_use(invoke, config, tmp_path):
    file = tmp_path / config
    file.write_text(f"{file.read_text()}\n[privacy]\nepsilon = 8.0\n")
    done = invoke("validate", config, "--backend", "clear", "--out", "v")
    assert done.exit_code == 0, done.output
    assert "determines a teacher's private fit (epsilon 8), not its own" in done.stderr
    said = "Private models answered, not those that the hospitals use themselves."
    assert said in " ".join(done.stdout.split())
    assert said in (tmp_path / "v" / "north.html").read_text()


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (("--by", "colour"), "there is no such column"),
        (("--role", "east=student"), "nobody of this name"),
        (("--role", "west=pupil"), "there is no such role"),
        (("--role", "west"), "NAME=student"),
        (
            tuple(p for n in ("north", "south", "west") for p in ("--role", f"{n}=student")),
            "nobody",
        ),
    ],
)
def test_what_cannot_be_is_one_clear_line(invoke, config, given, found):
    done = invoke("validate", config, "--backend", "clear", *given)
    assert done.exit_code == 2
    assert found in done.stderr
    assert "Traceback" not in done.output
    assert done.stdout == ""
