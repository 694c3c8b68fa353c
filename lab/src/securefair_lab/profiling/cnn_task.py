"""Which images a profile of a reference network takes, and what both sides agree on for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.circuit import ExchangePlan, ExchangeSpec, HeadBounds, plan_exchange
from securefair.config import defaults
from securefair.errors import ConfigError
from securefair.exchange import bounds_for
from securefair.model import FoldedNetwork
from securefair.model.networks import balanced_by_values, fold
from securefair_lab.data.folder import data_folder
from securefair_lab.data.images import ImageSet, load_cifar10, load_ham10000, load_mnist
from securefair_lab.networks import reference, trained_network
from securefair_lab.networks.reference import ReferenceName

CALIBRATION_IMAGES = 2000
"""Training images that ranges are taken from; never test images."""

HEAD_ROOM = 2.0
"""Promised over found on those images: others go up to 1.3 times as far in most maps."""

WEIGHT_BITS: dict[ReferenceName, int] = {
    "mnist": 11,
    "cifar": 11,
    "cifar-wide": 11,
    "cifar-cosines": 10,
    "derma": 13,
}
"""Of the largest integer weight of each map: fewer change more than one prediction in 200. Of
`cifar-cosines` ten change 15 in 10,000.

The seven diagnoses are close to each other on many images, and more bits cost derma no prime."""

PRECISION: dict[ReferenceName, float] = {
    "mnist": 2.0**-8,
    "cifar": 2.0**-10,
    "cifar-wide": 2.0**-10,
    "cifar-cosines": 2.0**-10,
    "derma": 2.0**-10,
}
"""Planned error over the range of logits. Answers are flooded up to it, so it must leave classes
apart: at 2^-7 `cifar` agreed with the clear on 95 % of images only."""

Images = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CnnTask:
    """A trained network, images to classify, and the exchange that is planned for them.

    Attributes:
        name: of the network.
        network: folded and balanced, as its owner holds it.
        plan: of the exchange.
        images: (B, *input_shape), what is encrypted of test images first, and of training images
            where they do not fill B.
        labels: (tested,) of the test images among them.
    """

    name: ReferenceName
    network: FoldedNetwork
    plan: ExchangePlan
    images: NDArray[np.float32]
    labels: NDArray[np.int64]

    @property
    def tested(self) -> int:
        """Test images in the batch."""
        return len(self.labels)

    def features(self, start: int, stop: int) -> Images:
        """Rows of slots of some features, (stop - start, N/2); positions beyond B repeat."""
        columns = np.resize(np.arange(len(self.images)), self.plan.params.slots)
        flat = self.images.reshape(len(self.images), -1)
        rows: Images = flat[:, start:stop].astype(np.float64).T[:, columns]
        return rows


def cnn_task(
    name: ReferenceName,
    *,
    folder: Path | None = None,
    cache: Path | None = None,
    weights: Path | None = None,
    samples: int | None = None,
    seed: int = 0,
) -> CnnTask:
    """Everything that is measured, ready in memory.

    Args:
        name: of the reference network.
        folder: of data sets; None for the environment's.
        cache: folder for decoded images; None decodes each time.
        weights: file of the network's weights; None for those that ship.
        samples: images in the batch; None fills the slots of a ciphertext.
        seed: of the order of images.

    Raises:
        ConfigError: no such network, no folder, or too few or too many samples for one block.
        DataError: a file is missing or damaged; says what to put where.
        PlanError: no parameters grant it.
    """
    chosen = reference(name)
    # Folder and weights first: what is wrong with them is known before images are decoded.
    folder = data_folder(folder)
    trained = trained_network(name, weights)
    images = _LOADERS[name](folder, cache)
    rng = np.random.default_rng(seed)
    train, test = images.train_samples(), images.test_samples()
    assert test is not None
    order = rng.permutation(len(train))
    calibration = chosen.encrypted(train.features[order[:CALIBRATION_IMAGES]]).astype(np.float64)
    network = balanced_by_values(fold(trained), calibration)
    largest = chosen.bound or max(float(np.abs(part.features).max()) for part in (train, test))
    spec = network_spec(
        network,
        calibration,
        classes=chosen.classes,
        largest=largest,
        weight_bits=WEIGHT_BITS[name],
        precision=PRECISION[name],
    )
    plan = plan_exchange(spec)
    slots = plan.params.slots
    count = slots if samples is None else samples
    if not 2 <= count <= slots:
        raise ConfigError(
            "images travel in one block of ciphertexts",
            where="samples",
            found=count,
            expected=f"2 to {slots}",
        )
    rows = rng.permutation(len(test))[:count]
    extra = train.features[order[: count - len(rows)]]
    return CnnTask(
        name=name,
        network=network,
        plan=plan_exchange(msgspec.structs.replace(spec, samples=count)),
        images=chosen.encrypted(np.concatenate([test.features[rows], extra])),
        labels=test.labels[rows],
    )


def network_spec(
    network: FoldedNetwork,
    calibration: Images,
    *,
    classes: int,
    largest: float,
    weight_bits: int,
    precision: float,
) -> ExchangeSpec:
    """Logits of a network whose ranges are agreed from its owner's images.

    Such bounds tell a little of the network (`compilation.bounds_for`).

    Args:
        network: balanced.
        calibration: (B, *input_shape) images of the owner.
        classes: M.
        largest: |value| that is encrypted, which is public: pixels are normalised.
        weight_bits: of the largest integer weight of each map.
        precision: planned error over the range of logits.
    """
    layer_bounds = bounds_for(network, calibration, weight_bits=weight_bits, head_room=HEAD_ROOM)
    return ExchangeSpec(
        features=int(np.prod(network.input_shape)),
        hidden=0,
        classes=classes,
        samples=2,
        release="logits",
        flooding_bits=defaults.FLOODING_BITS,
        precision=precision,
        weight_bits=weight_bits,
        bounds=HeadBounds(feature=largest, logit=layer_bounds[-1].bound),
        network=layer_bounds,
    )


def _derma(folder: Path, cache: Path | None) -> ImageSet:
    # Lesions, not images, are divided: two images of one lesion are nearly the same.
    return load_ham10000(folder, cache=cache, target="diagnosis", split="lesion")


def _cifar(folder: Path, cache: Path | None) -> ImageSet:
    return load_cifar10(folder, cache=cache)


_LOADERS: dict[str, Callable[[Path, Path | None], ImageSet]] = {
    "mnist": lambda folder, _: load_mnist(folder),
    "cifar": _cifar,
    "cifar-wide": _cifar,
    "cifar-cosines": _cifar,
    "derma": _derma,
}
