import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_predict

from securefair.data.dataset import Samples
from securefair.errors import DataError
from securefair.model.probabilities import log_losses as losses
from securefair.model.transfer import own_fit
from securefair.model.transfer.alone import PENALTIES
from securefair.model.transfer.baselines import most_common


def rng():
    return np.random.default_rng(5)


def reference(penalty):
    # liblinear penalises the intercept as a slope of a constant feature: sqrt(lambda / 0.05)
    scale = float(np.sqrt(penalty / 0.05))
    return LogisticRegression(
        C=1 / penalty, solver="liblinear", intercept_scaling=scale, tol=1e-10, max_iter=10_000
    )


def test_every_penalty_agrees_with_scikit_learn(draw):
    own = draw(0, 60)
    fitted = own_fit(own, rng=rng())
    for at, penalty in enumerate(PENALTIES):
        theirs = reference(penalty).fit(own.features, own.labels)
        ours = fitted.design.function(fitted.validated.coefficients[at])
        np.testing.assert_allclose(ours.linear, theirs.coef_, atol=1e-4)
        np.testing.assert_allclose(ours.constant, theirs.intercept_, atol=1e-4)
        held_out = cross_val_predict(
            reference(penalty), own.features, own.labels,
            cv=PredefinedSplit(fitted.folds), method="decision_function",
        )  # fmt: skip
        np.testing.assert_allclose(fitted.validated.held_out[at, :, 0], held_out, atol=1e-4)
    assert fitted.penalty == PENALTIES[int(np.argmin(fitted.validated.scores))]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("degree", [1, 2])
def test_learns_what_is_there(draw, classes, degree):
    own, others = draw(0, 200, classes=classes), draw(1, 500, classes=classes)
    fitted = own_fit(own, degree, rng=rng())
    constant = losses(most_common(own).logits(others.features), others.labels).mean()
    for model in (fitted.model, fitted.averaged):
        assert losses(model.logits(others.features), others.labels).mean() < 0.8 * constant


def test_quadratic_fits_learn_what_linear_ones_cannot():
    x = np.random.default_rng(0).uniform(-1, 1, (300, 3))
    own = Samples(x, (x[:, 0] * x[:, 1] > 0).astype(np.int64), 2)
    right = [
        np.mean((own_fit(own, degree, rng=rng()).model.logits(x)[:, 0] > 0) == own.labels)
        for degree in (1, 2)
    ]
    assert right[0] < 0.7 < 0.9 < right[1]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("count", [1, 2, 4, 30])
def test_one_class_and_few_patients_are_no_obstacle(classes, degree, count):
    own = Samples(np.random.default_rng(0).uniform(-1, 1, (count, 3)),
                  np.ones(count, dtype=np.int64), classes)  # fmt: skip
    fitted = own_fit(own, degree, rng=rng())
    p = fitted.averaged.predict_proba(own.features)
    assert (p.argmax(axis=1) == 1).all()
    assert (p[:, 1] < 1).all()
    absent = p[:, [c for c in range(classes) if c != 1]]
    assert (absent > 0).all()


def test_constant_features_give_the_most_common_answer(draw):
    labels = np.array([1] * 15 + [0] * 5)
    own = Samples(np.zeros((20, 4)), labels, 2)
    fitted = own_fit(own, 2, rng=rng())
    np.testing.assert_allclose(
        fitted.model.logits(own.features), most_common(own).logits(own.features), atol=1e-8
    )


def test_the_folds_are_the_only_chance(draw):
    own = draw(3, 40)
    a, b, c = (
        own_fit(own, rng=rng()),
        own_fit(own, rng=rng()),
        own_fit(own, rng=np.random.default_rng(6)),
    )
    np.testing.assert_array_equal(a.model.linear, b.model.linear)
    assert not np.array_equal(a.folds, c.folds)


def test_no_patients():
    with pytest.raises(DataError, match="at least one patient"):
        own_fit(Samples(np.zeros((0, 3)), np.zeros(0, dtype=np.int64), 2), rng=rng())


def test_most_common_answer_by_hand():
    own = Samples(np.zeros((4, 2)), np.array([1, 1, 1, 0]), 2)
    p = most_common(own).predict_proba(np.ones((2, 2)))
    assert (p[:, 1] > 0.73).all()
    assert (p[:, 1] < 0.75).all()
