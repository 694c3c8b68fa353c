"""FedAvg, FedProx and the fine-tuned common model, against steps computed by hand."""

import msgspec
import numpy as np
import pytest
import torch

from securefair.errors import ConfigError, DataError
from securefair.model.optimizer import OptimizerConfig
from securefair.worth import run
from securefair_lab.algorithms.free_riding import FreeRide
from securefair_lab.algorithms.gossip_sgd import GossipSgd
from securefair_lab.papers.algorithms.fedavg import FedAvg
from securefair_lab.papers.algorithms.fedprox import FedProx
from securefair_lab.papers.algorithms.fine_tuned import FineTuned


def encoded(records):
    return msgspec.json.encode(list(records))


def test_a_round_is_a_step_along_the_mean_gradient_weighted_by_samples(make_networks):
    population = make_networks()  # one full-batch step, so averaging models is averaging gradients
    state = FedAvg().init(population, 3)
    start = state.train_states.vectors
    assert torch.equal(start[0], start[1])
    gradients = population.gradients(state.train_states)
    expected = start[0] - 0.1 * (0.2 * gradients[0] + 0.3 * gradients[1] + 0.5 * gradients[2])
    after, record = FedAvg().round(state, population)
    torch.testing.assert_close(after.train_states.vectors, expected.repeat(3, 1))
    assert record.numbers_sent == [population.stacked.length] * 3
    assert record.asked == [[n != k for k in range(3)] for n in range(3)]
    assert torch.equal(state.train_states.vectors, start)


def test_common_training_finds_what_the_pooled_samples_have(make_networks):
    records = list(run(FedAvg(local_epochs=5), make_networks(), 0, 20))
    assert np.mean(records[-1].accuracy) > 0.85
    assert np.mean(records[-1].cross_entropy) < np.mean(records[0].cross_entropy)


def test_equal_seeds_give_identical_records(make_networks):
    population = make_networks(batch_size=8)
    algorithm = FedAvg(local_epochs=2)
    assert encoded(run(algorithm, population, 1, 3)) == encoded(run(algorithm, population, 1, 3))
    assert encoded(run(algorithm, population, 1, 3)) != encoded(run(algorithm, population, 2, 3))


def test_momentum_begins_anew_in_every_round_unless_kept(make_networks):
    population = make_networks(optimizer=OptimizerConfig(learning_rate=0.1, momentum=0.9))
    anew, kept = (FedAvg(keep_momentum=keep) for keep in (False, True))
    state, _ = anew.round(anew.init(population, 0), population)
    assert state.train_states.momentum.any()
    gradients = population.gradients(state.train_states)
    gradients += 1e-3 * state.train_states.vectors  # the weight decay
    weights = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    after, _ = anew.round(state, population)
    expected = state.train_states.vectors[0] - 0.1 * weights @ gradients
    torch.testing.assert_close(after.train_states.vectors[0], expected)
    other, _ = kept.round(state, population)
    torch.testing.assert_close(
        other.train_states.vectors[0], expected - 0.1 * 0.9 * weights @ state.train_states.momentum
    )


def test_a_free_rider_that_sends_what_it_got_only_slows_training(make_networks):
    honest = make_networks()
    idle = make_networks(free_riders={"c": FreeRide(sends="unchanged")})
    state = FedAvg().init(honest, 0)
    start, gradients = state.train_states.vectors[0], honest.gradients(state.train_states)
    after, _ = FedAvg().round(state, idle)
    expected = start - 0.1 * (0.2 * gradients[0] + 0.3 * gradients[1])
    torch.testing.assert_close(after.train_states.vectors[2], expected)


def test_without_a_pull_fedprox_is_fedavg(make_networks):
    population = make_networks()
    with_pull, without, average = (
        [msgspec.structs.replace(r, algorithm="") for r in run(algorithm, population, 0, 3)]
        for algorithm in (
            FedProx(mu=1.0, local_epochs=3),
            FedProx(mu=0.0, local_epochs=3),
            FedAvg(local_epochs=3),
        )
    )
    assert without == average
    assert with_pull != average


def test_fedprox_steps_along_the_pulled_gradient(make_networks):
    population = make_networks(sizes=(20, 20))
    state = FedProx(mu=0.5).init(population, 0)
    w = state.train_states.vectors
    w1 = w - 0.1 * population.gradients(state.train_states)
    w2 = w1 - 0.1 * (population.gradients(state.train_states.moved(w1)) + 0.5 * (w1 - w))
    after, _ = FedProx(mu=0.5, local_epochs=2).round(state, population)
    torch.testing.assert_close(after.train_states.vectors[0], w2.mean(dim=0))


def test_tuning_begins_at_the_model_that_validated_best(make_networks):
    # A rate so high that the common model gets worse and worse: the first is the best.
    population = make_networks(
        validation=40, optimizer=OptimizerConfig(learning_rate=0.05, clip_norm=None)
    )
    algorithm = FineTuned(of=FedAvg(local_epochs=3), rounds=4, epochs=6)
    state, seen = algorithm.init(population, 0), []
    for _ in range(4):
        state, record = algorithm.round(state, population)
        seen.append((record.validation_accuracy, state.train_states.vectors))
    assert record.algorithm == "fedavg_fine_tuned"
    for n in range(3):
        best = int(np.argmax([accuracy[n] for accuracy, _ in seen]))
        assert torch.equal(state.best[n], seen[best][1][n])
    tuned, record = algorithm.round(state, population)
    expected = population.train(
        state.train_states.moved(state.best).momentum_reset(), epochs=6, seed=0, clock=4
    )
    assert torch.equal(tuned.train_states.vectors, expected.vectors)
    assert not any(map(any, record.answered))
    again, _ = algorithm.round(tuned, population)  # and then it rests
    assert torch.equal(again.train_states.vectors, tuned.train_states.vectors)


def test_tuning_needs_validation_samples(make_networks):
    with pytest.raises(DataError, match="validation"):
        list(run(FineTuned(rounds=2), make_networks(), 0, 1))


@pytest.mark.parametrize(
    ("build", "where"),
    [
        (lambda: FedAvg(local_epochs=0), "local_epochs"),
        (lambda: FedProx(local_epochs=0), "local_epochs"),
        (lambda: FedProx(mu=-1.0), "mu"),
        (lambda: FineTuned(rounds=0), "rounds"),
        (lambda: FineTuned(rounds=1, epochs=0), "epochs"),
    ],
)
def test_settings_out_of_range_are_named(build, where):
    with pytest.raises(ConfigError) as error:
        build()
    assert error.value.where == where


def test_on_a_complete_graph_of_equals_it_is_federated_averaging(make_networks):
    population = make_networks(sizes=(20, 20, 20, 20, 20))
    gossip, average = (
        [
            msgspec.structs.replace(r, algorithm="", numbers_sent=None)
            for r in run(a, population, 0, 3)
        ]
        for a in (GossipSgd(), FedAvg())
    )
    for one, other in zip(gossip, average, strict=True):
        np.testing.assert_allclose(one.cross_entropy, other.cross_entropy, atol=1e-12)
        assert one.answered == other.answered
