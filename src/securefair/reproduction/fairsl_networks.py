"""Fair swarm learning of networks: Tables 1, 2 and 3, Figures 3 to 8.

Reduced sizes train small networks, on frozen features where images are photographs, and put MNIST
in the place of Fashion-MNIST, which not every machine has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from securefair.algorithms import Algorithm, FedAvg, NetworkPopulation, Standalone
from securefair.algorithms.fairsl import FairSl
from securefair.data.catalogue import load_data_set
from securefair.data.division import divide
from securefair.data.folder import data_folder
from securefair.data.partition import RatioPartitioner
from securefair.data.pool import DataSet, pool_of
from securefair.data.reuters import load_reuters
from securefair.data.sklearn_sets import digits
from securefair.model.training import OptimizerConfig
from securefair.reproduction.cycle_settings import CIFAR10, CIFAR100
from securefair.reproduction.cycle_settings import source as photographs
from securefair.reproduction.experiment import (
    Claim,
    Contender,
    Experiment,
    Fields,
    Finished,
    Measured,
    Row,
    Size,
)
from securefair.reproduction.fairsl_forests import ALONE, EQUAL, FOUR, SPLITS, THREE
from securefair.reproduction.figures import participant_bars
from securefair.reproduction.measures import participants, percent

METHOD = "fair SL (neural network)"
DIFFERS = (
    "SGD instead of Adam, no regularisation, no frozen layers. cpu: small networks on frozen "
    "features of CIFAR-10, on bags of words of Reuters (52 topics) and on MNIST in the place of "
    "Fashion-MNIST, 20 epochs a cycle; no CIFAR-100. paper: a CNN of 121,182 parameters instead "
    "of VGG8 and EfficientNetV2."
)


@dataclass(frozen=True, kw_only=True)
class Task:
    """A data set as the paper calls it, and how it is learned.

    Args:
        file: of the data folder, at size "paper".
        epochs: of a cycle at size "paper" (Table 1).
        batch: as the paper's.
        limit: training samples; None: all.
    """

    dataset: str
    file: str
    epochs: int
    batch: int
    limit: int | None = None


CIFAR = Task(dataset=CIFAR10, file="cifar10.npz", epochs=100, batch=128)
HUNDRED = Task(dataset=CIFAR100, file="cifar-100-binary", epochs=30, batch=128)
FASHION = Task(dataset="Fashion-MNIST", file="fashion-mnist", epochs=100, batch=32, limit=3000)
REUTERS = Task(dataset="Reuters Newsletter", file="reuters.npz", epochs=200, batch=128)
TASKS = (CIFAR, HUNDRED, FASHION, REUTERS)
CPU_EPOCHS, SMOKE_EPOCHS = 20, 2
RATE = OptimizerConfig(learning_rate=0.05, weight_decay=1e-4)


def source(task: Task, size: Size, data: Path | None) -> DataSet:
    """What is divided at this size.

    Raises:
        DataError: its file is not in the folder.
    """
    if size == "smoke":
        return DataSet(name="digits", train=pool_of(digits()))
    if task in (CIFAR, HUNDRED):
        return photographs(task.dataset, size, data)
    if task == REUTERS:
        return load_reuters(data_folder(data), weighting="mean")
    whole = load_data_set("mnist" if size == "cpu" else "fashion-mnist", data)
    rows = np.random.default_rng(0).permutation(len(whole.train.labels))[: task.limit]
    return replace(whole, train=whole.train.take(rows))


def _network(task: Task, size: Size) -> str:
    if size == "smoke":
        return "logistic"
    if task == REUTERS or (task in (CIFAR, HUNDRED) and size == "cpu"):
        return "mlp-64"
    return "small-cnn" if size == "cpu" else "cnn"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Who takes part: a task divided by ratios."""

    task: Task
    size: Size
    data: Path | None
    ratios: tuple[float, ...]

    @property
    def fields(self) -> Fields:
        """What our rows call it; a substitute is named as what it is."""
        substitute = self.task == FASHION and self.size == "cpu"
        name = "MNIST (for Fashion-MNIST)" if substitute else self.task.dataset
        return {"dataset": name, "split": SPLITS[self.ratios], "n": len(self.ratios)}

    @property
    def printed(self) -> Fields:
        """What the paper's rows call it."""
        return {**self.fields, "dataset": self.task.dataset}

    @property
    def epochs(self) -> int:
        """Of a cycle."""
        return {"smoke": SMOKE_EPOCHS, "cpu": CPU_EPOCHS, "paper": self.task.epochs}[self.size]

    def __call__(self, seed: int) -> NetworkPopulation:
        """The participants of one seed."""
        return _population(self, seed)


@lru_cache(maxsize=2)  # contenders of one setting come one after the other
def _population(setting: Setting, seed: int) -> NetworkPopulation:
    divided = divide(
        source(setting.task, setting.size, setting.data),
        RatioPartitioner(ratios=setting.ratios),
        seed=seed,
        test="shared" if setting.size == "smoke" else "published",
    )
    return NetworkPopulation(
        participants=tuple(divided),
        network=_network(setting.task, setting.size),
        optimizer=RATE,
        batch_size=setting.task.batch,
        train_scored=64,
        pretraining_epochs=0,
        common_start=True,
    )


