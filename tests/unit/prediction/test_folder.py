import csv
import json
import stat

import msgspec
import numpy as np
import pytest

from securefair import load_model
from securefair.config import BinaryColumn, CategoricalColumn, NumericColumn
from securefair.data import Samples, TableSpec, Target
from securefair.errors import DataError, ModelError
from securefair.model.transfer import Polynomial
from securefair.prediction import (
    Calibration,
    HospitalModel,
    ModelCard,
    ModelRecord,
    evaluate,
    save_model,
    training_facts,
)
from securefair.prediction.card import Taught, limits, markdown
from securefair.prediction.evaluation import score
from securefair.prediction.folder import folder_name, load_card
from securefair.prediction.writing import predictions_csv

SPEC = TableSpec(
    columns=(
        NumericColumn(name="age", low=20.0, high=80.0),
        BinaryColumn(name="smoker", no="no", yes="yes", optional=True),
        CategoricalColumn(name="ward", levels=("A", "B")),
    ),
    target=Target(name="ill", groups=(("0",), ("1", "2"))),
)
TRAIN = Samples(
    np.array([[-0.5, -1.0, 0.0, 1.0, 0.0], [0.5, 1.0, 0.0, 1.0, 0.0]]), np.array([0, 1]), 2
)


@pytest.fixture
def model():
    record = ModelRecord(
        hospital="North | 1",
        run="r",
        algorithm="transfer",
        seed=0,
        classes=["0", "1 or 2"],
        table=SPEC,
        feature_range=None,
        **training_facts(TRAIN)._asdict(),
        patients=2,
    )
    return HospitalModel(record, Polynomial(np.zeros(1), np.array([[4.0, 1.0, 0.0, 0.0, 0.0]])))


@pytest.fixture
def card(model):
    test = score(model, TRAIN)
    return ModelCard(
        hospital="North | 1",
        run="r",
        algorithm="transfer",
        backend="rns",
        seed=0,
        seeds=2,
        label="ill",
        features=list(SPEC.features),
        train_by_class={"0": 1, "1 or 2": 1},
        model=test,
        controls={"standalone": test},
        taught=[Taught(peer="S", answers_received=1, numbers_received=8, numbers_disclosed=9)],
        origin="participants",
        limits=limits(test, 2, {"0": 1}, tells_ranges=True),
        versions={"securefair": "0"},
    )


def table(tmp_path, text):
    path = tmp_path / "new.csv"
    path.write_text(text)
    return path


def test_a_model_predicts_after_reading_as_before_writing(tmp_path, model, card):
    folder = tmp_path / "models" / "north"
    save_model(model, folder, card=card)
    new = table(tmp_path, "age,smoker,ward\n50,yes,A\n35,no,A\n")
    again = load_model(folder)
    assert np.array_equal(again.predict_proba(new), model.predict_proba(new))
    assert again.predict(str(new)).tolist() == ["1 or 2", "0"]
    assert again.classes_.tolist() == ["0", "1 or 2"]
    assert load_card(folder) == card
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


@pytest.mark.parametrize("folder", [None, 3])
def test_a_model_is_named_by_its_folder(folder):
    with pytest.raises(DataError, match="folder: a model is named by its folder"):
        load_model(folder)


def test_what_training_never_saw_is_named_by_column(tmp_path, model):
    lines = ["age,smoker,ward", "50,yes,A", "70,yes,A", "99,no,A", "50,,A", "50,no,B"]
    found = model.predict_details(table(tmp_path, "\n".join(lines)))
    assert found.outside == ((), ("age",), ("age",), (), ("ward",))
    text = predictions_csv(found).splitlines()
    assert text[0] == (
        "probability_0,probability_1 or 2,class,outside_training_range,filled_in,missing"
    )
    # No training patient lacked it, though the rules allow that: it has no range to lie in.
    lacking = "column smoker: no value of 1 of 5 patients; every training patient had one"
    assert found.warnings == (lacking,)
    assert [line.split(",")[5] for line in text[1:]] == ["", "", "", "smoker", ""]
    assert [line.split(",")[3] for line in text[1:]] == ["", "age", "age", "", "ward"]
    assert np.allclose(found.probabilities.sum(axis=1), 1)
    assert found.probabilities[2, 1] == pytest.approx(1 / (1 + np.exp(-(4.0 - 1.0))))  # 99 as 80


