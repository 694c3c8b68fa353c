"""DataFrames, tables and labels of any name, as people have them."""

import numpy as np
import pytest
from torch import nn

import securefair as sf
from securefair.config import BinaryColumn, NumericColumn
from securefair.data import TableSpec, Target
from securefair.errors import ConfigError, DataError, ModelError, SecureFairError

pytestmark = pytest.mark.slow

QUICK = {"backend": "clear", "algorithm": "transfer"}


def rows(count, seed):
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, count).tolist()
    smoker = rng.choice(["yes", "no"], count).tolist()
    risk = [(a - 50) / 15 + (s == "yes") for a, s in zip(age, smoker, strict=True)]
    ill = ["ill" if r + rng.normal() > 0.5 else "well" for r in risk]
    return {"age": age, "smoker": smoker, "outcome": ill}


@pytest.fixture(params=["pandas", "polars"])
def frame(request):
    return pytest.importorskip(request.param).DataFrame


@pytest.fixture
def both():
    """Frames of both kinds, in one run."""
    return [pytest.importorskip(name).DataFrame for name in ("pandas", "polars")]


def test_frames_go_in_and_their_rows_are_predicted(frame, tmp_path):
    hospitals = {
        "north": frame(rows(60, 1)),
        "south": (frame(rows(50, 2)), frame(rows(30, 3))),
        "east": tmp_path / "east.csv",
    }
    own = rows(60, 4)
    lines = [",".join(map(str, row)) for row in zip(*own.values(), strict=True)]
    hospitals["east"].write_text("\n".join([",".join(own), *lines]))
    result = sf.collaborate(hospitals, label="outcome", **QUICK)
    assert result.outcome.result.classes == ["ill", "well"]
    new = frame({"smoker": ["yes", "no"], "age": [79, 21]})
    for model in result.models.values():
        assert model.predict(new).tolist() == ["ill", "well"]
        assert model.record.table.target.name == "outcome"
    test = rows(30, 3)
    assert result.models["south"].score(frame(test), test["outcome"]) == result.accuracy["south"]
    page = result.write(tmp_path / "run")
    assert page.exists()
    again = sf.load_model(tmp_path / "run/models/south")
    assert np.array_equal(again.predict_proba(new), result.models["south"].predict_proba(new))


def test_limits_and_decimal_commas_are_read_as_from_a_file_and_told(frame, tmp_path):
    def dirty(count, seed):
        made = rows(count, seed)
        crp = [f"{one / 10}".replace(".", ",") for one in made["age"]]
        crp[3] = "<5"
        return made | {"crp": crp, "visit": [f"2024-01-{1 + n % 28:02}" for n in range(count)]}

    tables = {"north": dirty(60, 1), "south": dirty(50, 2)}
    files = {}
    for name, made in tables.items():
        lines = [";".join(map(str, row)) for row in zip(*made.values(), strict=True)]
        files[name] = tmp_path / f"{name}.csv"
        files[name].write_text("\n".join([";".join(made), *lines]) + "\n")
    frames = {name: frame(made) for name, made in tables.items()}
    results = [sf.collaborate(given, label="outcome", **QUICK) for given in (frames, files)]
    assert results[0].models["north"].record.table == results[1].models["north"].record.table
    told = [
        [(one.site, one.column, one.kind) for one in result.findings if one.kind != "separator"]
        for result in results
    ]
    assert told[0] == told[1]
    assert {("north", "crp", "decimal_comma"), ("south", "crp", "censored")} <= set(told[0])
    assert ("north", "visit", "date") in told[0]  # why it is no feature
    assert "points to look at in the tables: see findings" in repr(results[0])


def test_a_column_that_is_no_feature_is_told_with_the_reason(both):
    words = {
        seed: rows(40, seed) | {"note": [f"text {n % 25} of {seed}" for n in range(40)]}
        for seed in (1, 2)
    }
    hospitals = {f"h{seed}": both[seed - 1](made) for seed, made in words.items()}
    result = sf.collaborate(hospitals, label="outcome", **QUICK)
    (one,) = [one for one in result.findings if one.column == "note"]
    assert (one.kind, one.site) == ("unused_column", "everyone")
    assert "more than 20 different texts" in one.message
    assert "see findings" in result._repr_html_()


