"""The data of CYCle's experiments: images or what a frozen extractor sees in them, and divisions.

Reduced sizes train small networks on frozen features. CIFAR-10 is seen by filters that need no
download and no training; skin lesions by a network trained on photographs, because with the
filters every network ended naming the most frequent class for nearly all images.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from securefair.errors import ConfigError
from securefair.model import efficientnet_lite0
from securefair_lab.data.catalogue import load_image_set
from securefair_lab.data.feature_view import Extractor
from securefair_lab.data.partition import (
    DirichletPartitioner,
    IidPartitioner,
    ImbalancedPartitioner,
    Partitioner,
)
from securefair_lab.data.patch_features import PatchFeatures
from securefair_lab.data.pool import DataSet, Pool
from securefair_lab.papers.data import features, fewer_of_every_class, packaged
from securefair_lab.papers.experiment import Size

CIFAR10, CIFAR100, FED_ISIC = "CIFAR-10", "CIFAR-100", "Fed-ISIC2019"
MNIST = "MNIST"  # not among the paper's data
FILES: Mapping[str, tuple[str, str]] = {
    CIFAR10: ("cifar10", "cifar10.npz"),
    CIFAR100: ("cifar100", "cifar-100-binary"),
    FED_ISIC: ("ham10000", "ham10000.npz"),
    MNIST: ("mnist", "mnist.npz"),
}
"""Our name of each data set, and what the data folder must hold."""

CENTRES = 4  # of Fed-ISIC2019 that are in HAM10000; the paper has 6
BALANCED_TEST = 200  # test images a class where accuracy is balanced, see `equal_classes`
FEWER: Mapping[str, tuple[int, int]] = {
    CIFAR10: (6000, 2000),
    CIFAR100: (6000, 2000),
    MNIST: (4000, 2000),  # a quarter of the former is held out
}
"""Training and test images at size "cpu", all participants together."""

EXTRACTORS: Mapping[str, Callable[[], Extractor]] = {
    CIFAR10: PatchFeatures,
    CIFAR100: PatchFeatures,
    FED_ISIC: lambda: efficientnet_lite0(width=1280, side=128),
}


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
        BackendUnavailableError: the extractor is not installed (the extra `vision`).
    """
    if size == "smoke":
        return packaged()
    images = load_image_set(FILES[dataset][0], data)
    if size == "cpu":
        if dataset in FEWER:
            images = fewer_of_every_class(images, *FEWER[dataset])
        extractor = EXTRACTORS.get(dataset)
        seen = images.data_set() if extractor is None else features(images, extractor())
    else:
        seen = images.data_set()
    if dataset == FED_ISIC and seen.test is not None:
        seen = replace(seen, test=equal_classes(seen.test))
    return seen


def equal_classes(pool: Pool) -> Pool:
    """`BALANCED_TEST` samples of every class that is there.

    Accuracy on them estimates balanced accuracy on the given pool, and is not equal to it: of a
    larger class the first samples count and the others never, of a smaller one all, and the first
    of them once more than the rest, where the number is no multiple.
    """
    rows = [np.flatnonzero(pool.labels == c) for c in range(pool.classes)]
    return pool.take(np.concatenate([np.resize(own, BALANCED_TEST) for own in rows if len(own)]))
