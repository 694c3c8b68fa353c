import csv
import json
import shutil

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def finished(prepared):
    """A run of tables."""
    folder, invoke = prepared
    for name, offset in (("north", 0), ("south", 2)):
        rows = [
            f"{20 + (3 * i + offset) % 60},{i % 2},{'yes' if i % 3 else 'no'}" for i in range(40)
        ]
        (folder / f"{name}.csv").write_text("age,smoker,ill\n" + "\n".join(rows) + "\n")
    invoke("new", "p", "--data", "north.csv", "--data", "south.csv", "--label", "ill")
    invoke("run", "p/config.toml", "--backend", "clear", "--out", "out")
    return folder


@pytest.fixture
def kept(finished, tmp_path):
    """The folder of its models, that of north as good as its own alone for all that is told."""
    models = shutil.copytree(finished, tmp_path, dirs_exist_ok=True) / "out" / "models"
    tell(models / "north", "unclear")
    return models


def tell(model, told):
    """What its card says of it beside the hospital's own."""
    card = json.loads((model / "card.json").read_text())
    card["verdict"]["hospitals"][card["hospital"]]["told"] = told
    (model / "card.json").write_text(json.dumps(card))


def test_new_patients_get_a_row_each_in_the_order_of_the_table(invoke, kept, tmp_path):
    (tmp_path / "new.csv").write_text("smoker,age\n0,30\n1,61\n0,30\n1,200\n")
    done = invoke("predict", kept / "north", "new.csv", "--out", "p.csv")
    assert done.exit_code == 0, done.output
    said = " ".join(done.stdout.split())
    assert "1 of them has values outside the range of the training patients" in said
    assert "beyond the agreed range of a column count as its nearer end" in said
    rows = list(csv.DictReader((tmp_path / "p.csv").read_text().splitlines()))
    assert list(rows[0]) == [
        "probability_no", "probability_yes", "class", "outside_training_range", "filled_in",
        "missing",
    ]  # fmt: skip
    assert len(rows) == 4
    assert rows[0] == rows[2]
    assert [row["outside_training_range"] for row in rows] == ["", "", "", "age"]
    for row in rows:
        shares = {name: float(row[f"probability_{name}"]) for name in ("no", "yes")}
        assert sum(shares.values()) == pytest.approx(1, abs=2e-6)
        assert row["class"] == max(shares, key=shares.get)
    assert invoke("predict", kept / "north", "new.csv").stdout == (tmp_path / "p.csv").read_text()


@pytest.mark.parametrize(("rows", "said"), [(1, "1 patient: p.csv"), (2, "2 patients: p.csv")])
def test_what_was_written_is_counted(invoke, kept, tmp_path, rows, said):
    (tmp_path / "new.csv").write_text("smoker,age\n" + "0,30\n" * rows)
    done = invoke("predict", kept / "north", "new.csv", "--out", "p.csv")
    assert done.stdout.splitlines()[0] == said


def test_no_file_is_replaced_unasked(invoke, kept, tmp_path):
    (tmp_path / "new.csv").write_text("smoker,age\n0,30\n")
    (tmp_path / "p.csv").write_text("mine")
    model, before = kept / "north", (tmp_path / "new.csv").read_bytes()
    for out, words in (
        ("p.csv", "exists already"),
        ("new.csv", "these are the patients"),
        ("p.xlsx", "what its name says"),
        ("out", "a file is wanted"),
    ):
        done = invoke("predict", model, "new.csv", "--out", out)
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
        assert words in done.stderr
    assert invoke("predict", model, "new.csv", "--out", "new.csv", "--force").exit_code == 2
    assert (tmp_path / "new.csv").read_bytes() == before
    assert (tmp_path / "p.csv").read_text() == "mine"
    assert not (tmp_path / "p.xlsx").exists()
    assert invoke("predict", model, "new.csv", "--out", "p.csv", "--force").exit_code == 0
    assert (tmp_path / "p.csv").read_text().startswith("probability")


def test_a_run_is_no_model_for_other_programs(invoke, kept, tmp_path):
    done = invoke("export", kept.parent, "--out", "r.onnx")
    assert done.exit_code == 2
    assert "this is a run, whose models are in" in done.stderr
    assert not (tmp_path / "r.onnx").exists()


def test_a_value_far_out_counts_as_the_end_of_its_range(invoke, kept, tmp_path):
    (tmp_path / "new.csv").write_text("smoker,age\n0,80\n0,200\n0,1e9\n")
    assert invoke("predict", kept / "north", "new.csv", "--out", "p.csv").exit_code == 0
    rows = list(csv.DictReader((tmp_path / "p.csv").read_text().splitlines()))
    assert len({row["probability_yes"] for row in rows}) == 1
    assert [row["outside_training_range"] for row in rows] == ["age"] * 3


