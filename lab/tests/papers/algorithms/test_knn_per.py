"""kNN-Per: its formula on points by hand, and its limits."""

import math

import pytest
import torch

from securefair.errors import ConfigError, DataError, ModelError
from securefair_lab.papers.algorithms import FedAvg, KnnPer
from securefair_lab.papers.algorithms.knn_per import Predictions, chosen_weight, neighbours_say


@pytest.fixture
def make_members(make_networks):
    return lambda **more: make_networks(**({"network": "logistic"} | more))


def last(algorithm, population, rounds=3):
    state = algorithm.init(population, 0)
    for _ in range(rounds):
        state, record = algorithm.round(state, population)
    return state, record


KEPT = torch.tensor([[0.0], [1.0], [3.0], [100.0]], dtype=torch.float64)
CLASSES = torch.tensor([[1, 0], [0, 1], [0, 1], [1, 0]], dtype=torch.float64)


def test_nearer_neighbours_count_for_more():
    asked = torch.tensor([[0.5], [2.0]], dtype=torch.float64)
    said = neighbours_say(asked, KEPT, CLASSES, 3)
    a, b, c = (math.exp(-d) for d in (0.5, 0.5, 2.5))
    torch.testing.assert_close(said[0], torch.tensor([a, b + c]).double() / (a + b + c))
    a, b, c = (math.exp(-d) for d in (2.0, 1.0, 1.0))
    torch.testing.assert_close(said[1], torch.tensor([a, b + c]).double() / (a + b + c))


def test_far_neighbours_do_not_underflow():
    said = neighbours_say(KEPT.new_full((1, 1), 1e6), KEPT, CLASSES, 2)
    torch.testing.assert_close(said.sum(), said.new_ones(()))
    assert said[0, 0] == pytest.approx(1.0)  # 97 nearer than the next


def test_a_kept_sample_is_not_its_own_neighbour():
    said = neighbours_say(KEPT, KEPT, CLASSES, 1, without=torch.arange(4))
    assert said.argmax(dim=1).tolist() == [1, 0, 1, 1]
    alone = neighbours_say(KEPT[:1], KEPT[:1], CLASSES[:1], 1, without=torch.zeros(1).long())
    assert alone.tolist() == [[0.5, 0.5]]


def test_the_weight_is_the_smallest_of_those_that_validate_best():
    model = torch.tensor([[0.9, 0.1], [0.4, 0.6]], dtype=torch.float64)
    near = torch.tensor([[0.0, 1.0], [0.0, 1.0]], dtype=torch.float64)
    assert chosen_weight(Predictions(model, near, torch.tensor([0, 1]))) == 0.0
    assert chosen_weight(Predictions(model, near, torch.tensor([1, 1]))) == 0.5
    mixed = Predictions(model, near, torch.tensor([1, 1]))
    assert mixed.accuracy(0.4) == 0.5
    assert mixed.cross_entropy(0.5) == pytest.approx(-(math.log(0.55) + math.log(0.8)) / 2)


def test_without_neighbours_it_is_fedavg(make_momentum_networks):
    population = make_momentum_networks(network="logistic", validation=20)
    federated = FedAvg(local_epochs=3)
    state, record = last(KnnPer(of=federated, weight=0.0), population)
    expected, plain = last(federated, population)
    assert torch.equal(state.train_states.vectors, expected.train_states.vectors)
    assert record.accuracy == plain.accuracy
    assert record.validation_accuracy == plain.validation_accuracy
    assert record.cross_entropy == pytest.approx(plain.cross_entropy)
    assert record.numbers_sent == plain.numbers_sent


def test_the_common_model_is_not_scored_for_nothing(make_members, monkeypatch):
    population = make_members(validation=20)
    monkeypatch.setattr(type(population), "scores", lambda *_: pytest.fail("scored"))
    record = last(KnnPer(), population, 1)[1]
    assert len(record.accuracy) == len(record.validation_accuracy) == 3


def test_all_neighbours_at_a_wide_bandwidth_are_the_shares_of_classes(make_members):
    population = make_members(sizes=(20, 31))
    algorithm = KnnPer(neighbours=1000, weight=1.0, bandwidth=1e9)
    state = algorithm.init(population, 0)
    seen = algorithm.predictions(population, 1, state.train_states.vectors[1], "test")
    shares = torch.tensor([16 / 31, 15 / 31], dtype=torch.float64)
    torch.testing.assert_close(seen.neighbours, shares.expand(60, 2))


def test_a_lambda_chosen_on_validation_is_no_worse_there(make_members):
    population = make_members(validation=30)
    chosen = last(KnnPer(weight=None), population)[1]
    for weight in (0.0, 0.5, 1.0):
        fixed = last(KnnPer(weight=weight), population)[1]
        pairs = zip(chosen.validation_accuracy, fixed.validation_accuracy, strict=True)
        assert all(mine >= other for mine, other in pairs)
    with pytest.raises(DataError, match="validation"):
        last(KnnPer(weight=None), make_members())


def test_a_network_without_a_representation_is_refused(make_networks):
    with pytest.raises(ModelError, match="fully connected"):
        last(KnnPer(), make_networks())


@pytest.mark.parametrize(
    "settings", [{"neighbours": 0}, {"weight": 1.1}, {"weight": -0.1}, {"bandwidth": 0.0}]
)
def test_settings_out_of_range_are_named(settings):
    with pytest.raises(ConfigError) as error:
        KnnPer(**settings)
    assert error.value.where == next(iter(settings))
