import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import securefair as sf
from securefair import TransferClassifier
from securefair.data import Samples
from securefair.errors import ConfigError, DataError, SecureFairError
from securefair.model.transfer import own_fit, transfer

FOLDED = {
    "check_sample_weight_equivalence_on_dense_data": "folds deal patients, whatever they weigh"
}


@parametrize_with_checks([TransferClassifier()], expected_failed_checks=lambda _: FOLDED)
def test_it_is_an_estimator_of_scikit_learn(estimator, check):
    check(estimator)


def test_a_weight_is_how_often_a_patient_counts(patients):
    x, y = patients[0][:90], patients[1][:90]
    weights = np.ones(90)
    weights[60:] = 0
    without = TransferClassifier().fit(x[:60], y[:60])
    found = TransferClassifier().fit(x, y, sample_weight=weights)
    assert np.allclose(found.predict_proba(x), without.predict_proba(x))
    answers = {"south": np.arange(90.0)}  # of all, whether they count or not
    TransferClassifier(answers).fit(x, y, sample_weight=weights)
    heavy = np.where(y == "well", 5.0, 1.0)
    more = TransferClassifier().fit(x, y, heavy).predict_proba(x)[:, 1]
    assert more.mean() > TransferClassifier().fit(x, y).predict_proba(x)[:, 1].mean() + 0.05


@pytest.mark.parametrize("weights", [[1.0, 2.0], -np.ones(20), np.zeros(20), np.full(20, np.nan)])
def test_weights_that_are_none_are_refused(patients, weights):
    with pytest.raises(ValueError, match="sample_weight"):
        TransferClassifier().fit(patients[0][:20], patients[1][:20], weights)


@pytest.fixture(scope="module")
def patients():
    x, y = make_classification(260, 6, n_informative=4, random_state=0)
    return np.tanh(x), np.array(["well", "ill"])[y]


def test_alone_it_is_the_tuned_control(patients):
    x, y = patients[0][:60], patients[1][:60]
    samples = Samples(x, (y == "well").astype(np.int64), 2)
    control = own_fit(samples, 1, rng=np.random.default_rng(0)).averaged
    found = TransferClassifier().fit(x, y)
    assert found.classes_.tolist() == ["ill", "well"]
    assert np.allclose(found.predict_proba(patients[0]), control.predict_proba(patients[0]))
    assert found.trust_.in_peers == 0


def test_a_linear_model_has_coefficients_and_another_has_none(patients):
    X, y = patients[:2]
    linear = TransferClassifier(calibrate=True).fit(X, y)
    if hasattr(linear, "coef_"):
        found = X @ linear.coef_[0] + linear.intercept_[0]
        np.testing.assert_allclose(found, linear.decision_function(X))
    assert not hasattr(TransferClassifier(degree=2).fit(X, y), "coef_")


def test_good_peers_help_and_random_ones_are_left_out(patients):
    x, y = patients
    few, rest = (x[:30], y[:30]), (x[60:], y[60:])
    teacher = TransferClassifier().fit(x[160:], y[160:])
    answers = {"south": teacher.decision_function(few[0])}
    helped = TransferClassifier(answers).fit(*few)
    assert helped.trust_.in_peers > 0.5
    assert helped.score(*rest) >= TransferClassifier().fit(*few).score(*rest)
    noise = np.random.default_rng(0).normal(size=30) * 3
    assert TransferClassifier({"x": noise}).fit(*few).trust_.left_out == ("x",)
    mean = TransferClassifier(answers["south"]).fit(*few)
    samples = Samples(few[0], (few[1] == "well").astype(np.int64), 2)
    own = own_fit(samples, 1, rng=np.random.default_rng(0))
    expected = transfer(own, answers["south"][:, None]).model.predict_proba(x)
    assert np.allclose(mean.predict_proba(x), expected)


def test_it_is_searched_cloned_and_put_into_pipelines(patients):
    x, y = patients[0][:80], patients[1][:80]
    search = GridSearchCV(TransferClassifier(), {"degree": [1, 2]}, cv=3).fit(x, y)
    assert search.best_params_["degree"] in (1, 2)
    pipeline = make_pipeline(FunctionTransformer(np.tanh), clone(TransferClassifier(degree=2)))
    assert cross_val_score(pipeline, x, y, cv=3).mean() > 0.6