def test_an_unknown_level_is_warned_of_and_its_patient_answered(invoke, kept, tmp_path):
    (tmp_path / "new.csv").write_text("age,smoker\n30,0\n61,2\n,1\n")
    done = invoke("predict", kept / "north", "new.csv", "--out", "p.csv")
    assert done.exit_code == 0, done.output
    assert 'new.csv, line 3, column smoker: "2": unknown to the model' in done.stderr
    assert "new.csv, line 4, column age: a value is missing" in done.stderr
    rows = list(csv.DictReader((tmp_path / "p.csv").read_text().splitlines()))
    assert [row["filled_in"] for row in rows] == ["", "smoker", "age"]
    assert all(0 < float(row["probability_no"]) < 1 for row in rows)
    said = json.loads(invoke("predict", kept / "north", "new.csv", "--json").stdout)
    assert said["filled_in"] == [[], ["smoker"], ["age"]]
    assert said["missing"] == [[], [], []]
    assert len(said["warnings"]) == 2


def test_a_model_that_does_worse_than_the_hospitals_own_is_warned_of(invoke, kept, tmp_path):
    """Its rows looked like those of any other."""
    (tmp_path / "new.csv").write_text("age,smoker\n30,0\n")
    model = kept / "north"
    words = "on test patients of north a model of its own predicts better than this one"
    for told in ("better", "unclear", "worse"):
        tell(model, told)
        done = invoke("predict", model, "new.csv")
        assert (done.exit_code, words in done.stderr) == (0, told == "worse")
        assert done.stdout.startswith("probability_no,")
    assert f"securefair show {model}" in " ".join(done.stderr.split())
    (warning,) = json.loads(invoke("predict", model, "new.csv", "--json").stdout)["warnings"]
    assert words in warning
    (model / "card.json").unlink()  # a model alone says nothing of itself
    assert words not in invoke("predict", model, "new.csv").stderr


def test_a_number_of_the_patient_and_a_threshold(invoke, kept, tmp_path):
    (tmp_path / "new.csv").write_text("case,smoker,age\n007,0,30\n012,1,61\n")
    words = ("predict", kept / "north", "new.csv", "--keep", "case", "--threshold")
    rows = {
        limit: list(csv.DictReader(invoke(*words, limit).stdout.splitlines())) for limit in (0, 1)
    }
    assert [row["case"] for row in rows[0]] == ["007", "012"]
    assert [row["class"] for row in rows[0]] == ["yes", "yes"]
    assert [row["class"] for row in rows[1]] == ["no", "no"]
    refused = invoke("predict", kept / "north", "new.csv", "--keep", "name")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "column 'name' is not in the table" in refused.stderr


def test_no_column_is_written_under_the_name_of_another(invoke, kept, tmp_path):
    (tmp_path / "new.csv").write_text("class,smoker,age\nA,0,30\n")
    done = invoke("predict", kept / "north", "new.csv", "--keep", "class", "--out", "p.csv")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "predictions have a column of this name" in done.stderr
    assert not (tmp_path / "p.csv").exists()


def test_one_measurement_far_beyond_its_range_is_warned_of(invoke, kept, tmp_path):
    (tmp_path / "new.csv").write_text("smoker,age\n0,30\n0,200\n0,85\n")
    said = invoke("predict", kept / "north", "new.csv").stderr
    assert "column age: 1 of 3 patients lie far beyond the agreed range 20 to 80" in said


def test_what_is_no_measurement_is_filled_in_and_the_rest_goes_on(invoke, kept, tmp_path):
    (tmp_path / "new.csv").write_text("smoker,age\n0,30\n0,9999\n0,-1\n0,abc\n0,95\n")
    done = invoke("predict", kept / "north", "new.csv")
    assert done.exit_code == 0
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [row["filled_in"] for row in rows] == ["", "age", "age", "age", ""]
    assert [row["outside_training_range"] for row in rows] == ["", "", "", "", "age"]
    assert "unknown to the model, which knows numbers, usually 20 to 80" in done.stderr


def test_programs_get_json(invoke, kept, tmp_path):
    (tmp_path / "new.csv").write_text("smoker,age\n0,30\n1,200\n")
    said = json.loads(invoke("predict", kept / "north", "new.csv", "--json").stdout)
    assert said["classes"] == ["no", "yes"]
    assert [len(row) for row in said["probabilities"]] == [2, 2]
    assert said["outside_training_range"] == [[], ["age"]]


