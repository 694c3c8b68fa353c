"""CYCle's experiments: who holds what, and what learns it.

The paper's sizes need a GPU. Reduced ones train small networks on frozen features of fewer images,
where alone, averaged and distilled training still differ as they do in the paper.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from securefair.algorithms import NetworkPopulation, StepDecay
from securefair.data.catalogue import load_image_set
from securefair.data.division import divide
from securefair.data.feature_view import feature_view
from securefair.data.images.dataset import Images, ImageSet
from securefair.data.mislabelling import Mislabelling, mislabel
from securefair.data.partition import (
    DirichletPartitioner,
    IidPartitioner,
    ImbalancedPartitioner,
    Partitioner,
)
from securefair.data.patch_features import PatchFeatures
from securefair.data.pool import DataSet, Pool, pool_of
from securefair.data.sklearn_sets import digits
from securefair.errors import ConfigError
from securefair.model.training import OptimizerConfig
from securefair.reproduction.experiment import Fields, Size

CIFAR10, CIFAR100, FED_ISIC = "CIFAR-10", "CIFAR-100", "Fed-ISIC2019"
RESNET, CNN, UNSTATED = "ResNet18", "custom-cnn", None
FILES: Mapping[str, tuple[str, str]] = {
    CIFAR10: ("cifar10", "cifar10.npz"),
    CIFAR100: ("cifar100", "cifar-100-binary"),
    FED_ISIC: ("ham10000", "ham10000.npz"),
}
"""Our name of each data set, and what the data folder must hold."""

CENTRES = 4  # of Fed-ISIC2019 that are in HAM10000; the paper has 6
BALANCED_TEST = 200  # test images a class, rare ones repeated, where accuracy is balanced


@dataclass(frozen=True, kw_only=True)
class Scale:
    """What one size trains.

    Args:
        images: of the training and of the test part together with all participants; None: all.
        networks: by the paper's name of a model.
        pretraining: epochs alone before the rounds; federated methods get as many more rounds.
        rounds: of collaboration, one local epoch each.
        schedule: of the learning rate, by rounds after the epochs alone.
        federated_schedule: the same for methods without them.
    """

    images: tuple[int, int] | None
    networks: Mapping[str | None, str]
    optimizer: OptimizerConfig
    batch_size: int | None
    pretraining: int
    rounds: int
    schedule: StepDecay | None = None
    federated_schedule: StepDecay | None = None


SCALES: Mapping[Size, Scale] = {
    "smoke": Scale(
        images=None,
        networks=dict.fromkeys((RESNET, CNN, UNSTATED), "logistic"),
        optimizer=OptimizerConfig(learning_rate=0.1),
        batch_size=None,
        pretraining=1,
        rounds=2,
    ),
    "cpu": Scale(
        images=(6000, 2000),
        networks=dict.fromkeys((RESNET, CNN, UNSTATED), "mlp-64"),
        optimizer=OptimizerConfig(learning_rate=0.05, weight_decay=1e-4),
        batch_size=64,
        pretraining=15,
        rounds=15,
        schedule=StepDecay(every=10, factor=0.1),
        federated_schedule=StepDecay(every=25, factor=0.1),
    ),
    # App. F; momentum and weight decay are not stated, and ResNet-18 is not among our networks.
    "paper": Scale(
        images=None,
        networks=dict.fromkeys((RESNET, CNN, UNSTATED), "cnn"),
        optimizer=OptimizerConfig(learning_rate=0.1, weight_decay=5e-4),
        batch_size=128,
        pretraining=25,
        rounds=75,
        schedule=StepDecay(every=25, factor=0.1),
        federated_schedule=StepDecay(every=25, factor=0.1),
    ),
}

TEMPERATURE = 5.0
"""Of the cross-entropy that alignment compares with, too: section 4.1 words it so. At 1, the plain
cross-entropy, whoever fits its own images well has a gradient of arbitrary direction."""

DIFFERS = (
    "cpu: networks of one hidden layer of 64 units on frozen features of 6,000 images, 15 epochs "
    "alone and 15 rounds. paper: the custom CNN also where the paper has ResNet-18."
)
ISIC_DIFFERS = (
    "Four of the six centres, at 64 x 64 pixels; balanced accuracy on equally many test images of "
    "each class, rare ones repeated. " + DIFFERS
)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The data and the training of contenders that are compared with each other.

    Args:
        flips: share of wrong labels that `flippers` train on.
        common_start: one initialisation for all, for those who average models.
        validated: a server holds a tenth of the images to rate participants by (CFFL).
    """

    size: Size
    data: Path | None
    dataset: str
    split: str
    n: int
    model: str | None = RESNET
    flippers: tuple[str, ...] = ()
    flips: float = 0.0
    common_start: bool = False
    validated: bool = False

    @property
    def scale(self) -> Scale:
        """Of this size."""
        return SCALES[self.size]

    @property
    def fields(self) -> Fields:
        """What the paper's rows call it. Fed-ISIC2019 has fewer centres here."""
        return {"dataset": self.dataset, "split": self.split, "n": self.n, "model": self.model}

    def __call__(self, seed: int) -> NetworkPopulation:
        """The participants of one seed."""
        return _population(self, seed)


