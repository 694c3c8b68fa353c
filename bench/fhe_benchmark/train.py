"""Train the model of the benchmark on MNIST's training images and store its weights.

    SECUREFAIR_DATA=FOLDER python bench/fhe_benchmark/train.py

Half a minute. Weights are kept in half precision: 126 KB.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from task import BOUNDS, CLASSES, FEATURES, HIDDEN, MODEL, features
from torch.nn.functional import cross_entropy

import securefair as sf
from securefair.model.balance import balance_by_weights
from securefair_lab.data.folder import data_folder
from securefair_lab.data.images import load_mnist

sys.path.append(str(Path(__file__).parent.parent))
from page import run_script  # a script beside the folder

EPOCHS, BATCH, RATE, DECAY, PENALTY = 8, 256, 4e-3, 1e-4, 2e-3


def main() -> None:
    torch.manual_seed(0)
    digits = load_mnist(data_folder())
    x, y = (
        torch.from_numpy(features(digits.train.pixels.reshape(-1, 784) / 255)).float(),
        torch.from_numpy(np.asarray(digits.train.labels).astype(np.int64)),
    )
    head = sf.build_head("quadratic", FEATURES, HIDDEN, CLASSES, seed=0).float()
    optimizer = torch.optim.AdamW(head.parameters(), lr=RATE, weight_decay=DECAY)
    steps = EPOCHS * (len(x) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
    for _ in range(EPOCHS):
        order = torch.randperm(len(x))
        for start in range(0, len(x) - BATCH + 1, BATCH):
            at = order[start : start + BATCH]
            logits = head(x[at])
            # Large output weights would need a wider modulus for nothing.
            loss = cross_entropy(logits, y[at]) + PENALTY * (logits**2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    head.double()
    stored = {name: value.numpy().astype(np.float16) for name, value in head.state_dict().items()}
    np.savez(MODEL, **stored)
    balanced = balance_by_weights(head.folded(), BOUNDS.row_norm)
    outer = np.abs(balanced.layers[-1].weights)
    print(f"output weights: largest {outer.max():.2f}, l1 {outer.sum(axis=1).max():.1f}, "
          f"l2 {np.sqrt((outer**2).sum(axis=1)).max():.2f}")  # fmt: skip
    test = features(digits.test.pixels.reshape(-1, 784) / 255)
    logits = head.logits(test)
    print(f"logits up to {np.abs(logits).max():.1f}, accuracy "
          f"{np.mean(logits.argmax(axis=1) == digits.test.labels):.4f}")  # fmt: skip


if __name__ == "__main__":
    run_script(main)
