"""The papers' sizes have the numbers that the papers print."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from securefair.reproduction.cffl_settings import ADULT, MNIST, MNIST_CLASSES
from securefair.reproduction.dpfl_settings import CIFAR10, CINIC10, FEMNIST, SCALES, WRITERS

NAMED = os.environ.get("SECUREFAIR_PAPERS")
PAPERS = Path(NAMED) if NAMED else Path(__file__).parents[4] / "shared" / "papers"


def setup(paper: str) -> Any:
    file = PAPERS / f"{paper}.json"
    if not file.exists():
        pytest.skip(f"no tables of the papers at {PAPERS}: set SECUREFAIR_PAPERS")
    return json.loads(file.read_text(encoding="utf-8"))["setup"]


@pytest.mark.parametrize("name", [CIFAR10, CINIC10, FEMNIST])
def test_dpfl_trains_as_its_appendix_says(name: str) -> None:
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


@pytest.mark.parametrize(("index", "task"), [*enumerate((MNIST, MNIST_CLASSES, ADULT))])
def test_cffl_trains_as_its_section_4_says(index: int, task: Any) -> None:
    printed = setup("cffl")["hyperparameters"][index]
    assert (task.dataset, task.split) == (printed["dataset"], printed["split"])
    assert task.local_epochs == printed["local_epochs"]
    assert task.rounds == printed["rounds"]
    assert {str(n): rate for n, rate in task.rates.items()} == printed["learning_rate"]