def contenders(
    tasks: Sequence[Task], ratios: tuple[float, ...], *, alone: bool
) -> Callable[[Size, Path | None], Sequence[Contender]]:
    """Fair swarm learning on each task; with `alone`, beside local and standard swarm learning."""

    def listed(size: Size, data: Path | None) -> list[Contender]:
        result = []
        for task in available(tasks, size):
            setting = Setting(task=task, size=size, data=data, ratios=ratios)
            rounds = setting.epochs * len(ratios)
            methods: list[tuple[str, Algorithm[Any, Any]]]
            methods = [(METHOD, FairSl(epochs_per_cycle=(setting.epochs,)))]
            if alone:
                methods = [(ALONE, Standalone()), *methods, (EQUAL, FedAvg(keep_momentum=True))]
            result += [
                Contender(
                    fields={**setting.fields, "method": name},
                    compared={**setting.printed, "method": name},
                    members=setting,
                    algorithm=algorithm,
                    rounds=rounds,
                    control=name == (ALONE if alone else METHOD),
                )
                for name, algorithm in methods
            ]
        return result

    return listed


def available(tasks: Sequence[Task], size: Size) -> list[Task]:
    """Those that a size has."""
    if size == "smoke":
        return list(tasks[:1])
    return [task for task in tasks if size == "paper" or task != HUNDRED]


def decreases(run: Finished) -> Mapping[str, float]:
    """By how many percent the error falls from each participant to the next, smallest first."""
    error = 100 - np.array(percent(run.records[-1]))
    return {
        f"{n}->{n + 1}": 100 * float((error[n - 1] - error[n]) / error[n - 1])
        for n in range(1, len(error))
    }


def _setup(size: Size, data: Path | None, seed: int) -> list[Measured]:
    """Table 1: what is trained on what, as it is done here."""
    del seed
    result = []
    for task in available(TASKS, size):
        setting = Setting(task=task, size=size, data=data, ratios=THREE)
        whole = source(task, size, data)
        test = 0 if whole.test is None else len(whole.test.labels)
        result.append(
            Measured(
                fields={"dataset": task.dataset},
                metrics={
                    "epochs_per_cycle": setting.epochs,
                    "learning_rate": RATE.learning_rate,
                    "batch_size": task.batch,
                    "train_samples": len(whole.train.labels),
                    "test_samples": test,
                    "classes": whole.train.classes,
                },
            )
        )
    return result


def _network_experiment(
    item: str,
    shows: str,
    tasks: Sequence[Task],
    ratios: tuple[float, ...],
    claims: tuple[Claim, ...],
) -> Experiment:
    kind, number = item.split()
    table = kind == "Table"
    return Experiment(
        name=f"fairsl-{kind.lower()}{number}",
        paper="fairsl",
        item=item,
        shows=shows,
        needs=tuple("mnist.npz" if task == FASHION else task.file for task in tasks),
        unit="percent, relative decrease of the error" if table else "percent",
        reference=f"fairsl.table{number}" if table else None,
        contenders=contenders(tasks, ratios, alone=not table),
        metrics=decreases if table else participants,
        claims=claims,
        draw=None if table else participant_bars,
        differs=DIFFERS,
        sizes=("smoke", "paper") if tuple(tasks) == (HUNDRED,) else ("smoke", "cpu", "paper"),
    )


def _level(rows: Sequence[Row], method: str) -> list[list[float]]:
    return [list(row.metrics.values()) for row in rows if row.fields["method"] == method]


def _helps(rows: Sequence[Row]) -> bool:
    return all(
        np.mean(fair) > np.mean(alone)
        for fair, alone in zip(_level(rows, METHOD), _level(rows, ALONE), strict=True)
    )


MONOTONE = Claim(
    words="Every participant errs less than the next smaller one",
    holds=lambda rows: all(min(row.metrics.values()) > 0 for row in rows),
)
JUMP = Claim(
    words="The step between unequal participants exceeds those between near equals",
    holds=lambda rows: all(
        row.metrics["2->3"] > max(abs(row.metrics["1->2"]), abs(row.metrics["3->4"]))
        for row in rows
    ),
)
HELPS = Claim(words="On average participants end better than alone", holds=_helps)
ALONE_FAIR_EQUAL = "alone, fairly rewarded, and all alike"

NETWORK_EXPERIMENTS = (
    Experiment(
        name="fairsl-table1",
        paper="fairsl",
        item="Table 1",
        shows="Data sets of the networks, and their training",
        needs=("cifar10.npz", "mnist.npz", "reuters.npz"),
        unit="counts; learning rate",
        reference="fairsl.table1",
        contenders=lambda size, data: (),  # noqa: ARG005  # nothing is trained
        metrics=lambda run: {},  # noqa: ARG005
        measure=_setup,
        differs=DIFFERS,
    ),
    _network_experiment(
        "Table 2",
        "What a larger share of the data is worth, three participants with networks",
        TASKS,
        THREE,
        (MONOTONE,),
    ),
    _network_experiment(
        "Table 3",
        "Participants of nearly equal size get nearly equal networks, four participants",
        (FASHION, HUNDRED),
        FOUR,
        (JUMP,),
    ),
    *(
        _network_experiment(
            f"Figure {number}",
            f"{task.dataset}, {len(ratios)} participants: {ALONE_FAIR_EQUAL}",
            (task,),
            ratios,
            (HELPS,),
        )
        for number, task, ratios in (
            (3, CIFAR, THREE),
            (4, HUNDRED, THREE),
            (5, FASHION, THREE),
            (6, REUTERS, THREE),
            (7, HUNDRED, FOUR),
            (8, FASHION, FOUR),
        )
    ),
)
