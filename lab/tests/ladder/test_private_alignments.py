"""Answers and alignments of private teachers are those of the algorithm in the clear."""

import pytest

from securefair.collaboration import PublicFacts
from securefair.collaboration.agreement import optimizer_of
from securefair.collaboration.distillation.kind import CYCLE
from securefair.collaboration.distillation.private_alignments import private_alignments
from securefair.collaboration.private import private_teachers
from securefair.config import demo_config, override
from securefair.sites.simulation.starting import simulated
from securefair.user.participants import load_participants
from securefair.worth import HeadLearners, run
from securefair_lab.algorithms import Cycle, LogitsRelease, Population

SETTINGS = {
    "run.algorithms": ["standalone", "cycle"],
    "run.smaller": None,
    "run.seeds": [0],
    "encryption.backend": "clear",
    "encryption.precision": 2**-16,
    "model.kind": "linear",
    "training.rounds": 3,
    "training.local_epochs": 2,
    "distillation.release": "logits",
    "distillation.prevalence": "teacher",
    "privacy.epsilon": 2.0,
    "privacy.asked_epsilon": 1.0,
}

pytestmark = pytest.mark.slow


def test_alignments_are_what_the_reference_forms():
    config = override(demo_config(), SETTINGS, source="test")
    data = load_participants(config, 0)
    agreed = CYCLE.agree(config, PublicFacts.of(data), seed=0)
    encrypted = simulated(CYCLE, agreed, data, seed=0)
    terms = config.privacy
    teachers = private_teachers(
        data, ["linear"] * len(data), terms, seed=0, hidden=config.model.hidden
    )
    alignments = private_alignments(
        data, teachers, terms, temperature=config.distillation.temperature, seed=0
    )
    learners = HeadLearners(
        participants=tuple(data),
        head=config.model.kind,
        hidden=config.model.hidden,
        optimizer=optimizer_of(config.training),
        local_epochs=config.training.local_epochs,
        local_steps=config.training.local_steps,
    )
    population = Population(
        **vars(learners),
        prevalence=config.distillation.prevalence,
        release=LogitsRelease(),
        lambda_0=config.distillation.lambda_0,
        forced_every=config.fairness.forced_every,
        teachers={name: one.model for name, one in teachers.items()},
        private_alignments={name: one.alignment for name, one in alignments.items()},
    )
    for a, b in zip(encrypted.rounds(3), run(Cycle(), population, seed=0, rounds=3), strict=True):
        assert a.answered == b.answered
        for row, expected in zip(a.alignment, b.alignment, strict=True):
            assert row == pytest.approx(expected, abs=0.05)  # weights are rounded: a vote
