"""CFFL's experiments: who holds what, what learns it, and the methods that are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from securefair.model import OptimizerConfig
from securefair.worth import Algorithm
from securefair_lab.algorithms import NetworkPopulation, Standalone
from securefair_lab.algorithms.free_riding import FreeRide
from securefair_lab.algorithms.schedule import EXPONENTIAL
from securefair_lab.data.catalogue import load_image_set
from securefair_lab.data.division import divide
from securefair_lab.data.folder import data_folder
from securefair_lab.data.partition import ClassLadderPartitioner, Partitioner, PowerLawPartitioner
from securefair_lab.data.pool import DataSet, balanced_subset, pool_of
from securefair_lab.data.sklearn_sets import breast_cancer
from securefair_lab.data.tables.adult import load_adult
from securefair_lab.papers.algorithms.cffl import Cffl
from securefair_lab.papers.algorithms.dssgd import Dssgd
from securefair_lab.papers.algorithms.fedavg import FedAvg
from securefair_lab.papers.data import packaged
from securefair_lab.papers.experiment import Contender, Fields, Size

SIZES, CLASSES = "imbalanced data size", "imbalanced class numbers"
PARTICIPANTS: Mapping[Size, tuple[int, ...]] = {"smoke": (5,), "cpu": (5,), "paper": (5, 10, 20)}
PRETRAINING_EPOCHS = 5
FREE_RIDER = "P3"
PRINTED = "CFFL, reward as printed"
"""By sizes the paper subtracts one's own upload at another weight than it has in the aggregate (see
`Cffl.own_part`): both readings are there. By classes the weights are one, and it is as printed."""
DIFFERS = (
    "The exponent of the power law, which the paper does not state, is 1; FedAvg is not "
    "round-robin. cpu: 5 participants only."
)


@dataclass(frozen=True, kw_only=True)
class Task:
    """A data set in one of the paper's two scenarios (section 4.3).

    Args:
        totals: training samples of all participants together, by their number.
        rates: learning rates, by participants.
    """

    dataset: str
    split: str
    network: str
    totals: Mapping[int, int]
    rates: Mapping[int, float]
    local_epochs: int
    rounds: int

    def __hash__(self) -> int:
        return hash((self.dataset, self.split))


MNIST = Task(
    dataset="MNIST",
    split=SIZES,
    network="mlp-128-64",
    totals={5: 3000, 10: 6000, 20: 12000},
    rates={5: 0.15, 10: 0.25, 20: 0.25},
    local_epochs=2,
    rounds=30,
)
ADULT = Task(
    dataset="Adult",
    split=SIZES,
    network="mlp-32",
    totals={5: 4000, 10: 8000, 20: 12000},
    rates=dict.fromkeys((5, 10, 20), 0.03),
    local_epochs=2,
    rounds=30,
)
MNIST_CLASSES = Task(
    dataset="MNIST",
    split=CLASSES,
    network="mlp-128-64",
    totals={5: 3000, 10: 6000, 20: 12000},
    rates=dict.fromkeys((5, 10, 20), 0.15),
    local_epochs=1,
    rounds=50,
)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The data and the training of contenders that are compared with each other."""

    task: Task
    size: Size
    data: Path | None
    n: int
    free_rider: bool = False

    @property
    def fields(self) -> Fields:
        """What the paper's rows call it."""
        return {"dataset": self.task.dataset, "split": self.task.split, "n": self.n}

    @property
    def rounds(self) -> int:
        """Of communication."""
        return 3 if self.size == "smoke" else self.task.rounds

    def __call__(self, seed: int) -> NetworkPopulation:
        """The participants of one seed."""
        return _population(self, seed)


