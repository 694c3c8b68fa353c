"""Every form of a model that may teach, and what none of them may be."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from securefair.data.dataset import Samples
from securefair.errors import ConfigError, DataError, ModelError
from securefair.model.stored import to_bytes
from securefair.model.teachers import EstimatorTeacher, teacher_of
from securefair.model.teachers.register import FILES
from securefair.model.transfer import Polynomial
from securefair.model.usual import USUAL

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (40, 3))
TRAIN = Samples(X, (X[:, 0] > 0).astype(np.int64), 2)


def polynomial():
    return Polynomial(np.array([0.1]), np.array([[3.0, 0.0, -1.0]]))


def onnx_of(path, features=3, columns=1):
    onnx = pytest.importorskip("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    weights = np.zeros((features, columns), np.float32)
    weights[0] = 3.0
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["z"]),
            helper.make_node("Sigmoid", ["z"], ["probability"]),
        ],
        "vendor",
        [helper.make_tensor_value_info("x", kind, ["B", features])],
        [helper.make_tensor_value_info("probability", kind, ["B", columns])],
        [helper.make_tensor("w", kind, weights.shape, weights.ravel())],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())


def brought(form, folder):
    if form in USUAL:
        return teacher_of(form, where="here")
    if form == "estimator":
        return EstimatorTeacher(LogisticRegression())
    path = folder / f"model{form}"
    if form == ".onnx":
        pytest.importorskip("onnxruntime")
        onnx_of(path)
    else:
        path.write_bytes(to_bytes(polynomial()))
    return teacher_of(str(path), where="here")


@pytest.mark.parametrize("form", [*USUAL, *FILES, "estimator"])
def test_it_says_how_probable_each_class_is(form, tmp_path):
    teacher = brought(form, tmp_path)
    said = teacher.ready(TRAIN, 0)(X)
    assert said.shape == (40, 2)
    np.testing.assert_allclose(said.sum(axis=1), 1, atol=1e-6)
    assert np.mean(said.argmax(axis=1) == TRAIN.labels) > 0.85
    assert "/" not in teacher.name


def test_a_fitted_estimator_stays_as_it_is():
    other = LogisticRegression().fit(-X, TRAIN.labels)
    said = EstimatorTeacher(other).ready(TRAIN, 0)(X)
    np.testing.assert_array_equal(said, other.predict_proba(X))


@pytest.mark.parametrize("steps", [[], [StandardScaler()]])
def test_an_estimator_is_fitted_from_the_seed_and_stays_unfitted(steps):
    forest = RandomForestClassifier(n_estimators=5)
    teacher = EstimatorTeacher(make_pipeline(*steps, forest) if steps else forest)
    one, same, other = (teacher.ready(TRAIN, seed)(X) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    assert forest.random_state is None
    given = EstimatorTeacher(RandomForestClassifier(n_estimators=5, random_state=7))
    np.testing.assert_array_equal(given.ready(TRAIN, 1)(X), given.ready(TRAIN, 2)(X))


def test_an_estimator_at_a_hospital_of_few_classes_does_as_a_forest_does():
    alone = Samples(X, np.ones(40, dtype=np.int64), 2)
    said = EstimatorTeacher(LogisticRegression()).ready(alone, 0)(X)
    forest = teacher_of("forest", where="here").ready(alone, 0)(X)
    np.testing.assert_array_equal(said, forest)
    two_of_three = Samples(X, 2 * TRAIN.labels, 3)
    said = EstimatorTeacher(LogisticRegression()).ready(two_of_three, 0)(X)
    assert said.shape == (40, 3)
    assert (said[:, 1] < 0.01).all()


def test_what_foreign_code_raises_is_told_as_its_fault():
    class Moody(LogisticRegression):
        def fit(self, *data):
            raise ValueError(len(data))

    with pytest.raises(ModelError, match=r"cannot be fitted.*ValueError"):
        EstimatorTeacher(Moody()).ready(TRAIN, 0)
    wide = RandomForestClassifier(n_estimators=2).fit(np.hstack([X, X]), TRAIN.labels)
    with pytest.raises(ModelError, match=r"does not take these patients.*3 features"):
        EstimatorTeacher(wide).ready(TRAIN, 0)(X)


def test_what_is_not_of_scikit_learn_needs_its_method_only():
    @dataclass
    class Vendor:
        def predict_proba(self, features):
            return np.full((len(features), 2), 0.5)

    assert EstimatorTeacher(Vendor()).ready(TRAIN, 0)(X).shape == (40, 2)


@pytest.mark.parametrize("told", ["model.joblib", "model.pkl", "jungle", "a/b"])
def test_pickles_and_unknown_names_are_refused(told, tmp_path):
    (tmp_path / "model.joblib").write_bytes(b"cos\nsystem\n")
    with pytest.raises(ConfigError, match=r"no such model may teach.*forest.*\.onnx"):
        teacher_of(str(tmp_path / told) if "." in told else told, where="here")


def test_files_that_are_not_there_or_damaged(tmp_path):
    with pytest.raises(ConfigError, match="no such file"):
        teacher_of(str(tmp_path / "none.onnx"), where="here")
    for suffix in FILES:
        path = tmp_path / f"damaged{suffix}"
        path.write_bytes(b"nonsense")
        if suffix == ".onnx":
            pytest.importorskip("onnxruntime")
        with pytest.raises(DataError, match="damaged"):
            teacher_of(str(path), where="here").ready(TRAIN, 0)


def test_a_file_of_other_features_or_classes(tmp_path):
    pytest.importorskip("onnxruntime")
    path = Path(tmp_path / "wide.onnx")
    onnx_of(path, features=5)
    with pytest.raises(ModelError, match="does not take these features"):
        teacher_of(str(path), where="here").ready(TRAIN, 0)(X)
    three = LogisticRegression().fit(X, np.arange(40) % 3)
    with pytest.raises(ModelError, match="other classes"):
        EstimatorTeacher(three).ready(TRAIN, 0)(X)


def test_an_estimator_without_probabilities():
    with pytest.raises(ConfigError, match="predict_proba"):
        EstimatorTeacher(SVC())
