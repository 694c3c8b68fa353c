"""A kept model is a fitted classifier of scikit-learn."""

import numpy as np
import pytest
import torch
from msgspec import structs
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.metrics import get_scorer
from sklearn.utils.validation import check_is_fitted

from securefair.data import Samples
from securefair.errors import ConfigError, DataError
from securefair.model.transfer import Polynomial
from securefair.prediction import HospitalModel, ModelRecord, evaluate, training_facts

pd = pytest.importorskip("pandas")  # not among the core's packages

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (60, 3))
Y = np.where(X[:, 0] > 0, 2, 1)


@pytest.fixture
def model():
    train = Samples(X, Y - 1, 2)
    record = ModelRecord(
        hospital="north",
        run="r",
        algorithm="transfer",
        seed=0,
        classes=["1", "2"],
        table=None,
        feature_range=None,
        **training_facts(train)._asdict(),
        patients=60,
    )
    return HospitalModel(record, Polynomial(np.zeros(1), np.array([[6.0, 0.0, 0.0]])))


def test_classes_are_numbers_where_labels_were(model):
    assert model.classes_.tolist() == [1, 2]
    assert model.score(X, Y) == 1
    named = HospitalModel(structs.replace(model.record, classes=["no", "yes"]), model.function)
    assert named.predict(X[:1]).tolist() == [["no", "yes"][Y[0] - 1]]


def test_scikit_learn_takes_it_as_a_fitted_classifier(model):
    check_is_fitted(model)
    assert is_classifier(model)
    assert get_scorer("roc_auc")(model, X, Y) == 1
    assert get_scorer("neg_log_loss")(model, X, Y) > -0.4
    importance = permutation_importance(model, X, Y, n_repeats=2, random_state=0).importances_mean
    assert importance[0] > 0.2
    assert np.allclose(importance[1:], 0)
    assert CalibratedClassifierCV(FrozenEstimator(model)).fit(X, Y).score(X, Y) == 1
    copied = clone(model)
    assert np.array_equal(copied.predict_proba(X), model.predict_proba(X))


def test_a_fit_is_refused_with_what_to_do_instead(model):
    with pytest.raises(ConfigError, match=r"north: .*not fitted anew.*TransferClassifier"):
        model.fit(X, Y)


def test_arrays_tensors_lists_and_frames_of_numbers_are_alike(model):
    expected = model.predict_proba(X)
    for form in (torch.from_numpy(X), X.tolist(), pd.DataFrame(X)):
        assert np.array_equal(model.predict_proba(form), expected)


def test_what_is_no_such_thing_is_refused(model):
    for asked in (model.predict, lambda table: evaluate(model, table)):
        with pytest.raises(DataError, match=r"trained on numbers.*load_model\(FOLDER\).predict_p"):
            asked("new.csv")
    for wrong in ([[1.0], [1.0, 2.0]], "x", {"a": 1}, None, np.array(["a"])):
        with pytest.raises(DataError):
            model.predict(wrong)


def test_nothing_of_the_patients_is_printed(model):
    for text in (repr(model), model._repr_html_()):
        assert "3 features -&gt; 1, 2" in text.replace("->", "-&gt;")
        assert str(model.record.low[0]) not in text


def test_scores_are_of_the_classes_of_the_model(model):
    with pytest.raises(DataError, match="not a class of the model"):
        model.score(X, Y - 1)
