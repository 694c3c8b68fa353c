import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.data import Samples
from securefair.model.outcomes.calibration import LARGEST, temperature
from securefair.model.probabilities import log_losses as losses
from securefair.model.probabilities import probabilities_of as probabilities
from securefair.model.transfer import own_fit, transfer
from securefair.model.transfer.averaging import averaging_weights


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_it_finds_by_what_honest_logits_were_multiplied(classes, factor):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(4000, 1 if classes == 2 else classes)) * 2
    drawn = probabilities(logits).cumsum(axis=1) > rng.random((4000, 1))
    assert temperature(logits * factor, drawn.argmax(axis=1)) == pytest.approx(factor, rel=0.1)


@given(st.integers(0, 30), st.integers(0, 2**32 - 1))
def test_it_never_makes_held_out_predictions_worse(patients, seed):
    rng = np.random.default_rng(seed)
    logits, labels = rng.normal(size=(patients, 1)) * 4, rng.integers(0, 2, patients)
    found = temperature(logits, labels)
    assert np.exp(-LARGEST) < found < np.exp(LARGEST)
    assert losses(logits / found, labels).sum() <= losses(logits, labels).sum() + 1e-6


def test_a_transfer_takes_predictions_of_fits_that_did_not_see_the_patient():
    rng = np.random.default_rng(1)
    x, labels = np.tanh(rng.normal(size=(40, 12))), rng.integers(0, 2, 40)  # nothing to learn
    own = own_fit(Samples(x, labels, 2), rng=rng)
    scores = np.concatenate([one.scores for one in own.families])
    parts = np.concatenate([one.validated.held_out for one in own.families])
    held_out = np.einsum("s,snl->nl", averaging_weights(scores), parts)
    found = transfer(own, None)
    assert found.temperature == pytest.approx(temperature(held_out, labels))
    seen = temperature(own.averaged.logits(x), labels)
    assert found.temperature > 1.5 * seen  # fits are surer of patients that they have seen
