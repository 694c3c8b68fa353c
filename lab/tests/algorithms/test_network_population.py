"""Networks distil as heads do: the same decisions, losses and steps."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest
import torch

from securefair.errors import ConfigError
from securefair.model.optimizer import OptimizerConfig
from securefair.worth import EarlyStopping, LearningState, ReputationRule, run
from securefair_lab.algorithms import Cycle, Standalone, Vpdl
from securefair_lab.algorithms.free_riding import FreeRide
from securefair_lab.algorithms.schedule import StepDecay

MATRICES = ("reputation", "alignment", "distillation_loss", "cross_entropy", "accuracy")


def numbers(values):
    return np.array(values, dtype=float)


@pytest.fixture
def both(make_population, make_networks):
    """A population of linear heads twice: as the oracle of encrypted runs, and as networks."""
    heads = make_population(head="linear", local_epochs=0, local_steps=3, lambda_0=5.0)
    networks = make_networks(
        participants=heads.participants,
        optimizer=heads.optimizer,
        pretraining_epochs=0,
        local_epochs=3,
        lambda_0=5.0,
    )
    return heads, networks


@pytest.mark.parametrize("algorithm", [Cycle(), Vpdl(), Standalone()])
def test_networks_take_the_steps_of_heads(both, algorithm):
    heads, networks = both
    head_state, state = algorithm.init(heads, 5), algorithm.init(networks, 5)
    vectors = [networks.stacked.vector(head_state.train_states[n].model) for n in heads.names]
    train_states = state.train_states.moved(torch.stack(vectors))
    state = replace(state, train_states=train_states)
    for _ in range(5):
        head_state, expected = algorithm.round(head_state, heads)
        state, found = algorithm.round(state, networks)
        assert found.asked == expected.asked
        assert found.answered == expected.answered
        assert found.forced == expected.forced
        for name in MATRICES:
            np.testing.assert_allclose(
                numbers(getattr(found, name)), numbers(getattr(expected, name)), atol=1e-9
            )


def test_equal_seeds_give_identical_records_and_other_seeds_do_not(make_networks):
    population = make_networks(network="mlp-32", batch_size=8, double=False)
    first, again, other = (
        msgspec.json.encode(list(run(Cycle(), population, seed, 4))) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_a_round_leaves_its_state_as_it_was(make_networks):
    population = make_networks()
    state, _ = Cycle().round(Cycle().init(population, 0), population)
    before = state.train_states.vectors.clone()
    first = Cycle().round(state, population)[1]
    assert torch.equal(state.train_states.vectors, before)
    assert Cycle().round(state, population)[1] == first


def test_full_trust_all_the_time_is_vpdl(make_networks):
    class Trusting(ReputationRule):
        def update(self, *_):
            return 1.0

    population = make_networks(forced_every=1)
    cycle = list(run(Cycle(rule=Trusting()), population, 0, 3))
    vpdl = list(run(Vpdl(), population, 0, 3))
    for a, b in zip(cycle, vpdl, strict=True):
        unlike = {"algorithm": "", "forced": False, "alignment": []}
        assert msgspec.structs.replace(a, **unlike) == msgspec.structs.replace(b, **unlike)


def test_raw_weights_are_not_divided_by_the_number_of_peers(make_networks):
    rule = ReputationRule()
    raw = Cycle(rule=rule, raw=True)
    divided = make_networks(lambda_0=2.0)  # two peers: twice the weight is the raw weight
    for a, b in zip(
        run(Cycle(rule=rule), divided, 0, 4),
        run(raw, make_networks(lambda_0=1.0), 0, 4),
        strict=True,
    ):
        np.testing.assert_allclose(a.cross_entropy, b.cross_entropy, atol=1e-12)


def test_answers_are_counted_in_logits(make_networks):
    record = next(run(Vpdl(), make_networks(), 0, 1))
    # a teacher of b and c sends 2 logits for each of 30 + 50 samples
    assert record.numbers_sent == [2 * 80, 2 * 70, 2 * 50]


def test_whose_logits_are_noise_loses_its_reputation(make_networks):
    people = {"d": FreeRide(scale=5.0)}
    population = make_networks(
        sizes=(40, 40, 40, 40),
        free_riders=people,
        pretraining_epochs=20,
        alignment_temperature=5.0,
    )
    record = list(run(Cycle(), population, 0, 7))[-1]
    honest = [record.reputation[n][k] for n in range(3) for k in range(3) if n != k]
    assert max(record.reputation[n][3] for n in range(3)) < 0.3 * np.mean(honest)


def test_whose_labels_are_flipped_loses_its_reputation(make_networks, make_participant):
    people = tuple(make_participant(name, n, flipped=name == "d") for n, name in enumerate("abcd"))
    population = make_networks(
        participants=people, pretraining_epochs=20, alignment_temperature=5.0
    )
    record = list(run(Cycle(), population, 0, 5))[-1]
    assert [record.reputation[n][3] for n in range(3)] == [0.0] * 3
    assert not any(record.answered[3])


def test_standalone_trains_as_long_as_distillation_does(make_networks):
    population = make_networks(lambda_0=0.0, batch_size=8)
    for a, b in zip(
        run(Standalone(), population, 0, 3), run(Vpdl(), population, 0, 3), strict=True
    ):
        np.testing.assert_allclose(a.cross_entropy, b.cross_entropy, atol=1e-12)


def test_early_stopping_rests_where_it_stopped(make_networks):
    population = make_networks(
        optimizer=OptimizerConfig(learning_rate=0.5, momentum=0.9, weight_decay=0.0),
        sizes=(10, 14, 18),
        network="mlp-32",
        local_epochs=20,
    )
    early = EarlyStopping(rounds=6)
    state, alone = early.init(population, 3), Standalone().init(population, 3)
    stops = state.stops
    assert min(stops.values()) < 6
    history = [alone.train_states.vectors]
    for _ in range(6):
        alone, _ = Standalone().round(alone, population)
        history.append(alone.train_states.vectors)
    for _ in range(3):  # from the first record on
        for n, name in enumerate(population.names):
            expected = history[stops[name]][n]
            torch.testing.assert_close(state.train_states.vectors[n], expected)
        state, _ = early.round(state, population)


def test_the_schedule_lowers_the_rate(make_networks):
    population = make_networks(schedule=StepDecay(every=1, factor=0.5), pretraining_epochs=0)
    state = LearningState(0, 1, population.trained_alone(0))
    g = population.gradients(state.train_states)
    after = population.trained_locally(state, population.names)
    torch.testing.assert_close(after.vectors, state.train_states.vectors - 0.05 * g)


def test_records_score_evenly_spaced_training_samples(make_networks):
    population = make_networks(train_scored=7)
    assert population.scored_rows(0).tolist() == [0, 2, 5, 8, 11, 14, 17]
    vectors = population.trained_alone(0).vectors
    whole = make_networks(train_scored=None)
    assert len(whole.scored_rows(2)) == 50
    assert population.scores(vectors, "test").accuracy.equal(whole.scores(vectors, "test").accuracy)
    next(run(Vpdl(), population, 0, 1))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pretraining_epochs", -1),
        ("local_epochs", 0),
        ("temperature", 0.0),
        ("alignment_temperature", float("nan")),
        ("lambda_0", -1.0),
        ("forced_every", 0),
        ("batch_size", 0),
        ("train_scored", 0),
    ],
)
def test_settings_out_of_range_are_named(make_networks, name, value):
    with pytest.raises(ConfigError) as error:
        make_networks(**{name: value})
    assert error.value.where == name