def test_what_begins_like_a_formula_is_a_text(tmp_path, model):
    """Another hospital may have named the class; a kept column is one's own."""
    found = model.predict_details(table(tmp_path, "age,smoker,ward\n50,yes,A\n50,yes,B\n"))
    kept = {"=case": ["@1", "-5"]}
    head, *rows = csv.reader(predictions_csv(found, ["=2+3", "0"], kept).splitlines())
    assert head[0] == "'=case"
    assert [(row[0], row[head.index("class")]) for row in rows] == [("'@1", "'=2+3"), ("-5", "0")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age,smoker\n50,yes\n", r"new\.csv: column 'ward' is not in the table"),
        ("smoker\nyes\n", r"columns are not in the table: age, ward"),
    ],
)
def test_refusals_name_line_and_column(tmp_path, model, text, message):
    with pytest.raises(DataError, match=message):
        model.predict(table(tmp_path, text))


def test_of_whom_nothing_is_known_gets_no_prediction(tmp_path, model):
    new = table(tmp_path, "age,smoker,ward\n50,yes,A\n,,\n35,no,A\nold,,C\n")
    said = model.predict_proba(new)
    assert np.isnan(said).all(axis=1).tolist() == [False, True, False, True]
    with pytest.raises(DataError, match=r"rows 1, 3 .*no class is predicted.*predict_proba"):
        model.predict(new)
    found = model.predict_details(new)  # of which whoever writes it leaves these out
    assert found.unknown == {1, 3}
    assert np.isfinite(found.probabilities).all()
    assert np.array_equal(found.probabilities[[0, 2]], said[[0, 2]])
    with pytest.raises(DataError, match=r"row 0 \("):
        model.predict(table(tmp_path, "age,smoker,ward\nold,,C\n"))


def test_what_the_model_does_not_know_is_filled_in_and_named(tmp_path, model):
    lines = ["ward,age,smoker", "A,50,yes", "C,50,yes", "A,,yes", "C,50,sometimes", "A,50,"]
    found = model.predict_details(table(tmp_path, "\n".join(lines)))
    assert found.filled == ((), ("ward",), ("age",), ("smoker", "ward"), ())
    assert found.warnings == (
        "new.csv, line 4, column age: a value is missing, and none was in training "
        "(1 patient; the average of training stood in)",
        'new.csv, line 5, column smoker: "sometimes": unknown to the model, which knows no, yes '
        "(1 patient; counted as missing)",
        'new.csv, line 3, column ward: "C": unknown to the model, which knows A, B '
        "(2 patients; the average of training stood in)",
        "column smoker: no value of 1 of 5 patients; every training patient had one",
    )
    # Both training patients were of ward A, and 50 years is the middle of the range and their mean.
    assert np.allclose(found.probabilities[:3], found.probabilities[0])
    assert np.allclose(found.probabilities[3], found.probabilities[4])  # as a missing value
    text = predictions_csv(found).splitlines()
    assert [line.split(",")[-2:] for line in text] == [
        ["filled_in", "missing"], ["", ""], ["ward", ""], ["age", ""], ["smoker; ward", ""],
        ["", "smoker"],
    ]  # fmt: skip


def test_an_evaluation_counts_whom_something_was_filled_in_for(tmp_path, model):
    found = evaluate(model, table(tmp_path, "age,smoker,ward,ill\n50,yes,C,1\n35,no,A,2\n"))
    assert found.filled == 1
    filled, few = found.warnings
    assert "ward" in filled
    assert "too few patients" in few
    assert found.page is None


def test_a_column_that_is_strange_in_most_patients_is_asked_about(tmp_path, model):
    lines = ["age,smoker,ward", *["600,yes,A"] * 5, "50,yes,A"]  # months
    found = model.predict_details(table(tmp_path, "\n".join(lines)))
    (warning,) = found.warnings
    assert warning.startswith("column age: 5 of 6 patients lie outside")
    (warning,) = model.predict_details(table(tmp_path, "\n".join(lines[:5]))).warnings
    assert warning.startswith("column age: 4 of 4 patients lie far beyond the agreed range")


def test_numbers_are_taken_where_features_are_known(model):
    assert model.predict(TRAIN.features).tolist() == ["0", "1 or 2"]
    with pytest.raises(ModelError, match="do not fit"):
        model.predict(TRAIN.features[:, :2])


def test_calibration_softens_probabilities(model):
    softer = msgspec.structs.replace(
        model.record, calibration=Calibration(method="temperature", temperature=2.0, patients=9)
    )
    hot = HospitalModel(softer, model.function).predict_proba(TRAIN.features)
    cold = model.predict_proba(TRAIN.features)
    assert np.allclose(np.log(hot[:, 1] / hot[:, 0]) * 2, np.log(cold[:, 1] / cold[:, 0]))


