"""A small part at one patient, repeated: what it tells by the default plan on real hospitals.

The attacker is a teacher and a student of its victim. It adds a part of 0.3 logits at one patient
to its answers, which nothing refuses, and adds up how the victim's own answers move: once for the
part, once for the part times the patient's feature. A pair takes six rounds.
"""

from functools import cache

import numpy as np
import pytest

from securefair.config import defaults, demo_config
from securefair.exchange.learning import weight_of_round
from securefair.model.building import build_model
from securefair.model.plausibility import IMPLAUSIBLE, Clip, SmoothPrior
from securefair.model.prevalence import own_prevalence
from securefair.model.projection import block_signs, public_indices, public_rows
from securefair.model.reconstruction import Reconstructor
from securefair.model.training import (
    OptimizerConfig,
    TeacherAnswer,
    TrainState,
    distil_steps,
    train_epochs,
)
from securefair.user.participants import load_participants

GRID = 2.0**-10
PAIRS, CALM = 12, 8
VICTIMS = 8  # each of four hospitals, once a patient with the feature and once one without
WEIGHT = 7.5  # of a teacher among four


@cache
def hospitals():
    return [own.train for own in load_participants(demo_config(), 0)]


def trained(at, seed):
    head = build_model("quadratic", hospitals()[at], hidden=16, network=None, seed=seed)
    state = TrainState.start(head, OptimizerConfig())
    train_epochs(state, hospitals()[at], defaults.LOCAL_EPOCHS)
    return state


@cache
def teacher(at):
    return trained(at, 5).model


class Facts:
    """What a victim is before the first round: the same however rounds count."""

    def __init__(self, trial):
        at = trial % 4
        self.samples = hospitals()[at]
        q = min(defaults.Q, len(self.samples) - 1)
        indices = public_indices(8192, q, b"securefair")
        self.rows = public_rows(8192, indices, len(self.samples), block_signs(1, b"securefair"))
        self.opened = Reconstructor(self.samples, self.rows, GRID)
        self.prior = SmoothPrior(self.samples, self.rows, GRID)
        self.state = trained(at, trial)
        x = self.samples.features
        self.honest = self.learnable(teacher((at + 2) % 4).logits(x))
        self.smooth = self.rows @ teacher((at + 1) % 4).logits(x)
        self.asked = hospitals()[(at + 1) % 4].features

    def learnable(self, logits):
        return Clip().applied(own_prevalence(logits, self.samples.labels))

    def learnt_of(self, released):
        """What the victim learns from an answer that opens to these numbers."""
        assert self.prior.log_ratio(released) >= IMPLAUSIBLE  # nothing of it is refused
        return self.learnable(self.opened.logits(released))


facts_of = cache(Facts)


class Victim:
    """One of the hospitals: asks the attacker and an honest peer, and answers the attacker."""

    def __init__(self, facts, weigh):
        self.facts, self.weigh, self.rounds = facts, weigh, 0
        self.state = facts.state.copy()

    def round(self, learnt):
        weight = WEIGHT * self.weigh(self.rounds)
        self.rounds += 1
        answers = [TeacherAnswer(logits, weight) for logits in (self.facts.honest, learnt)]
        distil_steps(self.state, self.facts.samples, answers, defaults.LOCAL_STEPS, temperature=5.0)
        return GRID * np.rint(self.state.model.logits(self.facts.asked)[:, 1] / GRID)


def read(trial, weigh, size):
    """A binary feature of a patient, and the guess; as many have it as have not."""
    facts, rng = facts_of(trial), np.random.default_rng([trial, 1])
    victim, x = Victim(facts, weigh), facts.samples.features
    binary = [column for column in x.T if len(np.unique(column)) == 2]
    column = binary[trial % len(binary)]
    wanted = trial // 4 % 2
    patient = rng.choice(np.flatnonzero(column == np.unique(column)[wanted]))
    aim = np.zeros((len(x), 2))
    aim[patient] = [-size, size]
    aim, secret = facts.rows @ aim, 2.0 * wanted - 1
    ordinary = facts.learnt_of(facts.smooth)
    aimed = [facts.learnt_of(facts.smooth + factor * aim) for factor in (1.0, secret)]
    for _ in range(CALM):
        victim.round(ordinary)
    moved = np.zeros((2, len(facts.asked)))
    for _ in range(PAIRS):
        for at in range(2):
            calm = [victim.round(ordinary) for _ in range(2)]
            moved[at] += victim.round(aimed[at]) - 2 * calm[-1] + calm[-2]
    return secret, 1.0 if moved[0] @ moved[1] > 0 else -1.0


def success(weigh, size=0.3):
    pairs = [read(trial, weigh, size) for trial in range(VICTIMS)]
    return np.mean([secret == guess for secret, guess in pairs])


@pytest.mark.slow
def test_where_every_round_counts_alike_twelve_pairs_tell_the_feature():
    """The former step."""
    assert success(lambda _: 1.0) >= 0.75


@pytest.mark.slow
def test_where_late_rounds_count_little_they_tell_no_more():
    assert success(weight_of_round) <= 0.7
