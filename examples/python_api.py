"""The training script of examples/ordinary_training.py, with hospitals that collaborate.

    python examples/python_api.py [ROUNDS [BACKEND]]

Seven lines differ. Everything that leaves a hospital is encrypted, or is one of the numbers that
a teacher releases; the ledger counts them.
"""

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import TensorDataset

import securefair as sf

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
BACKEND = sys.argv[2] if len(sys.argv) > 2 else "rns"
SAMPLES = {"North": 30, "South": 150, "East": 250}  # the first has little to learn from


def hospital_data(start: int, samples: int) -> tuple[TensorDataset, TensorDataset]:
    """Training and test samples of one hospital; pixels from 0 to 16 become -1 to 1."""
    images, digits = load_digits(return_X_y=True)
    features, labels = torch.tensor(images / 8 - 1).float(), torch.tensor(digits)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    own, test = order[start : start + samples], order[900:]
    return TensorDataset(features[own], labels[own]), TensorDataset(features[test], labels[test])


def build_model() -> nn.Module:
    """A small classifier."""
    return nn.Sequential(nn.Linear(64, 16), sf.Quadratic(), nn.Linear(16, 10))


def train(model: nn.Module, dataset: TensorDataset, steps: int) -> None:
    """Full-batch gradient descent."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
    x, y = dataset.tensors
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def accuracy(model: nn.Module, dataset: TensorDataset) -> float:
    """Share of correct answers."""
    x, y = dataset.tensors
    return float((model(x).argmax(dim=1) == y).double().mean())


torch.manual_seed(0)
hospitals = {name: hospital_data(300 * n, SAMPLES[name]) for n, name in enumerate(SAMPLES)}
models = {name: build_model() for name in SAMPLES}
result = sf.collaborate(hospitals, models, rounds=ROUNDS, lambda_0=10.0, backend=BACKEND)
for name, (_, test) in hospitals.items():
    print(f"{name}: {accuracy(result.models[name], test):.1%}, {result.gain[name]:+.1%} by peers")
print(f"{sum(row.numbers_total for row in result.ledger)} numbers were disclosed in all")