def test_a_refusal_is_one_line_and_writes_nothing(invoke, kept, tmp_path):
    (tmp_path / "new.csv").write_text("age\n30\n")
    done = invoke("predict", kept / "north", "new.csv", "--out", "p.csv")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "'smoker'" in done.stderr
    assert not (tmp_path / "p.csv").exists()


def test_an_external_table_is_scored(invoke, kept):
    done = invoke("evaluate", kept / "north", "south.csv", "--json")
    found = json.loads(done.stdout)
    assert found["patients"] == 40
    assert sum(map(sum, found["confusion"])) == 40
    shown = " ".join(invoke("evaluate", kept / "north", "south.csv").stdout.split())
    assert "Sensitivity is the share of class yes that the model recognises" in shown


def test_errors_are_over_patients_where_a_column_names_them(invoke, kept, tmp_path):
    head, *rows = (tmp_path / "south.csv").read_text().splitlines()
    visits = [f"{at},{row}" for _ in range(5) for at, row in enumerate(rows)]
    (tmp_path / "visits.csv").write_text("\n".join([f"who,{head}", *visits]) + "\n")
    told = ("evaluate", kept / "north", "visits.csv", "--json")
    one, by_row, by_patient = (
        json.loads(invoke(*words).stdout)
        for words in (
            ("evaluate", kept / "north", "south.csv", "--json"),
            told,
            (*told, "--patient-column", "who"),
        )
    )
    assert by_row["patients"] == 5 * one["patients"]
    assert by_patient["patients"] == by_patient["page"]["patients"] == one["patients"]
    assert by_patient["scores"] == by_row["scores"]
    assert by_patient["intervals"] == one["intervals"]
    assert by_patient["accuracy_se"] == pytest.approx(one["accuracy_se"])
    errors = [found["page"]["scores"]["auc"]["se"] for found in (one, by_row, by_patient)]
    assert errors[2] == pytest.approx(errors[0], rel=0.1)
    assert errors[1] < 0.6 * errors[0]
    refused = invoke(*told, "--patient-column", "whom")
    assert (refused.exit_code, "a column 'whom'" in refused.stderr) == (2, True)


def test_a_model_without_its_card_is_warned_of(invoke, kept, tmp_path):
    (tmp_path / "new.csv").write_text("smoker,age\n0,30\n")
    (kept / "north" / "card.json").unlink()
    done = invoke("predict", kept / "north", "new.csv")
    assert done.exit_code == 0
    assert "card.json is missing: nothing tells whether" in done.stderr


def test_a_page_of_scores_replaces_no_file_unasked(invoke, kept, tmp_path):
    page = tmp_path / "year.html"
    page.write_text("mine")
    scored = ("evaluate", kept / "north", "south.csv", "--out", page, "--language", "de")
    refused = invoke(*scored)
    assert (refused.exit_code, "exists already" in refused.stderr) == (2, True)
    assert page.read_text() == "mine"
    assert invoke(*scored, "--force").exit_code == 0
    assert '<html lang="de">' in page.read_text()


