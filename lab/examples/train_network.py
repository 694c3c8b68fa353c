"""Train a reference network and write its weights.

    python lab/examples/train_network.py mnist --data FOLDER --out mnist.npz

FOLDER holds mnist.npz, cifar10.npz or ham10000.npz, as `securefair.data.images` describes them, or
for `fashion` a folder fashion-mnist with its four files: Debian's package dataset-fashion-mnist
puts it into /usr/share/datasets. What is printed at the end was measured with the weights as
written, in half precision.

`cifar-wide` and `cifar-cosines` are trained towards what a larger network says of the images,
beside their labels. That network is trained first, ten to fifteen minutes on one core; with --cache
this is kept for a second try.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from numpy.typing import NDArray
from rich.console import Console

from securefair.cli.ending import errors
from securefair.data.cache import cache_array, content_key
from securefair.model.folded import activation_ranges
from securefair.model.networks import balanced_by_values, fold
from securefair.model.quantize import quantize
from securefair_lab.data.images import (
    ImageSet,
    load_cifar10,
    load_fashion_mnist,
    load_ham10000,
    load_mnist,
)
from securefair_lab.networks import (
    EpochReport,
    TrainingRecipe,
    larger_network,
    reference,
    reference_network,
    save_weights,
    soft_labels,
    train_network,
)
from securefair_lab.networks.larger import RECIPE as LARGER_RECIPE
from securefair_lab.networks.reference import ReferenceName
from securefair_lab.scores import accuracy, balanced_accuracy

CALIBRATION_SAMPLES = 2000
WEIGHT_BITS = (6, 8, 10, 12)

NETWORKS: dict[str, ReferenceName] = {
    "mnist": "mnist",
    "fashion": "mnist",
    "cifar": "cifar",
    "cifar-wide": "cifar-wide",
    "cifar-cosines": "cifar-cosines",
    "derma": "derma",
}
"""Which reference network is trained on which images."""


def load_images(name: str, folder: Path, cache: Path | None) -> ImageSet:
    """Images by name."""
    match name:
        case "mnist":
            return load_mnist(folder)
        case "fashion":
            return load_fashion_mnist(folder)
        case "derma":
            # Lesions, not images, are divided: two images of one lesion are nearly the same.
            return load_ham10000(folder, cache=cache, target="diagnosis", split="lesion")
    return load_cifar10(folder, cache=cache)


def labels_of_a_larger_network(
    features: NDArray[np.float32],
    labels: NDArray[np.int64],
    classes: int,
    recipe: TrainingRecipe,
    *,
    seed: int,
    cache: Path | None,
    on_epoch: Callable[[EpochReport], None],
) -> NDArray[np.float32]:
    """Its logits (2, B, M) of the images and of their mirror images, kept in the cache."""

    def build() -> NDArray[np.float32]:
        network = larger_network(
            features, labels, classes, seed=seed, recipe=recipe, on_epoch=on_epoch
        )
        return soft_labels(network, features)

    key = content_key(f"{recipe} seed {seed}", features, labels)
    return cache_array(cache, "soft-labels", key, build).astype(np.float32)


@errors()
def main(
    name: Annotated[str, typer.Argument(help=", ".join(NETWORKS))],
    data: Annotated[Path, typer.Option(help="folder with the data sets")],
    out: Annotated[Path, typer.Option(help="where the weights go")],
    cache: Annotated[Path | None, typer.Option(help="folder for decoded images")] = None,
    seed: int = 1,
    epochs: Annotated[int | None, typer.Option(min=1, help="instead of the recipe's")] = None,
    distil: Annotated[
        bool | None, typer.Option(help="towards a larger network's logits, too; or not")
    ] = None,
    bfloat16: Annotated[
        bool | None, typer.Option(help="convolve in bfloat16; or in float32")
    ] = None,
    threads: int = 1,
) -> None:
    """Train one reference network and write its weights as .npz."""
    console = Console()
    if name not in NETWORKS:
        raise typer.BadParameter(f"one of {', '.join(NETWORKS)}", param_hint="name")
    kind = NETWORKS[name]
    chosen = reference(kind)
    recipe = chosen.recipe
    distilled = chosen.larger is not None if distil is None else distil
    if distilled and recipe.rotate:
        raise typer.BadParameter(
            "soft labels know of mirror images only, and this recipe turns images as well",
            param_hint="--distil",
        )
    images = load_images(name, data, cache)
    torch.set_num_threads(threads)
    if epochs is not None:
        recipe = replace(recipe, epochs=epochs)
    if bfloat16 is not None:
        recipe = replace(recipe, bfloat16=bfloat16)
    train, test = images.train_samples(), images.test_samples()
    assert test is not None
    network = reference_network(kind, seed=seed)
    start = time.monotonic()

    def reporting(what: str) -> Callable[[EpochReport], None]:
        def report(epoch: EpochReport) -> None:
            console.print(
                f"{what}epoch {epoch.epoch:3d}  loss {epoch.loss:.3f}  excess {epoch.excess:.4f}  "
                f"accuracy {epoch.accuracy:.3f}  {time.monotonic() - start:.0f} s"
            )

        return report

    features = train.features.astype(np.float32, copy=False)
    soft = None
    if distilled:
        soft = labels_of_a_larger_network(
            features,
            train.labels,
            chosen.classes,
            chosen.larger or LARGER_RECIPE,
            seed=seed,
            cache=cache,
            on_epoch=reporting("larger network, "),
        )
    train_network(
        network,
        features,
        train.labels,
        recipe,
        seed=seed,
        soft=soft,
        public=chosen.public,
        on_epoch=reporting(""),
    )
    save_weights(network, out)

    def encrypted(images: NDArray[np.floating]) -> NDArray[np.float64]:
        return chosen.encrypted(images).astype(np.float64)

    folded = fold(network)
    calibration = np.random.default_rng(seed).permutation(len(features))[:CALIBRATION_SAMPLES]
    balanced = balanced_by_values(folded, encrypted(features[calibration]))
    inputs = encrypted(test.features)
    logits = balanced.logits(inputs)
    predictions = logits.argmax(axis=1)
    figures: dict[str, Any] = {
        "images": images.name,
        "network": kind,
        "seed": seed,
        "epochs": recipe.epochs,
        "distilled": soft is not None,
        "training_seconds": round(time.monotonic() - start),
        "test_images": len(inputs),
        "accuracy": round(accuracy(predictions, test.labels), 4),
        "balanced_accuracy": round(balanced_accuracy(predictions, test.labels), 4),
        "parameters": network.parameter_count,
        "multiply_adds": folded.multiply_adds,
        "squares": folded.squares,
        "depth": folded.depth,
        "largest_on_test": {
            r.stage: round(r.maximum, 3) for r in activation_ranges(balanced, inputs)
        },
        "by_weight_bits": {
            bits: {
                "accuracy": accuracy(quantized.argmax(axis=1), test.labels),
                "agreement": float(np.mean(quantized.argmax(axis=1) == predictions)),
                "largest_change": float(np.abs(quantized - logits).max()),
            }
            for bits in WEIGHT_BITS
            for quantized in [quantize(balanced, bits).logits(inputs)]
        },
    }
    console.print_json(json.dumps(figures))


if __name__ == "__main__":
    typer.run(main)
