"""Teachers' logits with the student's own class frequencies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from securefair.model.prevalence import own_prevalence


def drawn(seed, samples, classes):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 3, (samples, classes)), rng.integers(0, classes, samples)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 30),
    st.integers(2, 5),
    st.sampled_from([1.0, 10.0, 100.0]),
)
def test_mean_probabilities_are_the_own_frequencies(seed, samples, classes, size):
    """Nearly certain teachers included, whose probabilities hardly change before they jump."""
    logits, labels = drawn(seed, samples, classes)
    logits *= size
    shifted = own_prevalence(logits, labels)
    counts = np.bincount(labels, minlength=classes) + 0.5
    assert softmax(shifted, axis=1).mean(axis=0) == pytest.approx(counts / counts.sum(), abs=1e-6)


@pytest.mark.parametrize("size", [1e4, 1e6, 1e9])
@pytest.mark.parametrize(("samples", "classes"), [(20, 2), (200, 3), (50, 10)])
@pytest.mark.parametrize("seed", range(3))
def test_logits_of_a_model_that_diverged_get_the_own_frequencies(
    seed, samples, classes, size, caplog
):
    logits, labels = drawn(seed, samples, classes)
    shifted = own_prevalence(logits * size, labels)
    counts = np.bincount(labels, minlength=classes) + 0.5
    assert softmax(shifted, axis=1).mean(axis=0) == pytest.approx(counts / counts.sum(), abs=1e-6)
    assert caplog.messages == []


def test_logits_too_coarse_for_the_own_frequencies_are_told(caplog):
    logits, labels = drawn(0, 50, 10)
    found = own_prevalence(logits * 1e16, labels)
    assert np.isfinite(found).all()
    (message,) = caplog.messages
    assert "class frequencies" in message


@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.integers(2, 5))
def test_one_number_a_class_is_added_and_they_sum_to_nothing(seed, samples, classes):
    logits, labels = drawn(seed, samples, classes)
    added = own_prevalence(logits, labels) - logits
    assert np.ptp(added, axis=0) == pytest.approx(0, abs=1e-9)
    assert added[0].sum() == pytest.approx(0, abs=1e-9)


def test_a_teacher_of_another_prevalence_says_the_same():
    """Bayes' rule: another prevalence adds a constant to every logit, which goes away again."""
    logits, labels = drawn(0, 40, 2)
    ill_are_common = logits + np.array([0.0, 2.5])
    one, other = (own_prevalence(z, labels) for z in (logits, ill_are_common))
    assert softmax(one, axis=1) == pytest.approx(softmax(other, axis=1), abs=1e-6)


def test_logits_without_uncertainty_stay_finite():
    logits = np.array([[400.0, -400.0]] * 5)
    labels = np.array([0, 1, 1, 1, 1])
    found = own_prevalence(logits, labels)
    assert np.isfinite(found).all()
    assert softmax(found, axis=1).mean(axis=0) == pytest.approx([0.25, 0.75], abs=1e-6)