def test_sensitivity_is_of_the_class_that_is_called_positive(finished, tmp_path, invoke):
    """From the tables to the report, the model's card and predictions."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    text = (tmp_path / "p" / "config.toml").read_text()
    (tmp_path / "p" / "config.toml").write_text(
        text.replace('label = "ill"', 'label = "ill"\npositive = "no"')
    )
    done = invoke("run", "p/config.toml", "--backend", "clear", "--out", "other")
    assert done.exit_code == 0, done.output
    before, after = (
        json.loads((tmp_path / name / "metrics.json").read_text()) for name in ("out", "other")
    )
    assert (before["classes"], after["classes"]) == (["no", "yes"], ["yes", "no"])
    assert "patients of class no, the share that the model recognises" in (
        tmp_path / "other" / "report.html"
    ).read_text(encoding="utf-8")
    shown = " ".join(invoke("evaluate", "other/models/north", "south.csv").stdout.split())
    assert "Sensitivity is the share of class no that the model recognises" in shown
    of_no, of_yes = (
        json.loads(invoke("evaluate", f"{name}/models/north", "south.csv", "--json").stdout)
        for name in ("other", "out")
    )
    for found, recognised in ((of_no, of_no["confusion"][1]), (of_yes, of_yes["confusion"][1])):
        share = recognised[1] / sum(recognised)
        assert found["scores"]["sensitivity"] == pytest.approx(share)
    (tmp_path / "new.csv").write_text("smoker,age\n0,30\n")
    said = json.loads(invoke("predict", "other/models/north", "new.csv", "--json").stdout)
    assert said["classes"] == ["yes", "no"]


def test_the_card_is_shown(invoke, kept):
    assert "no medical device" in " ".join(invoke("show", kept / "north").stdout.split())
    assert json.loads(invoke("show", kept / "north", "--json").stdout)["label"] == "ill"


def test_the_card_names_its_columns_whole_on_a_narrow_terminal(invoke, kept, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    said = invoke("show", kept / "north").stdout
    assert "…" not in said
    assert "early_stopping" not in said
    for word in ("Stopped", "Averaged", "Calibration", "answer"):
        assert word in said


def test_the_folder_of_the_run_is_no_model(invoke, kept):
    done = invoke("show", kept.parent)
    assert done.exit_code == 2
    assert "a run with models of north, south" in done.stderr


def test_a_run_is_no_model(invoke, kept, tmp_path):
    done = invoke("export", kept.parent, "--out", "run.onnx")
    assert done.exit_code == 2
    assert "name one of them" in done.stderr
    assert not (tmp_path / "run.onnx").exists()


def test_a_model_goes_to_other_programs(invoke, kept, tmp_path):
    pytest.importorskip("onnx")
    done = invoke("export", kept / "north", "--out", "north.onnx")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "north.onnx").stat().st_mode & 0o77 == 0
    wrong = invoke("export", kept / "north", "--out", "north.zip")
    assert (wrong.exit_code, wrong.stderr.count("\n")) == (2, 1)


def test_a_row_with_too_few_fields_fails_alone(invoke, kept, tmp_path):
    (tmp_path / "new.csv").write_text("smoker,age\n0,30\n1\n1,61\n")
    done = invoke("predict", kept / "north", "new.csv", "--keep", "age", "--out", "p.csv")
    assert done.exit_code == 0, done.output
    assert done.stderr.splitlines() == [
        "Warning: line 3 has 1 fields, where the header has 2: nothing in it was read. Mend the "
        "row in the file",
        "Warning: of 1 patient no column has a value that the model knows: nothing is predicted",
    ]
    rows = list(csv.DictReader((tmp_path / "p.csv").read_text().splitlines()))
    assert [row["age"] for row in rows] == ["30", "", "61"]
    assert [bool(row["probability_yes"]) for row in rows] == [True, False, True]
    assert [bool(row["class"]) for row in rows] == [True, False, True]
    assert rows[1]["filled_in"] == "age; smoker"
    said = json.loads(invoke("predict", kept / "north", "new.csv", "--json").stdout)
    assert said["class"][1] is None
    assert said["probabilities"][1] is None
    assert said["numbers"]["probability_yes"][1] is None
    assert said["class"][0] == rows[0]["class"]


def test_a_patient_of_whom_nothing_is_known_gets_no_prediction(invoke, kept, tmp_path):
    (tmp_path / "new.csv").write_text("smoker,age\nx,old\n1,old\n")
    done = invoke("predict", kept / "north", "new.csv")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [row["class"] == "" for row in rows] == [True, False]
    assert "of 1 patient no column has a value" in done.stderr


def test_a_heading_of_another_case_is_read_and_told(invoke, kept, tmp_path):
    (tmp_path / "as_trained.csv").write_text("smoker,age,ill\n0,30,no\n1,61,yes\n")
    (tmp_path / "new.csv").write_text("Smoker,AGE,ILL\n0,30,no\n1,61,yes\n")
    known = invoke("predict", kept / "north", "as_trained.csv")
    done = invoke("predict", kept / "north", "new.csv")
    assert (done.exit_code, done.stdout) == (0, known.stdout)
    assert 'Warning: column age: it was read from the column "AGE"' in done.stderr
    scored = invoke("evaluate", kept / "north", "new.csv")
    assert scored.exit_code == 0, scored.output
    assert 'column ill: it was read from the column "ILL"' in scored.stderr


def test_a_heading_that_may_be_two_things_or_none_is_refused(invoke, kept, tmp_path):
    (tmp_path / "new.csv").write_text("smoker,Age,AGE\n0,30,40\n")
    said = invoke("predict", kept / "north", "new.csv").stderr
    assert "column 'age' is not in the table" in said
    assert "Did you mean Age or AGE" in said
    (tmp_path / "new.csv").write_text("smoke,age\n0,30\n")
    assert "Did you mean smoke" in invoke("predict", kept / "north", "new.csv").stderr
    (tmp_path / "new.csv").write_text("smoker,age\n0,30\n")
    kept_column = invoke("predict", kept / "north", "new.csv", "--keep", "Age")
    assert "Did you mean age" in kept_column.stderr