@lru_cache(maxsize=2)  # contenders of one setting come one after the other
def _population(setting: Setting, seed: int) -> NetworkPopulation:
    scale, smoke = setting.scale, setting.size == "smoke"
    natural = setting.split == "natural" and not smoke
    participants = divide(
        source(setting.dataset, setting.size, setting.data),
        None if natural else partitioner(setting.split, setting.n),
        seed=seed,
        test="shared" if smoke else "published",
        validation="shared" if setting.validated else "none",
    )
    if setting.split == "natural":  # "sorted in the decreasing order of their dataset size"
        participants.sort(key=lambda own: -len(own.train))
    wrong = {name: Mislabelling(flip_rate=setting.flips) for name in setting.flippers}
    return NetworkPopulation(
        participants=tuple(mislabel(participants, wrong, seed)),
        network=scale.networks[setting.model],
        optimizer=scale.optimizer,
        batch_size=scale.batch_size,
        train_scored=64,
        pretraining_epochs=scale.pretraining,
        schedule=scale.schedule,
        common_start=setting.common_start,
        alignment_temperature=TEMPERATURE,
        lambda_0=20.0 if setting.dataset == FED_ISIC else 50.0,
    )


def partitioner(split: str, n: int) -> Partitioner:
    """The paper's name of a split -> who gets what.

    Raises:
        ConfigError: no such split.
    """
    kind, *numbers = re.split(r"[(,)]", split)
    match kind, numbers:
        case "homogeneous" | "natural", []:  # "natural" where data without sites stand in
            return IidPartitioner(participants=n)
        case "dirichlet", [delta, ""]:
            return DirichletPartitioner(participants=n, delta=float(delta), min_samples=10)
        case "imbalanced", [kappa, large, ""]:
            return ImbalancedPartitioner(participants=n, kappa=float(kappa), large=int(large))
    raise ConfigError("no such split", where="split", found=split)


@cache
def source(dataset: str, size: Size, data: Path | None) -> DataSet:
    """What is divided: scikit-learn's digits, frozen features of some images, or all images.

    Raises:
        DataError: its file is not in the folder.
    """
    if size == "smoke":
        return DataSet(name="digits", train=pool_of(digits()))
    images = load_image_set(FILES[dataset][0], data)
    limits = SCALES[size].images
    if limits is not None:
        images = _fewer(images, limits) if dataset != FED_ISIC else images
        seen = feature_view(images, PatchFeatures(), cache=None)
    else:
        seen = images.data_set()
    if dataset == FED_ISIC and seen.test is not None:
        seen = replace(seen, test=equal_classes(seen.test))
    return seen


def _fewer(images: ImageSet, limits: tuple[int, int]) -> ImageSet:
    """So many training and test images, equally many of every class."""
    train, test = images.train, images.test
    return replace(
        images,
        train=_first(train, limits[0]),
        test=None if test is None else _first(test, limits[1]),
    )


def _first(part: Images, count: int) -> Images:
    """Images are stored by class or in a random order: a fixed draw of each class."""
    rng = np.random.default_rng(0)
    each = count // part.classes
    rows = [rng.permutation(np.flatnonzero(part.labels == c))[:each] for c in range(part.classes)]
    return part.take(np.concatenate(rows))


def equal_classes(pool: Pool) -> Pool:
    """Accuracy on this pool is balanced accuracy on the given one, up to rounding."""
    rows = [np.flatnonzero(pool.labels == c) for c in range(pool.classes)]
    return pool.take(np.concatenate([np.resize(own, BALANCED_TEST) for own in rows if len(own)]))
