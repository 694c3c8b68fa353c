"""What the stages share: the model and what both sides agree on."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import securefair as sf
from securefair.storage import KeystoreCost

SIDE, CROP, HIDDEN, CLASSES = 28, 22, 128, 10
FEATURES = CROP * CROP
"""484 -> 128 -> x^2 -> 10; three pixels at every border are always empty or nearly so."""

BOUNDS = sf.HeadBounds(
    feature_norm=13.0, row_norm=1.0, output_weight=2.0, output_l1=32.0, output_l2=4.0, logit=32.0
)
"""What is public about the features and the model. `train.py` keeps to it."""

UNSTRETCHED = KeystoreCost(log2_n=1)
"""Of keystores under 256 random bits, which nobody guesses: only passphrases of people need half a
second a guess."""

MODEL = Path(__file__).with_name("model.npz")

Array = NDArray[np.float64]


def spec(images: int) -> sf.ExchangeSpec:
    """What both sides agree on; SECUREFAIR_FLOODING_BITS is 30 unless it says otherwise."""
    return sf.ExchangeSpec(
        features=FEATURES,
        hidden=HIDDEN,
        classes=CLASSES,
        samples=images,
        release="logits",
        flooding_bits=int(os.environ.get("SECUREFAIR_FLOODING_BITS", "30")),
        precision=2.0**-10,
        bounds=BOUNDS,
        answers=1,
    )


def features(pixels: Array) -> Array:
    """Pixels (B, 784) in [0, 1] -> features (B, 484) within the bounds."""
    edge = (SIDE - CROP) // 2
    middle = pixels.reshape(-1, SIDE, SIDE)[:, edge : edge + CROP, edge : edge + CROP]
    rows = middle.reshape(len(pixels), FEATURES)
    longest = np.linalg.norm(rows, axis=1, keepdims=True)
    within: Array = rows * np.minimum(1.0, (BOUNDS.feature_norm or 1.0) / np.maximum(longest, 1e-9))
    return within


def model() -> sf.QuadraticHead:
    """The server's model with the stored weights."""
    import torch

    head = sf.build_head("quadratic", FEATURES, HIDDEN, CLASSES, seed=0)
    with np.load(MODEL) as stored:
        head.load_state_dict(
            {name: torch.from_numpy(stored[name].astype(np.float64)) for name in stored}
        )
    return head
