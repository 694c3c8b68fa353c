"""What attacks find out about the patients behind a private model, and behind an ordinary one.

The attacker knows everything but whether one patient was there: all other patients, the constants
of the mechanism and, of the model, every parameter, which is more than any release tells.
"""

import copy

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from securefair.data.dataset import Samples
from securefair.model.heads import build_head
from securefair.model.transfer import own_fit
from securefair.privacy import (
    Patients,
    PrivacyTarget,
    PrivateTraining,
    SeededNoise,
    SgdSettings,
    private_fit,
)
from securefair.privacy.convex import INTERCEPT
from support.auditing import epsilon_lower_bound, likelihood_ratios, true_positives_at

TARGET = PrivacyTarget(epsilon=2.0, delta=1e-2, row_norm=1.0)
FITS, TRAININGS, FAULTY = 1000, 300, 150


class TooLittleNoise(SeededNoise):
    """A fifth of what was planned: the fault that an audit must find."""

    def gaussian_around(self, values, scale, *, coarse=False):
        return super().gaussian_around(values, scale / 5, coarse=coarse)


CANARY = np.array([[1.0, 1.0]])


def neighbours():
    """Ten patients, and the same with the one whose record weighs most."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-0.1, 0.1, (10, 2))
    y = rng.integers(0, 2, 10)
    return Samples(x, y, 2), Samples(np.vstack([x, CANARY]), np.append(y, 1), 2)


def fit_scores(noise, runs=FITS):
    """How far the fitted logit leans towards the canary, for many fits without and with it."""
    scores = []
    for at, samples in enumerate(neighbours()):
        patients = Patients.one_row_each(len(samples))
        fits = [private_fit(samples, patients, TARGET, noise(at, run)) for run in range(runs)]
        scores.append(
            np.array([(fit.linear @ CANARY[0])[0] + fit.constant[0] * INTERCEPT for fit in fits])
        )
    return scores


@pytest.mark.slow
def test_canaries_in_private_fits_stay_below_epsilon_and_show_noise_that_is_too_small():
    bound = epsilon_lower_bound(*fit_scores(SeededNoise), TARGET.delta)
    assert 0.1 < bound <= TARGET.epsilon
    faulty = epsilon_lower_bound(*fit_scores(TooLittleNoise, FAULTY), TARGET.delta)
    assert faulty > TARGET.epsilon


def training_scores(noise, runs=TRAININGS):
    """How far a step moved along the canary's gradient."""
    start = build_head("linear", 2, 0, 2, 0)
    cross_entropy(start(torch.tensor(CANARY)), torch.tensor([1])).backward()
    direction = -torch.cat([p.grad.ravel() for p in start.parameters()]).numpy()
    settings = SgdSettings(steps=1, rate=1.0, learning_rate=1e-3, momentum=0.0)
    scores = []
    for at, samples in enumerate(neighbours()):
        moved = []
        for run in range(runs):
            head = copy.deepcopy(start)
            head.zero_grad()
            patients = Patients.one_row_each(len(samples))
            training = PrivateTraining(head, samples, patients, TARGET, noise(at, run), settings)
            training.advance(1)
            change = [
                (p - q).detach().ravel()
                for p, q in zip(head.parameters(), start.parameters(), strict=True)
            ]
            # The expected batch is public: undo the division by it.
            moved.append(float(torch.cat(change).numpy() @ direction) * len(samples))
        scores.append(np.array(moved))
    return scores


@pytest.mark.slow
def test_canaries_in_private_training_stay_below_epsilon_and_show_noise_that_is_too_small():
    bound = epsilon_lower_bound(*training_scores(SeededNoise), TARGET.delta)
    assert 0.0 < bound <= TARGET.epsilon
    faulty = epsilon_lower_bound(*training_scores(TooLittleNoise, FAULTY), TARGET.delta)
    assert faulty > TARGET.epsilon


def attack(fit, models=48, records=80, d=30):
    """Scores of the likelihood-ratio attack on every model, the others being its shadows."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (records, d))
    y = (x @ rng.normal(size=d) + rng.normal(size=records) > 0).astype(np.int64)
    members = rng.random((models, records)) < 0.5
    margins = []
    for at in range(models):
        chosen = np.flatnonzero(members[at])
        model = fit(Samples(x[chosen], y[chosen], 2), at)
        margins.append(np.where(y == 1, 1, -1) * model(x))
    margins = np.array(margins)
    inside, outside = [], []
    for at in range(models):
        others = np.arange(models) != at
        scores = likelihood_ratios(margins[at], margins[others], members[others])
        inside.append(scores[members[at]])
        outside.append(scores[~members[at]])
    return np.concatenate(inside), np.concatenate(outside)


def ordinary(samples, seed):
    model = own_fit(samples, rng=np.random.default_rng(seed)).model
    return lambda x: model.logits(x)[:, 0]


def private(samples, seed):
    target = PrivacyTarget(epsilon=1.0, delta=1e-3)
    fit = private_fit(samples, Patients.one_row_each(len(samples)), target, SeededNoise(seed))
    return lambda x: x @ fit.linear[0] + fit.constant[0]


@pytest.mark.slow
def test_membership_shows_in_ordinary_answers_and_hides_in_private_ones():
    found, wrong = true_positives_at(*attack(ordinary), 0.02)
    assert wrong.hits >= 10
    assert found.low > 0.1  # five times what guessing finds
    guarded, _ = true_positives_at(*attack(private), 0.02)
    assert guarded.high < found.low
    assert guarded.low <= np.e * 0.02 + 1e-3