def test_rules_that_are_known_beforehand_are_kept(both):
    rules = TableSpec(
        columns=(
            NumericColumn(name="age", low=0, high=100),
            BinaryColumn(name="smoker", no="no", yes="yes"),
        ),
        target=Target(name="outcome", groups=(("well",), ("ill",))),
    )
    hospitals = {name: both[n](rows(40, n)) for n, name in enumerate(("north", "south"))}
    result = sf.collaborate(hospitals, label=rules, **QUICK)
    assert result.models["north"].record.table == rules


def test_numbers_that_name_classes_in_a_frame_can_be_scored(both):
    def numbered(frame, table):
        return frame(table | {"outcome": [1 if o == "well" else 2 for o in table["outcome"]]})

    hospitals = {
        name: numbered(both[seed], rows(60, seed)) for seed, name in enumerate(("north", "south"))
    }
    model = sf.collaborate(hospitals, label="outcome", **QUICK).models["north"]
    assert model.classes_.tolist() == [1, 2]
    for frame in both:
        test = numbered(frame, rows(40, 7))
        assert model.score(test, test["outcome"]) > 0.5


@pytest.mark.parametrize(
    ("names", "classes"), [((1, 2), [1, 2]), (("no", "yes"), ["no", "yes"]), ((0, 1), [0, 1])]
)
def test_classes_have_any_names(make_arrays, names, classes):
    hospitals = {}
    for seed, name in enumerate(("north", "south")):
        x, y = make_arrays(60, seed)
        hospitals[name] = (x, np.array(names)[y])
    result = sf.collaborate(hospitals, **QUICK)
    model = result.models["north"]
    assert model.classes_.tolist() == classes
    x, y = make_arrays(80, 9)
    assert model.score(x, np.array(names)[y]) > 0.8
    assert (
        result.outcome.result.class_counts["north"] == np.bincount(make_arrays(60, 0)[1]).tolist()
    )


def told_of(result):
    """Sensitivity and specificity of the first hospital's model, and its classes."""
    kept = result.outcome.models[0]
    scores = kept.card.model.scores
    return scores["sensitivity"], scores["specificity"], kept.model.classes_.tolist()


@pytest.mark.parametrize(
    ("shape", "frame"), [("tables", "pandas"), ("rules", "polars"), ("names", None)]
)
def test_the_class_that_must_not_be_missed_is_named(make_arrays, frame, shape):
    label = None
    if shape == "names":
        hospitals = {}
        for seed, name in enumerate(("north", "south")):
            x, y = make_arrays(60, seed)
            y ^= np.random.default_rng(seed).random(len(y)) < 0.2
            hospitals[name] = (x, np.array(["ill", "well"])[y])
    else:
        make = pytest.importorskip(frame).DataFrame
        hospitals = {name: make(rows(60, seed)) for seed, name in enumerate(("north", "south"))}
        label = "outcome"
        if shape == "rules":
            label = TableSpec(
                columns=(NumericColumn(name="age", low=0, high=100),),
                target=Target(name="outcome", groups=(("ill",), ("well",))),
            )
    last, first, same = (
        told_of(sf.collaborate(hospitals, label=label, positive=one, **QUICK))
        for one in (None, "ill", "well")
    )
    assert last == same
    assert last[2] == ["ill", "well"]
    assert first == (last[1], last[0], ["well", "ill"])
    assert last[0] != last[1]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], "labels that are numbers of classes have no codes"),
        (["ill", "well"], "no class has this code .*found 'yes', expected 'ill, well'"),
        (["a", "b", "c"], "a mean where there are more .*found '3 classes'"),
    ],
)
def test_a_positive_class_that_is_none_is_refused(make_arrays, labels, message):
    hospitals = {}
    for seed, name in enumerate(("north", "south")):
        x, _ = make_arrays(30, seed)
        hospitals[name] = (x, np.resize(np.array(labels), len(x)))
    with pytest.raises(ConfigError, match=message):
        sf.collaborate(hospitals, positive="yes", **QUICK)
    if message.startswith("labels that"):
        given = {name: sf.Samples(x, y, 2) for name, (x, y) in hospitals.items()}
        with pytest.raises(ConfigError, match=message):
            sf.collaborate(given, positive=1, **QUICK)


