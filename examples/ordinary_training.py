"""An ordinary training script: three hospitals, each trains a model on its own images of digits.

    python examples/ordinary_training.py [ROUNDS]

Compare examples/python_api.py, which is this script and the few lines that let them collaborate.
"""

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import TensorDataset

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
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
    return nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))


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
for name, (training, test) in hospitals.items():
    train(models[name], training, 40 + 5 * ROUNDS)
    print(f"{name}: {accuracy(models[name], test):.1%}")
