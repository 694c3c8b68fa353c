"""Roles apart: some only teach, the others only learn, and nothing that was opened flows back."""

import numpy as np
import pytest

from securefair.collaboration import PublicFacts
from securefair.collaboration.kinds import kind_of
from securefair.config import demo_config, override
from securefair.data import ParticipantData, Samples
from securefair.errors import ConfigError
from securefair.protocol.effects import Blame, Received
from securefair.protocol.messages import Ask
from securefair.sites.simulation.starting import simulated
from support.agreements import agree

NAMES = ("North", "South", "East", "West")
APART = {
    "run.algorithms": ["standalone", "vpdl"],
    "run.seeds": [0],
    "model.kind": "linear",
    "training.rounds": 3,
    "training.local_epochs": 2,
    "distillation.q": 6,
    "distillation.roles": "apart",
    "distillation.teachers": ["North", "South"],
    "encryption.backend": "clear",
    "disclosure.fraction": 1000.0,
}


def people():
    rng = np.random.default_rng(0)
    normal = rng.normal(size=4)
    found = []
    for name in NAMES:
        parts = []
        for size in (24, 12):
            x = rng.uniform(-1, 1, (size, 4))
            parts.append(Samples(x, (x @ normal > 0).astype(np.int64), 2))
        found.append(ParticipantData(name, *parts))
    return found


def started(**changes):
    config = override(demo_config(), APART | changes, source="test")
    kind, data = kind_of("vpdl"), people()
    agreed = kind.agree(config, PublicFacts.of(data), seed=0)
    return simulated(kind, agreed, data, seed=0), kind, config, agreed, data


def test_only_learners_ask_and_only_teachers_answer():
    run, kind, _config, agreed, data = started()
    records = list(run.rounds(3))
    assert not run.problems
    for record in records:
        for student, row in zip(NAMES, record.answered, strict=True):
            asked = {teacher for teacher, yes in zip(NAMES, row, strict=True) if yes}
            assert asked == (set() if student in ("North", "South") else {"North", "South"})
    assert {row.teacher for row in run.facts().ledger} == {"North", "South"}
    # Encrypted patients go to nobody but those who teach.
    sent = {(row.sender, row.receiver) for row in run.traffic if row.message == "features"}
    assert sent == {(s, t) for s in ("East", "West") for t in ("North", "South")}
    forecast = kind.forecast(agreed, data).traffic
    answers = sum(one.answered for one in run.exchanges)
    assert forecast.least_answers <= answers == 12 <= forecast.most_answers


def test_who_only_teaches_trains_as_alone_and_sends_nothing_that_it_learned():
    run, *_ = started()
    alone, *_ = started(**{"distillation.lambda_0": 0.0})
    for one in (run, alone):
        list(one.rounds(3))
    for name in ("North", "South"):
        x = people()[0].test.features
        assert np.allclose(run.heads()[name].logits(x), alone.heads()[name].logits(x))
    for name in ("East", "West"):
        assert not np.allclose(run.heads()[name].logits(x), alone.heads()[name].logits(x))


def test_a_question_to_somebody_who_only_learns_is_blamed():
    run, *_ = started()
    list(run.rounds(1))
    machine = run.hosts["East"].machine
    before = machine.memory
    effects = machine.handle(Received("West", Ask(0, 0, b"")))
    assert [type(one) for one in effects] == [Blame]
    assert effects[0].peer == "West"
    assert machine.memory == before


@pytest.mark.parametrize(
    "changes",
    [
        {"distillation.teachers": ["Nobody"]},
        {"distillation.teachers": list(NAMES)},
        {"distillation.teachers": []},
        {"distillation.teachers": ["North", "North"]},
        {"distillation.roles": "both"},
    ],
)
def test_roles_that_make_no_sense_are_refused(changes):
    with pytest.raises(ConfigError):
        started(**changes)


def test_reputations_need_both_roles():
    with pytest.raises(ConfigError, match="no alignment"):
        agree("cycle", NAMES, samples=24, q=6, roles="apart", teachers=("North",))
