import numpy as np
import torch

from securefair.model import TrainState, build_head, derive_seed, evaluate, train_epochs
from securefair.worth import run
from securefair_lab.algorithms import Cycle, Standalone


def test_rounds_are_as_many_more_epochs_of_the_same_training(make_population):
    population = make_population(local_epochs=10, local_steps=3)
    record = list(run(Standalone(), population, 7, 4))[-1]
    for n, participant in enumerate(population.participants):
        head = build_head("quadratic", 4, 4, 2, derive_seed(7, "head", participant.name))
        train_state = TrainState.start(head, population.optimizer)
        train_epochs(train_state, participant.train, 10 + 4 * 3)
        assert record.accuracy[n] == evaluate(head, participant.test).accuracy
        assert record.cross_entropy[n] == evaluate(head, participant.train).cross_entropy


def test_nobody_asks_anybody(make_population):
    for t, record in enumerate(run(Standalone(), make_population(), 0, 2)):
        assert (record.algorithm, record.round, record.forced) == ("standalone_epochs", t, False)
        assert record.asked == record.answered == [[False] * 3] * 3
        nothing = [[None] * 3] * 3
        assert record.reputation == record.alignment == record.distillation_loss == nothing


def test_it_starts_where_the_collaborative_algorithms_start(make_population):
    population = make_population()
    alone, together = Standalone().init(population, 5), Cycle().init(population, 5)
    for name in population.names:
        pairs = zip(
            alone.train_states[name].model.parameters(),
            together.train_states[name].model.parameters(),
            strict=True,
        )
        assert all(torch.equal(a, b) for a, b in pairs)


def test_every_participant_has_an_initialisation_of_its_own(make_population):
    population = make_population(local_epochs=0)
    train_states = Standalone().init(population, 0).train_states
    outputs = [train_states[name].model.logits(np.ones((1, 4))) for name in "abc"]
    assert len({output.tobytes() for output in outputs}) == 3


def test_a_round_leaves_its_state_as_it_was(make_population):
    population = make_population()
    state = Standalone().init(population, 0)
    first = Standalone().round(state, population)[1]
    assert Standalone().round(state, population)[1] == first
