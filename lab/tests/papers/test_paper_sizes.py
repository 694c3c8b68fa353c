"""The papers' sizes have the numbers that the papers print."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from securefair_lab.algorithms.cycle import Cycle
from securefair_lab.papers import cycle_data, cycle_settings
from securefair_lab.papers.cffl_settings import ADULT, MNIST, MNIST_CLASSES
from securefair_lab.papers.cycle_data import FED_ISIC
from securefair_lab.papers.cycle_methods import CFFL, CGSV, FEDAVG, RFFL, contenders
from securefair_lab.papers.cycle_settings import CNN, LESIONS, RESNET, UNSTATED
from securefair_lab.papers.dpfl_settings import CIFAR10, CINIC10, FEMNIST, SCALES, WRITERS

Setup = Callable[[str], Any]


@pytest.fixture
def setup(papers: Path) -> Setup:
    """What a paper says of its experiments."""

    def read(paper: str) -> Any:
        return json.loads((papers / f"{paper}.json").read_text(encoding="utf-8"))["setup"]

    return read


@pytest.mark.parametrize("name", [CIFAR10, CINIC10, FEMNIST])
def test_dpfl_trains_as_its_appendix_says(setup: Setup, name: str) -> None:
    printed, ours = setup("dpfl")["hyperparameters"][name], SCALES["paper", name]
    sgd = ours.optimizer
    found = {
        "tau_init": ours.pretraining,
        "tau_train": ours.local_epochs,
        "rounds": ours.rounds,
        "learning_rate": sgd.learning_rate,
        "momentum": sgd.momentum,
        "decay": sgd.weight_decay,
        "batch_size": ours.batch_size,
    }
    assert found == {key: printed[key] for key in found}
    assert sgd.clip_norm is None
    assert ours.participants == (WRITERS if name == FEMNIST else printed["participants"])
    assert ours.network == ("femnist-lenet" if name == FEMNIST else "lenet")


def test_cycle_trains_as_its_appendix_says(setup: Setup) -> None:
    printed, ours = setup("cycle"), cycle_settings.SCALES["paper"]
    training = printed["training"]
    assert ours.optimizer.learning_rate == training["learning_rate"]
    for schedule in (ours.schedule, ours.federated_schedule, ours.rewarded_schedule):
        assert schedule is not None
        assert schedule.every == training["learning_rate_decay_every_rounds"]
        assert schedule.factor == training["learning_rate_decay"]
    assert ours.batch_size == training["batch_size"][cycle_data.CIFAR10]
    assert LESIONS["paper"].batch_size == training["batch_size"][FED_ISIC]
    together = printed["decentralised"]
    assert ours.pretraining == together["local_epochs_before_collaboration"]
    assert ours.rounds == together["rounds"]
    assert ours.networks == {RESNET: "resnet18", CNN: "cnn", UNSTATED: "resnet18"}


def test_federated_methods_of_cycles_tables_take_its_rounds_and_schedule(setup: Setup) -> None:
    setting = cycle_settings.Setting(
        size="paper",
        data=Path(),
        dataset=cycle_data.CIFAR10,
        split="homogeneous",
        n=5,
        model=CNN,
        held_out=0.1,
    )
    for contender in contenders([setting], [FEDAVG, CFFL, RFFL, CGSV]):
        assert contender.rounds == setup("cycle")["fl"]["rounds"]
        assert contender.algorithm.local_epochs == setup("cycle")["fl"]["local_epochs"]
        assert contender.algorithm.schedule == cycle_settings.SCALES["paper"].federated_schedule


def test_cycles_thresholds_are_the_printed_ones(setup: Setup) -> None:
    printed, rule = setup("cycle")["cycle"], Cycle().rule
    assert (rule.tau_opt, rule.tau_max, rule.alpha) == (
        printed["tau_opt"],
        printed["tau_max"],
        printed["alpha"],
    )


@pytest.mark.parametrize(("index", "task"), [*enumerate((MNIST, MNIST_CLASSES, ADULT))])
def test_cffl_trains_as_its_section_4_says(setup: Setup, index: int, task: Any) -> None:
    printed = setup("cffl")["hyperparameters"][index]
    assert (task.dataset, task.split) == (printed["dataset"], printed["split"])
    assert task.local_epochs == printed["local_epochs"]
    assert task.rounds == printed["rounds"]
    assert {str(n): rate for n, rate in task.rates.items()} == printed["learning_rate"]