@pytest.mark.parametrize(
    ("hospitals", "options", "message"),
    [
        ({"a": [1], "b": [2]}, {"label": "y"}, r"a: .*DataFrame of pandas or polars"),
        ({"a": "absent.csv", "b": "absent.csv"}, {"label": "y"}, r"participant a, absent\.csv"),
        ({"a": "absent.csv", "b": "absent.csv"}, {}, r"a table needs the column|label="),
    ],
)
def test_refusals_name_what_is_accepted(hospitals, options, message):
    with pytest.raises(SecureFairError, match=message):
        sf.collaborate(hospitals, **options, **QUICK)


def test_a_frame_without_a_label_is_told_so(frame):
    hospitals = {name: frame(rows(20, 0)) for name in "ab"}
    with pytest.raises(DataError, match="label="):
        sf.collaborate(hospitals, **QUICK)
    with pytest.raises(ConfigError, match="no pixels"):
        sf.collaborate(hospitals, label="outcome", extractor=nn.Flatten(), **QUICK)


class TestSamples:
    def test_from_a_frame(self, frame):
        samples = sf.make_samples(frame(rows(40, 0)), label="outcome")
        assert (len(samples), samples.classes, samples.features.shape[1]) == (40, 2, 2)
        with pytest.raises(DataError, match="needs the column to predict"):
            sf.make_samples(frame(rows(40, 0)))

    def test_from_arrays_with_any_names_of_classes(self):
        samples = sf.make_samples((np.zeros((3, 2)), np.array([2, 1, 2])))
        assert samples.labels.tolist() == [1, 0, 1]
        assert sf.make_samples((np.zeros((2, 2)), ["b", "a"])).labels.tolist() == [1, 0]

    @pytest.mark.parametrize(
        ("features", "labels", "classes"),
        [
            ([[0.0]], np.array([0]), 2),
            (np.zeros((1, 1)), [0], 2),
            (np.zeros((1, 1)), np.array([0.5]), 2),
            (np.zeros((1, 1)), np.array(["a"]), 2),
            (np.zeros((1, 1)), np.array([0]), None),
        ],
    )
    def test_what_is_no_array_of_numbers_is_refused(self, features, labels, classes):
        with pytest.raises(DataError, match=r"make_samples"):
            sf.Samples(features, labels, classes)


class TestTeacher:
    def test_a_torch_module_answers(self, make_arrays):
        module = nn.Sequential(nn.Linear(4, 3), sf.Quadratic(), nn.Linear(3, 2))
        x, y = make_arrays(50)
        samples = sf.Samples(x.astype(np.float64), y, 2)
        spec = sf.ExchangeSpec(features=4, classes=2, samples=50, hidden=3, release="logits")
        student = sf.Student(spec)
        opened = student.open(sf.Teacher(module, spec).answer(student.request(samples)))
        import torch

        with torch.no_grad():
            expected = module(torch.from_numpy(x)).numpy()
        assert np.abs(opened.logits - expected).max() < 0.05

    @pytest.mark.parametrize("model", ["linear", nn.Linear, object(), None])
    def test_anything_else_is_refused_with_what_is_accepted(self, model):
        with pytest.raises(ModelError, match="a torch module"):
            sf.Teacher(model)


def test_a_column_that_not_everyone_has_is_its_hospitals_own(both):
    pandas, polars = both
    north = rows(60, 1) | {"crp": np.random.default_rng(0).normal(5, 1, 60).round(2).tolist()}
    hospitals = {"north": polars(north), "south": pandas(rows(50, 2)), "east": polars(rows(40, 3))}
    result = sf.collaborate(hospitals, label="outcome", **QUICK)
    widths = {name: model.n_features_in_ for name, model in result.models.items()}
    assert widths == {"north": 3, "south": 2, "east": 2}
    assert [one.name for one in result.models["north"].record.table.columns][-1] == "crp"
    assert not any(one.column == "crp" for one in result.findings)
    other = sf.collaborate(hospitals, label="outcome", backend="clear", algorithm="vpdl", rounds=1)
    assert any(one.column == "crp" for one in other.findings)
