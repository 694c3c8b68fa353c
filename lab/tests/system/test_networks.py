"""Participants that teach each other whole networks on encrypted pixels, from a configuration."""

import dataclasses
import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from securefair.circuit.planner import plan_exchange
from securefair.collaboration import PublicFacts, controls
from securefair.collaboration.distillation.kind import CYCLE
from securefair.config import load_config, override
from securefair.errors import ConfigError
from securefair.exchange import compile as compilation
from securefair.report.progress import PlainProgress
from securefair.user.participants import load_participants
from securefair.worth import EarlyStopping
from securefair_lab.networks import TrainingRecipe
from support.experiments import run_experiment

EXAMPLE = Path(__file__).parents[2] / "examples" / "network_digits.toml"


def config(**changes):
    small = {
        "training.rounds": 2,
        "training.local_epochs": 30,
        "data.test_fraction": 0.8,
        "data.partition.participants": 2,
        "fairness.forced_every": 1,
        "distillation.q": 32,
    }
    named = {name.replace("__", "."): value for name, value in changes.items()}
    return override(load_config(EXAMPLE), {**small, **named}, source="test")


@pytest.fixture(scope="module", autouse=True)
def two_folds():
    """Of the control that is trained anew for every fold: it is none of these tests' business."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(controls, "FOLDS", 2)
        yield


def shorten_controls(patch):
    """They train for four epochs: what they reach is not asked."""
    patch.setattr(
        controls, "EarlyStopping", lambda **settings: EarlyStopping(**settings | {"rounds": 4})
    )


@pytest.fixture(scope="module", params=[("projection", 2, 2), ("logits", 1, 3)])
def outcomes(request):
    """The same run encrypted and in the clear, its rounds and its participants.

    In the second round weights have changed: another answer to the same upload. Of three each
    learns from two.
    """
    found, (release, rounds, participants) = [], request.param
    with pytest.MonkeyPatch.context() as patch:
        shorten_controls(patch)
        for backend in ("rns", "clear"):
            asked = config(
                encryption__backend=backend,
                distillation__release=release,
                training__rounds=rounds,
                data__partition__participants=participants,
            )
            found.append(run_experiment(asked, PlainProgress(Console(file=io.StringIO()))))
    return *found, rounds, participants


def spec_of(asked):
    data = load_participants(asked, seed=0)
    return CYCLE.agree(asked, PublicFacts.of(data), seed=0).spec


def test_an_encrypted_run_goes_as_the_clear_one(outcomes):
    encrypted, clear, rounds, participants = outcomes
    assert not encrypted.result.problems
    assert sum(record.algorithm == "cycle" for record in encrypted.rounds) == rounds
    assert encrypted.result.encryption.answers == rounds * participants * (participants - 1)
    release = encrypted.result.encryption.release
    asked = config(distillation__release=release, data__partition__participants=participants)
    plan = plan_exchange(spec_of(asked))
    assert 0 < encrypted.result.encryption.max_abs_error <= plan.error_bound
    for found, expected in zip(encrypted.rounds, clear.rounds, strict=True):
        assert found.answered == expected.answered
        np.testing.assert_allclose(found.accuracy, expected.accuracy, atol=0.03)
        np.testing.assert_allclose(found.cross_entropy, expected.cross_entropy, rtol=0.02)


@pytest.mark.parametrize("backend", ["rns", "clear"])
def test_networks_that_outgrow_their_room_decline_with_encryption_and_without(backend, monkeypatch):
    """One promise for logits that no trained network keeps; all others hold."""
    narrow = dataclasses.replace(compilation.LAST_HEADROOM, bound=0.25)
    monkeypatch.setattr(compilation, "LAST_HEADROOM", narrow)
    shorten_controls(monkeypatch)
    asked = config(encryption__backend=backend, training__rounds=1, training__local_epochs=5)
    found = run_experiment(asked, PlainProgress(Console(file=io.StringIO())))
    (record,) = (r for r in found.rounds if r.algorithm == "cycle")
    assert np.array(record.asked).sum() == 2
    assert not np.array(record.answered).any()


def test_the_penalty_of_a_configuration_reaches_every_way_of_training(monkeypatch):
    """Alone, stopped early and together, whoever leaves the range learns something else.

    Only after some epochs do they leave it, of large steps few: controls train as long as a user's.
    """
    monkeypatch.setattr(controls, "EarlyStopping", EarlyStopping)
    free, paid = (
        run_experiment(
            config(
                encryption__backend="clear",
                model__range_penalty=weight,
                training__rounds=1,
                training__local_epochs=10,
                training__learning_rate=0.2,
            ),
            PlainProgress(Console(file=io.StringIO())),
        ).rounds
        for weight in (0.0, 1000.0)
    )
    trained = {"standalone", "early_stopping", "cycle"}
    assert {record.algorithm for record in free} == trained | {"most_common"}
    for without, penalised in zip(free, paid, strict=True):
        assert without.algorithm == penalised.algorithm
        same = without.cross_entropy == penalised.cross_entropy
        assert same == (without.algorithm not in trained)  # most_common has no weights to pay for


def test_ranges_weigh_by_default_as_where_networks_are_trained_without_peers():
    assert config().model.range_penalty == TrainingRecipe(epochs=1).range_penalty


def test_rounded_weights_hardly_change_what_networks_know(outcomes):
    encrypted, *_ = outcomes
    assert min(encrypted.result.algorithms["cycle"].accuracy) > 0.6
    for row in encrypted.result.participants:
        assert row.quantization.accuracy_after == pytest.approx(
            row.quantization.accuracy_before, abs=0.03
        )


def test_all_weights_of_a_network_are_private_and_its_shape_is_agreed():
    asked = config()
    network = spec_of(asked).network
    assert [bounds.outputs for bounds in network] == [6 * 64, 10]
    assert network[0].summed == 4


def test_images_of_another_size_are_refused_before_anything_runs():
    asked = config(model__network="digits-28")
    with pytest.raises(ConfigError, match="784 pixels"):
        CYCLE.agree_all(asked, load_participants(asked, 0), seed=0)
