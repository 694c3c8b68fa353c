"""Train private heads on features of the frozen extractor, and say how good they are.

    pip install 'securefair[vision]'
    python lab/examples/train_on_features.py --data FOLDER --cache CACHE

FOLDER holds cifar10.npz. Features of 7,000 images take some minutes the first time; afterwards
they come from the cache. Compare lab/examples/train_network.py, which trains on pixels.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from rich.console import Console

from securefair.cli.ending import errors
from securefair.data import Samples
from securefair.model import OptimizerConfig, TrainState, build_head, evaluate, train_epochs
from securefair.model.extractor import efficientnet_lite0
from securefair_lab.data.feature_view import block_features
from securefair_lab.data.images import load_cifar10

HIDDEN = 64
EPOCHS = 15
BATCH_SIZE = 64


@errors()
def main(
    data: Annotated[Path, typer.Option(help="folder with cifar10.npz")],
    cache: Annotated[Path, typer.Option(help="folder for decoded images and features")],
    train_images: int = 5000,
    test_images: int = 2000,
    widths: Annotated[str, typer.Option(help="features an image, with commas")] = "1280,256,128",
    seed: int = 1,
    threads: int = 1,
) -> None:
    """Accuracy of linear and quadratic heads on features of CIFAR-10, for several widths."""
    console = Console()
    images = load_cifar10(data, cache=cache)
    torch.set_num_threads(threads)
    rng = np.random.default_rng(seed)
    assert images.test is not None
    parts = [
        part.take(rng.permutation(len(part))[:count])
        for part, count in ((images.train, train_images), (images.test, test_images))
    ]
    for width in map(int, widths.split(",")):
        extractor = efficientnet_lite0(width=width)
        train, test = (
            Samples(
                block_features(p.pixels, extractor, "cifar10", cache, 50).astype(np.float64),
                p.labels,
                p.classes,
            )
            for p in parts
        )
        for kind in ("linear", "quadratic"):
            head = build_head(kind, width, HIDDEN, train.classes, seed)
            train_state = TrainState.start(head, OptimizerConfig())
            train_epochs(train_state, train, EPOCHS, batch_size=BATCH_SIZE, seed=seed)
            layers = head.folded().weighted
            figures = {
                "extractor": extractor.key,
                "head": kind,
                "train_images": len(train),
                "test_images": len(test),
                "accuracy": round(evaluate(head, test).accuracy, 4),
                "multiply_adds": sum(layer.weights.size for layer in layers),
            }
            console.print_json(json.dumps(figures), indent=None)


if __name__ == "__main__":
    typer.run(main)
