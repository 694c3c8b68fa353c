"""Shipped weights on real test images, where these are at hand."""

import os
from pathlib import Path

import numpy as np
import pytest

from securefair.model.networks import balanced_by_values, fold
from securefair.model.quantize import quantize
from securefair_lab.data.images.cifar import CIFAR10_FILE, CIFAR10_NORMALISATION
from securefair_lab.data.images.decoding import decode_images
from securefair_lab.data.images.digits import MNIST_FILE, MNIST_NORMALISATION
from securefair_lab.networks import reference, trained_network


@pytest.fixture(scope="module")
def folder():
    named = os.environ.get("SECUREFAIR_DATA")
    folder = Path(named) if named else Path(__file__).parents[4] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no folder of data sets at {folder}: set SECUREFAIR_DATA")
    return folder


def digits(folder, count):
    with np.load(MNIST_FILE.find(folder)) as file:
        pixels, labels = file["x_test"], file["y_test"]
    rows = np.random.default_rng(0).permutation(len(labels))[:count]
    return MNIST_NORMALISATION(pixels[rows, :, :, None]), labels[rows]


def photographs(folder, count):
    with np.load(CIFAR10_FILE.find(folder)) as file:
        encoded, offsets, labels = (file[f"test_{key}"] for key in ("jpeg", "offsets", "y"))
    rows = np.random.default_rng(0).permutation(len(labels))[:count]
    images = [encoded[offsets[row] : offsets[row + 1]] for row in rows]
    starts = np.cumsum([0, *map(len, images)])
    pixels = decode_images(np.concatenate(images), starts, name="cifar10", cache=None)
    return CIFAR10_NORMALISATION(pixels), labels[rows]


@pytest.mark.parametrize(
    ("name", "load", "count", "least"),
    [
        ("mnist", digits, 1000, 0.98),
        pytest.param("cifar", photographs, 200, 0.72, marks=pytest.mark.slow),
        pytest.param("cifar-wide", photographs, 100, 0.75, marks=pytest.mark.slow),
        pytest.param("cifar-cosines", photographs, 100, 0.8, marks=pytest.mark.slow),
    ],
)
def test_shipped_networks_classify_real_images_in_every_form(folder, name, load, count, least):
    images, labels = load(folder, count)
    images = reference(name).encrypted(images)
    network = trained_network(name)
    predicted = network.logits(images).argmax(axis=1)
    assert np.mean(predicted == labels) > least

    inputs = images.astype(np.float64)
    balanced = balanced_by_values(fold(network), inputs[:200])
    logits = balanced.logits(inputs)
    assert np.mean(logits.argmax(axis=1) == predicted) > 0.99  # but for float32
    rounded = quantize(balanced, 12).logits(inputs)
    assert np.mean(rounded.argmax(axis=1) == predicted) > 0.99