def test_an_evaluation_of_enough_patients_has_a_page_of_scores(tmp_path, model):
    rows = [f"{20 + at},{'yes' if at % 3 else 'no'},A,{at % 2}" for at in range(24)]
    text = "\n".join(["age,smoker,ward,ill", *rows])
    found = evaluate(model, table(tmp_path, text), by=["smoker"])
    assert found.page.patients == 24
    assert found.page.scores["log_loss"].mean == pytest.approx(found.scores["log_loss"])
    assert found.page.scores["log_loss"].se > 0
    assert {name: one.patients for name, one in found.page.groups["smoker"].items()} == {
        "no": 8,
        "yes": 16,
    }


def test_evaluation_counts_what_was_right(tmp_path, model):
    labelled = "age,smoker,ward,ill\n50,yes,A,1\n35,no,A,2\n30,no,A,0\n79,no,A,0\n"
    found = evaluate(model, table(tmp_path, labelled))
    assert found.confusion == [[1, 1], [1, 1]]
    assert found.scores["accuracy"] == 0.5
    assert found.outside == 2
    assert found.accuracy_se == pytest.approx(np.std([1, 0, 1, 0], ddof=1) / 2)
    low, high = found.intervals["accuracy"]
    assert (low, high) == (pytest.approx(0.15, abs=0.01), pytest.approx(0.85, abs=0.01))
    assert set(found.intervals) == {"accuracy", "sensitivity", "specificity"}


def test_a_changed_file_is_refused(tmp_path, model, card):
    save_model(model, tmp_path, card=card)
    weights = tmp_path / "model.safetensors"
    stored = weights.read_bytes()
    weights.write_bytes(stored[:-1] + b"\x01")
    with pytest.raises(DataError, match="not those that the model was stored with"):
        load_model(tmp_path)
    weights.write_bytes(stored)
    record = json.loads((tmp_path / "model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps(record | {"format": 9}))
    with pytest.raises(DataError, match="another version"):
        load_model(tmp_path)
    for change in ({"low": [0.0]}, {"classes": record["classes"][::-1]}, {"digest": ""}):
        (tmp_path / "model.json").write_text(json.dumps(record | change))
        with pytest.raises(DataError, match="record of the model was changed"):
            load_model(tmp_path)
    (tmp_path / "model.json").write_text(json.dumps(record))  # in other spaces
    assert load_model(tmp_path).record.classes == record["classes"]


@pytest.mark.parametrize("older", [0, 1, 2, None])
def test_another_number_of_the_format_spares_no_record_its_digest(tmp_path, model, card, older):
    """A record of format 2 had none: whoever wrote that number could change all that it says."""
    save_model(model, tmp_path, card=card)
    record = json.loads((tmp_path / "model.json").read_text())
    changed = record | {"format": older, "classes": record["classes"][::-1]}
    for one in (record | {"format": older}, changed, changed | {"digest": ""}):
        (tmp_path / "model.json").write_text(json.dumps(one))
        with pytest.raises(DataError, match="stored by another version of securefair"):
            load_model(tmp_path)


def test_a_file_of_a_model_is_told_the_folder_that_it_is_in(tmp_path, model, card):
    save_model(model, tmp_path, card=card)
    with pytest.raises(DataError, match="its folder is"):
        load_model(tmp_path / "model.json")


def test_a_wrong_folder_is_told_what_it_is(tmp_path):
    with pytest.raises(DataError, match=r"no folder of a model .*found 'nothing'"):
        load_model(tmp_path / "absent")
    (tmp_path / "metrics.json").write_text("{}")
    with pytest.raises(DataError, match="a run that kept no models"):
        load_model(tmp_path)
    (tmp_path / "models" / "north").mkdir(parents=True)
    with pytest.raises(DataError, match="a run with models of north"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    ("name", "folder"),
    [("VA Long Beach", "VA Long Beach"), ("Zürich", "Zürich"), ("..", "%2E."), ("a/b", "a%2Fb")],
)
def test_any_name_makes_one_folder(name, folder):
    assert folder_name(name) == folder


def test_a_card_says_what_the_model_is_not(card):
    text = markdown(card)
    assert "no medical device" in text
    assert "Fewer than ten training patients were of class 0" in text
    assert "# Model of North \\| 1" in text
    assert "| S | 1 | 8 | 9 |" in text
    assert "weights" not in repr(card)


@pytest.mark.parametrize("named", ["", "models", "models/Nort"])
def test_models_beside_a_wrong_folder_are_named(tmp_path, named):
    model = tmp_path / "site" / "results" / "models" / "north"
    model.mkdir(parents=True)
    (model / "model.json").write_text("{}")
    for folder in (tmp_path / "site" / "results" / named, tmp_path / "site"):
        with pytest.raises(DataError, match=r"found '.*north'"):
            load_model(folder)