@lru_cache(maxsize=2)  # contenders of one setting come one after the other
def _population(setting: Setting, seed: int) -> NetworkPopulation:
    task, n = setting.task, setting.n
    total = 60 * n if setting.size == "smoke" else task.totals[n]
    partitioner: Partitioner = (
        PowerLawPartitioner(participants=n, samples=total)
        if task.split == SIZES
        else ClassLadderPartitioner(participants=n, samples_each=total // n)
    )
    whole = source(task.dataset, setting.data)
    return NetworkPopulation(
        participants=tuple(
            divide(
                whole,
                partitioner,
                seed=seed,
                test="shared" if whole.test is None else "published",
                validation="shared",
            )
        ),
        network=task.network,
        optimizer=OptimizerConfig(
            learning_rate=task.rates[n], momentum=0, weight_decay=0, clip_norm=None
        ),
        batch_size=16,
        pretraining_epochs=0,
        local_epochs=task.local_epochs,
        schedule=EXPONENTIAL,
        common_start=True,
        free_riders={FREE_RIDER: FreeRide(scale=0.01)} if setting.free_rider else {},
    )


@cache
def source(dataset: str, data: Path | None) -> DataSet:
    """MNIST, or Adult with as many people of either income; packaged sets without a folder.

    Raises:
        DataError: its file is not in the folder.
    """
    if data is None:
        if dataset == ADULT.dataset:
            return DataSet(name="breast-cancer", train=pool_of(breast_cancer()))
        return packaged()
    if dataset == ADULT.dataset:
        everyone = load_adult(data_folder(data), merged=True).train
        each = int(np.bincount(everyone.labels).min())  # 11,687
        balanced = balanced_subset(everyone, each, np.random.default_rng(0))
        return DataSet(name="adult", train=balanced)
    return load_image_set("mnist", data).data_set()


@dataclass(frozen=True, kw_only=True)
class Method:
    """A row of a table in any setting."""

    name: str
    pretrain: bool | None = None
    theta_u: float | None = None

    @property
    def fields(self) -> Fields:
        """What tells it from others."""
        return {"method": self.name, "pretrain": self.pretrain, "theta_u": self.theta_u}

    @property
    def printed_fields(self) -> Fields:
        """What the paper calls it."""
        return {**self.fields, "method": "CFFL" if self.name == PRINTED else self.name}

    def algorithm(self, task: Task) -> Algorithm[Any, Any]:
        """With the task's epochs."""
        epochs = task.local_epochs
        match self.name:
            case "Standalone":
                return Standalone()
            case "FedAvg":
                return FedAvg(local_epochs=epochs, schedule=EXPONENTIAL)
            case "DSSGD":
                return Dssgd(upload_rate=self.theta_u or 1.0, local_epochs=epochs)
        return Cffl(
            imbalance="size" if task.split == SIZES else "classes",
            upload_rate=self.theta_u or 1.0,
            local_epochs=epochs,
            pretraining_epochs=PRETRAINING_EPOCHS if self.pretrain else 0,
            own_part="printed" if self.name == PRINTED or task.split == CLASSES else "allocated",
        )


ALONE = Method(name="Standalone")
AVERAGED = Method(name="FedAvg")
SELECTIVE = Method(name="DSSGD", theta_u=0.1)
SELECTIVE_ALL = Method(name="DSSGD", theta_u=1.0)
CFFLS, CFFLS_PRINTED = (
    tuple(
        Method(name=name, pretrain=pretrain, theta_u=theta_u)
        for pretrain in (False, True)
        for theta_u in (0.1, 1.0)
    )
    for name in ("CFFL", PRINTED)
)


def contenders(
    tasks: Sequence[Task],
    methods: Sequence[Method],
    size: Size,
    data: Path | None,
    *,
    numbers: Sequence[int] | None = None,
) -> list[Contender]:
    """Every method on every task with every number of participants."""
    result = []
    for task in tasks:
        for n in PARTICIPANTS[size] if numbers is None else numbers:
            setting = Setting(task=task, size=size, data=data, n=n)
            result += [
                Contender(
                    fields={**setting.fields, **method.fields},
                    compared={**setting.fields, **method.printed_fields},
                    members=setting,
                    algorithm=method.algorithm(task),
                    rounds=setting.rounds,
                    control=method == ALONE,
                )
                for method in methods
            ]
    return result
