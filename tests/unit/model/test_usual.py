import numpy as np
import pytest

from securefair.data.dataset import Samples
from securefair.errors import ConfigError, ModelError
from securefair.model import usual
from securefair.model.probabilities import probabilities_of
from securefair.model.stored import inputs_of, logits_of, to_bytes
from securefair.model.usual import USUAL, averaged, usual_model


def checkered(count, classes=2):
    """What no linear model learns."""
    x = np.random.default_rng(0).uniform(-1, 1, (count, 3))
    labels = (x[:, 0] * x[:, 1] > 0).astype(np.int64)
    return Samples(x, labels, classes)


@pytest.mark.parametrize("name", USUAL)
def test_learns_what_no_linear_model_does_and_the_seed_is_its_only_chance(name):
    own = checkered(150)
    model, same = (usual_model(name, own, 3) for _ in range(2))
    said = probabilities_of(logits_of(model, own.features))
    assert np.mean(said.argmax(axis=1) == own.labels) > 0.9
    np.testing.assert_allclose(said.sum(axis=1), 1)
    np.testing.assert_array_equal(model.logits(own.features), same.logits(own.features))
    assert (inputs_of(model), model.classes) == (3, 2)


@pytest.mark.parametrize("name", USUAL)
def test_a_class_that_it_never_saw_is_unlikely_and_not_impossible(name):
    for own in (checkered(30, classes=3), Samples(np.zeros((4, 2)), np.ones(4, np.int64), 3)):
        said = usual_model(name, own, 0).probabilities(own.features)
        assert said.shape == (len(own), 3)
        assert (said[:, 2] > 0).all()
        assert (said[:, 2] < 0.1).all()


def test_an_average_counts_all_alike():
    own = checkered(40)
    parts = [usual_model(name, own, 0).probabilities for name in ("forest", "boosting")]
    both = averaged(parts, own)
    expected = (parts[0](own.features) + parts[1](own.features)) / 2
    np.testing.assert_allclose(both.probabilities(own.features), expected)


def test_it_prints_nothing_that_it_learnt_and_is_not_kept():
    model = usual_model("forest", checkered(30), 0)
    assert repr(model) == "Estimated(3 -> 2, redacted)"
    with pytest.raises(ModelError, match="only predicts"):
        to_bytes(model)


def test_an_unknown_name_is_refused_with_those_there_are():
    with pytest.raises(ConfigError, match="boosting"):
        usual_model("jungle", checkered(30), 0)


def test_a_process_is_fitted_to_few_patients_whatever_is_rare(monkeypatch):
    """Its time grows with the third power: one patient of a rare class must not bring all in."""
    monkeypatch.setattr(usual, "MOST_OF_A_PROCESS", 20)
    rng = np.random.default_rng(0)
    labels = np.array([0, 1] * 100 + [2])
    fitted = usual._gaussian_process(Samples(rng.normal(size=(201, 2)), labels, 3), 0)
    assert set(fitted.classes_) == {0, 1, 2}
    assert len(fitted.base_estimator_.estimators_[0].X_train_) == 21
