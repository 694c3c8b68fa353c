from dataclasses import replace

import numpy as np
import pytest
import torch

from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import ConfigError
from securefair.worth import EarlyStopping, LearningState, run


def parameters(train_state):
    return torch.cat([p.detach().flatten() for p in train_state.model.parameters()])


def test_until_it_stops_it_trains_alone_and_then_it_rests(make_learners):
    population = make_learners()
    rounds = 8
    early = EarlyStopping(rounds=rounds)
    mine = early.init(population, 3)
    alone = [population.trained_alone(3)]
    for t in range(rounds):
        state = LearningState(3, t, alone[-1])
        alone.append(population.trained_locally(state, population.names))
    after, _ = early.round(mine, population)
    for name in population.names:
        expected = parameters(alone[mine.stops[name]][name])
        for state in (mine, after):
            assert torch.equal(parameters(state.train_states[name]), expected)


def test_the_choice_is_the_lowest_loss_on_validation(make_learners):
    """Labels that nothing explains: the longer one trains, the worse on samples set aside."""
    rng = np.random.default_rng(0)

    def noise(count):
        return Samples(rng.normal(size=(count, 4)), rng.integers(0, 2, count), 2)

    people = tuple(ParticipantData(name, noise(30), noise(10)) for name in "abc")
    hopeless = make_learners(participants=people, local_epochs=5, local_steps=20, hidden=16)
    stops = EarlyStopping(rounds=20).init(hopeless, 0).stops
    assert all(stop < 5 for stop in stops.values())
    # With a learnable task and far too little training so far, it goes on to the end.
    slow = replace(make_learners().optimizer, learning_rate=1e-3)
    learnable = make_learners(local_epochs=0, optimizer=slow)
    assert set(EarlyStopping(rounds=5).init(learnable, 0).stops.values()) == {5}


def test_test_samples_have_no_part_in_the_choice(make_learners):
    population = make_learners()
    flipped = replace(
        population,
        participants=tuple(
            replace(own, test=replace(own.test, labels=1 - own.test.labels))
            for own in population.participants
        ),
    )
    early = EarlyStopping(rounds=6)
    assert early.init(population, 1).stops == early.init(flipped, 1).stops


def test_a_single_sample_of_each_class_is_enough(make_learners, make_participant):
    tiny = make_participant("tiny", 9, train=2)
    population = make_learners(participants=(tiny, make_participant("other", 1)))
    record = list(run(EarlyStopping(rounds=2), population, 0, 2))[-1]
    assert len(record.accuracy) == 2


def test_records_show_nobody_asked_and_repeat_exactly(make_learners):
    population = make_learners()
    first = list(run(EarlyStopping(rounds=3), population, 0, 3))
    assert first == list(run(EarlyStopping(rounds=3), population, 0, 3))
    for t, record in enumerate(first):
        assert (record.algorithm, record.round, record.forced) == ("early_stopping", t, False)
        assert record.asked == record.answered == [[False] * 3] * 3


def test_in_a_cross_validation_every_sample_is_set_aside_once(make_learners, monkeypatch):
    population = make_learners(local_epochs=0)
    early, seen = EarlyStopping(rounds=3, folds=4), []
    original = EarlyStopping._set_aside

    def listening(self, own, seed, part):
        divided = original(self, own, seed, part)
        seen.append((own.name, divided))
        return divided

    monkeypatch.setattr(EarlyStopping, "_set_aside", listening)
    stops = early.init(population, 0).stops
    assert set(stops) == set(population.names)
    for own in population.participants:
        parts = [divided for name, divided in seen if name == own.name]
        assert sum(count for _, count in parts) == len(own.train)
        held = np.concatenate([part.test.features for part, _ in parts])
        assert sorted(map(tuple, held)) == sorted(map(tuple, own.train.features))
        for part, count in parts:
            assert (len(part.train), len(part.test)) == (len(own.train) - count, count)


def test_fewer_samples_than_folds_are_enough(make_learners, make_participant):
    tiny = make_participant("tiny", 9, train=2)
    population = make_learners(participants=(tiny, make_participant("other", 1)))
    stops = EarlyStopping(rounds=2, folds=5).init(population, 0).stops
    assert 0 <= stops["tiny"] <= 2


@pytest.mark.parametrize(
    "settings",
    [{"rounds": 0}, {"rounds": 5, "folds": 1}],
)
def test_numbers_out_of_range_are_named(settings):
    with pytest.raises(ConfigError, match=list(settings)[-1]):
        EarlyStopping(**settings)
