from functools import partial

import numpy as np
import pytest

from securefair.data.dataset import Samples
from securefair.errors import ModelError
from securefair.model.probabilities import probabilities_of as probabilities
from securefair.model.transfer.design import own_design, tree_design
from securefair.model.transfer.stand_in import stand_in

X = np.random.default_rng(0).uniform(-1, 1, (80, 3))
FORMS = {
    "linear": partial(own_design, degree=1),
    "quadratic": partial(own_design, degree=2),
    "trees": partial(tree_design, beside=True),
}


def rng():
    return np.random.default_rng(3)


def patients(classes=2):
    return Samples(X, np.zeros(80, dtype=np.int64), classes)


def checkered(x):
    p = np.where(x[:, 0] * x[:, 1] > 0, 0.95, 0.05)
    return np.column_stack([1 - p, p])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("classes", [2, 3])
def test_it_says_what_a_linear_model_says(form, classes):
    slopes = np.random.default_rng(1).normal(size=(3, classes)) / 2

    def model(x):
        return probabilities(x @ (slopes if classes > 2 else slopes[:, :1]))

    found = stand_in(model, patients(classes), FORMS[form], rng())
    said = probabilities(found.function.logits(X))
    np.testing.assert_allclose(said, model(X), atol=0.04)
    assert found.disagreement.own < 0.05
    assert found.disagreement.other_class < 0.1


def test_leaves_follow_what_no_line_follows_and_disagreement_says_so():
    apart = {
        form: stand_in(checkered, patients(), design, rng()).disagreement
        for form, design in FORMS.items()
    }
    assert apart["trees"].own < apart["linear"].own / 2
    assert apart["trees"].other_class < 0.15 < 0.25 < apart["linear"].other_class
    assert apart["quadratic"].synthetic < apart["linear"].synthetic


def test_labels_have_no_part_in_it():
    other = Samples(X, np.ones(80, dtype=np.int64), 2)
    one, same = (stand_in(checkered, own, FORMS["trees"], rng()) for own in (patients(), other))
    np.testing.assert_array_equal(one.function.leaves, same.function.leaves)


@pytest.mark.parametrize("value", [np.nan, -0.1, 0.9])
def test_what_are_no_probabilities_is_refused(value):
    with pytest.raises(ModelError, match="no probabilities"):
        stand_in(lambda x: np.full((len(x), 2), value), patients(), FORMS["linear"], rng())
    with pytest.raises(ModelError, match="no probabilities"):
        stand_in(lambda x: np.ones((len(x), 1)), patients(), FORMS["linear"], rng())
