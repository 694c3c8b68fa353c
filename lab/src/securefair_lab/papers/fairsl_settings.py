"""FairSL's experiments with networks: who holds what, and what learns it.

Reduced sizes train small networks, on frozen features where images are photographs, and put MNIST
in the place of Fashion-MNIST, which not every machine has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from securefair.errors import ConfigError
from securefair.model import OptimizerConfig
from securefair_lab.algorithms import NetworkPopulation
from securefair_lab.algorithms.schedule import StepFactors
from securefair_lab.data.catalogue import load_image_set
from securefair_lab.data.division import divide
from securefair_lab.data.folder import data_folder
from securefair_lab.data.partition import RatioPartitioner
from securefair_lab.data.pool import DataSet, Pool
from securefair_lab.data.reuters import load_reuters
from securefair_lab.papers.cycle_data import CIFAR10, CIFAR100
from securefair_lab.papers.cycle_data import source as photographs
from securefair_lab.papers.data import packaged
from securefair_lab.papers.experiment import Fields, Size
from securefair_lab.papers.fairsl_forests import FOUR, SPLITS

DIFFERS = (
    "SGD instead of Adam, no regularisation, no frozen layers; alone and in standard swarm "
    "learning everyone trains as many epochs as all cycles together have, at their rates. cpu: "
    "small networks on frozen features of CIFAR-10, on bags of words of Reuters (52 topics) and on "
    "MNIST in the place of Fashion-MNIST, 20 epochs a cycle; no CIFAR-100. paper: a CNN of 121,182 "
    "parameters instead of VGG8 and EfficientNetV2."
)


@dataclass(frozen=True, kw_only=True)
class Training:
    """What one size trains, and how.

    Args:
        network: see `model.architectures`.
        rate: of SGD in the first cycle.
        batch: samples of a step.
        epochs: of a cycle; alone as many as all cycles together.
        rate_factors: of the rate in each cycle. The paper lowers rates and does not say by how
            much; the authors' code has 1, 0.5, 0.1 on CIFAR-10 and 1, 0.27, 0.1 on Reuters, for
            Adam. SGD at a tenth stands still, so that reduced sizes have milder ones.
        paired_factors: the same where four participants are equal in pairs. Every other section is
            then tiny (2 percent of the data): at a high rate a network forgets the others for it.
    """

    network: str
    rate: float
    batch: int
    epochs: int
    rate_factors: tuple[float, ...]
    paired_factors: tuple[float, ...] = (1.0, 0.1, 0.1, 0.01)

    @property
    def optimizer(self) -> OptimizerConfig:
        """SGD with momentum."""
        return OptimizerConfig(learning_rate=self.rate, weight_decay=1e-4)


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """A data set as the paper calls it, and how it is learned.

    Args:
        file: of the data folder, at size "paper".
        sizes: how it is trained; a size that is missing does not have this task.
        limit: training samples; None: all.
    """

    dataset: str
    file: str
    sizes: Mapping[Size, Training]
    limit: int | None = None


SMOKE = Training(network="logistic", rate=0.05, batch=128, epochs=2, rate_factors=(1.0, 0.5, 0.1))

# Rates and factors of size "cpu" were chosen on a tenth of the training samples, held out.
CIFAR = Task(
    dataset=CIFAR10,
    file="cifar10.npz",
    sizes={
        "smoke": SMOKE,
        "cpu": Training(
            network="mlp-64", rate=0.05, batch=128, epochs=20, rate_factors=(1.0, 0.5, 0.25)
        ),
        "paper": Training(
            network="cnn", rate=0.05, batch=128, epochs=100, rate_factors=(1.0, 0.5, 0.1)
        ),
    },
)
HUNDRED = Task(
    dataset=CIFAR100,
    file="cifar-100-binary",
    sizes={
        "smoke": SMOKE,
        "paper": Training(
            network="cnn", rate=0.05, batch=128, epochs=30, rate_factors=(1.0, 0.5, 0.1)
        ),
    },
)
FASHION = Task(
    dataset="Fashion-MNIST",
    file="fashion-mnist",
    sizes={
        "smoke": SMOKE,
        "cpu": Training(
            network="small-cnn", rate=0.05, batch=32, epochs=20, rate_factors=(1.0, 1.0, 0.5)
        ),
        "paper": Training(
            network="cnn", rate=0.05, batch=32, epochs=100, rate_factors=(1.0, 0.5, 0.1)
        ),
    },
    limit=3000,
)
REUTERS = Task(
    dataset="Reuters Newsletter",
    file="reuters.npz",
    sizes={
        "smoke": SMOKE,
        "cpu": Training(
            network="mlp-64", rate=1.0, batch=128, epochs=20, rate_factors=(1.0, 1.0, 1.0)
        ),
        "paper": Training(
            network="mlp-64", rate=1.0, batch=128, epochs=200, rate_factors=(1.0, 0.27, 0.1)
        ),
    },
)
TASKS = (CIFAR, HUNDRED, FASHION, REUTERS)
CPU_TESTED = 2000  # MNIST images that test at size "cpu": after every round, 10,000 take the time


def available(tasks: Sequence[Task], size: Size) -> list[Task]:
    """Those that a size has."""
    if size == "smoke":
        return list(tasks[:1])
    return [task for task in tasks if size in task.sizes]


def source(task: Task, size: Size, data: Path | None) -> DataSet:
    """What is divided at this size.

    Raises:
        DataError: its file is not in the folder.
    """
    if size == "smoke":
        return packaged()
    if task in (CIFAR, HUNDRED):
        return photographs(task.dataset, size, data)
    if task is REUTERS:
        return load_reuters(data_folder(data))
    whole = load_image_set("mnist" if size == "cpu" else "fashion-mnist", data).data_set()
    test = whole.test
    if test is not None and size == "cpu":
        test = _some(test, CPU_TESTED)
    return replace(whole, train=_some(whole.train, task.limit), test=test)


def _some(pool: Pool, count: int | None) -> Pool:
    """The same random samples whatever the seed of a run."""
    return pool.take(np.random.default_rng(0).permutation(len(pool.labels))[:count])


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Who takes part: a task divided by ratios.

    Raises:
        ConfigError: this size does not have the task.
    """

    task: Task
    size: Size
    data: Path | None
    ratios: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.size not in self.task.sizes:
            raise ConfigError(
                "this size does not have the data set",
                where=self.task.dataset,
                found=self.size,
                expected=", ".join(self.task.sizes),
            )

    @property
    def training(self) -> Training:
        """Of this size."""
        return self.task.sizes[self.size]

    @property
    def rate_factors(self) -> tuple[float, ...]:
        """Of the learning rate in each cycle."""
        paired = self.ratios == FOUR
        return self.training.paired_factors if paired else self.training.rate_factors

    @property
    def schedule(self) -> StepFactors:
        """The rates of the cycles, for those who train as long without cycles."""
        return StepFactors(every=self.training.epochs, factors=self.rate_factors)

    @property
    def fields(self) -> Fields:
        """What our rows call it; a substitute is named as what it is."""
        substitute = self.task is FASHION and self.size == "cpu"
        name = "MNIST (for Fashion-MNIST)" if substitute else self.task.dataset
        return {"dataset": name, "split": SPLITS[self.ratios], "n": len(self.ratios)}

    @property
    def printed(self) -> Fields:
        """What the paper's rows call it."""
        return {**self.fields, "dataset": self.task.dataset}

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
        network=setting.training.network,
        optimizer=setting.training.optimizer,
        batch_size=setting.training.batch,
        train_scored=64,
        pretraining_epochs=0,
        schedule=setting.schedule,
        common_start=True,
    )