def test_answers_about_other_patients_are_refused(patients):
    x, y = patients
    with pytest.raises(ConfigError, match=r"south: .*not of these patients .*\(3, 1\)"):
        TransferClassifier({"south": np.zeros(3)}).fit(x[:9], y[:9])


def test_calibration_only_scales_logits(patients):
    x, y = patients[0][:80], patients[1][:80]
    plain, warm = TransferClassifier().fit(x, y), sf.TransferClassifier(calibrate=True).fit(x, y)
    assert np.allclose(plain.decision_function(x) / warm.temperature_, warm.decision_function(x))
    assert 0.2 < warm.temperature_ < 5
    held_out = cross_val_score(TransferClassifier(), x, y, scoring="neg_log_loss", cv=5).mean()
    warmer = TransferClassifier(calibrate=True)
    assert cross_val_score(warmer, x, y, scoring="neg_log_loss", cv=5).mean() > held_out - 0.05


@pytest.mark.parametrize(("name", "value"), [("degree", 3), ("folds", 1), ("folds", -3)])
def test_what_no_fit_has_is_refused(patients, name, value):
    with pytest.raises(ConfigError, match=name):
        TransferClassifier(**{name: value}).fit(*patients)


def test_without_trees_a_model_has_the_coefficients_that_it_decides_by(patients):
    X, y = patients[:2]
    found = TransferClassifier(trees=False).fit(X, y)
    by_hand = X @ found.coef_[0] + found.intercept_[0]
    np.testing.assert_allclose(by_hand, found.decision_function(X))
    with pytest.raises(ConfigError, match="trees: out of range"):
        TransferClassifier(trees="no").fit(X, y)


def test_whole_numbers_of_numpy_are_numbers_of_folds(patients):
    same = [TransferClassifier(folds=folds).fit(*patients[:2]) for folds in (4, np.int64(4))]
    assert (same[0].predict_proba(patients[0]) == same[1].predict_proba(patients[0])).all()


@pytest.mark.parametrize("value", ["sigmoid", None, 2])
def test_calibration_is_on_or_off(patients, value):
    with pytest.raises(ConfigError, match=r"calibrate: out of range.*True or False"):
        TransferClassifier(calibrate=value).fit(*patients[:2])


@pytest.mark.parametrize("draws", [0, 1, -3, 2.5])
def test_estimates_need_draws(patients, draws):
    fitted = TransferClassifier(trees=False).fit(*patients[:2])
    with pytest.raises(ConfigError, match="draws: out of range"):
        fitted.estimates(draws=draws)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (TransferClassifier(), "answer of b: these are no numbers .*decision_function"),
        (["well"] * 80, "answer of b: these are no numbers"),
        (np.full(80, np.nan), "b: a peer's answer is NaN or infinite .*row 0"),
    ],
)
def test_what_is_no_answer_says_what_one_is(patients, answer, words):
    X, y = patients[:2]
    with pytest.raises(SecureFairError, match=words):
        TransferClassifier({"b": answer}).fit(X[:80], y[:80])


def test_weights_that_are_texts_are_named(patients):
    X, y = patients[:2]
    with pytest.raises(DataError, match="sample_weight: these are no numbers"):
        TransferClassifier().fit(X, y, sample_weight=["a"] * len(X))


def test_numbers_in_an_array_of_objects_are_classes(patients):
    X, y = patients[:2]
    plain = TransferClassifier().fit(X, (y == y[0]).astype(int))
    objects = TransferClassifier().fit(X, (y == y[0]).astype(int).astype(object))
    assert objects.classes_.tolist() == [0, 1]
    assert (objects.predict(X) == plain.predict(X)).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_logarithms_of_probabilities_are_finite(classes):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (90, 3))
    y = np.digitize(x[:, 0], np.linspace(-1, 1, classes + 1)[1:-1])
    found = TransferClassifier(trees=False).fit(x, y)
    np.testing.assert_allclose(np.exp(found.predict_log_proba(x)), found.predict_proba(x))
    assert np.isfinite(found.predict_log_proba(1e4 * x)).all()
