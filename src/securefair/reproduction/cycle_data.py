"""The data of CYCle's experiments: images or what a frozen extractor sees in them, and divisions.

Reduced sizes train small networks on frozen features. CIFAR-10 is seen by filters that need no
download and no training; skin lesions by a network trained on photographs, because with the
filters every network ended naming the most frequent class for nearly all images.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from securefair.data.catalogue import load_image_set
from securefair.data.feature_view import Extractor, feature_view
from securefair.data.images.dataset import Images, ImageSet
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
from securefair.model.extractor import efficientnet_lite0
from securefair.reproduction.experiment import Size

CIFAR10, CIFAR100, FED_ISIC = "CIFAR-10", "CIFAR-100", "Fed-ISIC2019"
FILES: Mapping[str, tuple[str, str]] = {
    CIFAR10: ("cifar10", "cifar10.npz"),
    CIFAR100: ("cifar100", "cifar-100-binary"),
    FED_ISIC: ("ham10000", "ham10000.npz"),
}
"""Our name of each data set, and what the data folder must hold."""

CENTRES = 4  # of Fed-ISIC2019 that are in HAM10000; the paper has 6
BALANCED_TEST = 200  # test images a class where accuracy is balanced, see `equal_classes`
FEWER = 6000, 2000  # training and test images of CIFAR at size "cpu", all participants together

CACHE_VARIABLE = "SECUREFAIR_CACHE"
"""The environment variable of a folder that keeps features: minutes of computing, see docs."""

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
        return DataSet(name="digits", train=pool_of(digits()))
    images = load_image_set(FILES[dataset][0], data)
    if size == "cpu":
        images = _fewer(images) if dataset != FED_ISIC else images
        folder = os.environ.get(CACHE_VARIABLE)
        seen = feature_view(
            images, EXTRACTORS[dataset](), cache=Path(folder).expanduser() if folder else None
        )
    else:
        seen = images.data_set()
    if dataset == FED_ISIC and seen.test is not None:
        seen = replace(seen, test=equal_classes(seen.test))
    return seen


def _fewer(images: ImageSet) -> ImageSet:
    """So many training and test images, equally many of every class."""
    train, test = images.train, images.test
    return replace(
        images,
        train=_first(train, FEWER[0]),
        test=None if test is None else _first(test, FEWER[1]),
    )


def _first(part: Images, count: int) -> Images:
    """Images are stored by class or in a random order: a fixed draw of each class."""
    rng = np.random.default_rng(0)
    each = count // part.classes
    rows = [rng.permutation(np.flatnonzero(part.labels == c))[:each] for c in range(part.classes)]
    return part.take(np.concatenate(rows))


def equal_classes(pool: Pool) -> Pool:
    """`BALANCED_TEST` samples of every class that is there.

    Accuracy on them estimates balanced accuracy on the given pool, and is not equal to it: of a
    larger class the first samples count and the others never, of a smaller one all, and the first
    of them once more than the rest, where the number is no multiple.
    """
    rows = [np.flatnonzero(pool.labels == c) for c in range(pool.classes)]
    return pool.take(np.concatenate([np.resize(own, BALANCED_TEST) for own in rows if len(own)]))
