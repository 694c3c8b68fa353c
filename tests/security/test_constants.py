"""A teacher writes one patient's feature into the constant of its answer.

It adds up the encrypted feature over all samples of its answer, which is smooth: no test of
plausibility sees anything. With `prevalence = "teacher"` a student learnt that constant, and its
later answers showed it: 40 features of 40 in eight rounds.
"""

import numpy as np
import pytest

from securefair.collaboration.kinds import kind_of
from securefair.config import demo_config, override
from securefair.errors import ConfigError
from securefair.model.plausibility import IMPLAUSIBLE, Clip
from security.victims import COLUMN, FEATURES, MOST_BY_CHANCE, TARGET, TRIALS, Victim

ROUNDS, SIZE = 8, 8.0


def read(victim, rng):
    """The attacker's guess of a binary feature, from whether the answers rise or fall."""
    asked = rng.uniform(-1, 1, (60, FEATURES))
    secret = victim.samples.features[TARGET, COLUMN]
    constant = np.full((len(victim.samples), 2), [-1.0, 1.0]) * SIZE * secret
    before = victim.answer(asked).mean()
    for _ in range(ROUNDS):
        after = victim.round(victim.rows @ constant, asked).mean()
    told = after - before
    return secret, (1.0 if told > 0 else -1.0)


def success(prevalence):
    right = 0
    for trial in range(TRIALS):
        victim = Victim(trial, Clip(), True, prevalence=prevalence)
        secret, guess = read(victim, np.random.default_rng(trial))
        right += guess == secret
        assert victim.refused == 0
    return right / TRIALS


def test_a_constant_is_plausible():
    victim = Victim(0, Clip(), True)
    constant = np.full((len(victim.samples), 2), [-1.0, 1.0])
    for size in (0.3, 3.0, 30.0):
        assert victim.prior.log_ratio(victim.rows @ constant * size) > IMPLAUSIBLE


def test_where_the_teachers_constant_is_learnt_it_tells_the_feature():
    assert success("teacher") >= 0.95


def test_where_constants_are_taken_off_it_tells_nothing():
    assert success("own") <= MOST_BY_CHANCE


@pytest.mark.parametrize("size", [1.0, 1000.0])
def test_what_is_learnt_does_not_depend_on_a_constant_at_all(size):
    """Also beyond what is cut: constants go first."""
    victim = Victim(0, Clip(sample=2.0, answer=1.0), True)
    logits = np.random.default_rng(0).normal(size=(len(victim.samples), 2))
    moved = victim.learnable(logits + np.array([-size, size]))
    assert moved == pytest.approx(victim.learnable(logits), abs=1e-6)


@pytest.mark.parametrize("algorithm", ["vpdl", "cycle"])
def test_the_setting_is_refused_where_answers_flow_back(algorithm):
    changes = {"run.algorithms": ["standalone", algorithm], "distillation.prevalence": "teacher"}
    config = override(demo_config(), changes)
    with pytest.raises(ConfigError, match="constant of its answer"):
        kind_of(algorithm).check(config)


def test_it_may_be_set_where_nothing_flows_back():
    changes = {
        "run.algorithms": ["standalone", "vpdl"],
        "distillation.prevalence": "teacher",
        "distillation.roles": "apart",
        "distillation.teachers": ["Cleveland"],
    }
    kind_of("vpdl").check(override(demo_config(), changes))
