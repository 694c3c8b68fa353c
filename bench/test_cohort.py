"""Training of all participants' networks: ours, and the loop that published code has.

The loop trains one model after another: a `DataLoader` for each participant that collates single
samples, `zero_grad`, `backward` and `step` of torch's optimiser. Both sides see the same batches,
start from the same parameters and compute in float32 on the same number of threads, and end with
the same parameters within what rounding allows; that is asserted in the same run.

One epoch each; distillation adds the logits of all teachers on everyone's samples, which the loop
computes batch by batch, as published code does. Random images: timings do not depend on what they
show. Run with `pytest bench/test_cohort.py --benchmark-group-by=group`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from securefair.data.dataset import Samples
from securefair.model.architectures import architecture
from securefair.model.losses import approximate_kl
from securefair.model.stacked import Stacked
from securefair.model.stacked_training import (
    Batches,
    Distillation,
    Learners,
    StackedSamples,
    all_logits,
    draw_batches,
    train,
)
from securefair.model.training import OptimizerConfig
from securefair.threads import cores, set_threads

ROUNDS = 5
SAMPLES, CLASSES = 600, 10  # of each participant
OPTIMIZER = OptimizerConfig(learning_rate=0.05, momentum=0.9, weight_decay=5e-4, clip_norm=None)
TEMPERATURE, PULL = 5.0, 10.0
MNIST, CIFAR = (1, 28, 28), (3, 32, 32)
CASES = [
    ("logistic", MNIST, 5, 32),
    ("mlp-64", MNIST, 5, 32),
    ("mlp-64", MNIST, 20, 32),
    ("small-cnn", MNIST, 5, 32),
    ("small-cnn", MNIST, 5, 128),
    ("small-cnn", MNIST, 10, 32),
    ("small-cnn", CIFAR, 5, 32),
    ("cnn", CIFAR, 5, 32),
]


@dataclass(frozen=True, eq=False)
class Work:
    """One epoch of so many participants."""

    network: str
    shape: tuple[int, ...]
    participants: int
    batch: int
    distils: bool = False

    @cached_property
    def stacked(self) -> Stacked:
        return Stacked(architecture(self.network, self.shape, CLASSES))

    @cached_property
    def parts(self) -> list[Samples]:
        rng = np.random.default_rng(0)
        return [
            Samples(
                rng.normal(size=(SAMPLES, *self.shape)), rng.integers(0, CLASSES, SAMPLES), CLASSES
            )
            for _ in range(self.participants)
        ]

    @cached_property
    def samples(self) -> StackedSamples:
        return StackedSamples.of(self.parts, self.stacked)

    @cached_property
    def batches(self) -> Batches:
        return draw_batches(self.samples, list(range(self.participants)), epochs=1, size=self.batch)

    @cached_property
    def start(self) -> Learners:
        return Learners.start(self.stacked, range(self.participants))

    def ours(self) -> Tensor:
        """As every algorithm here trains: all N^2 teachers' logits at once, then the epoch."""
        distillation = None
        if self.distils:
            logits = all_logits(self.stacked, self.start.vectors, self.samples.features)
            peers = torch.empty_like(logits[0])
            for n in range(self.participants):
                own = self.samples.rows(n)
                others = logits[:, own].sum(dim=0) - logits[n, own]
                peers[own] = others / (self.participants - 1)
            pull = torch.full((self.participants,), PULL)
            distillation = Distillation(peers, pull, TEMPERATURE)
        return train(
            self.stacked,
            self.start,
            self.samples,
            self.batches,
            OPTIMIZER,
            distillation=distillation,
        ).vectors

    @cached_property
    def data_sets(self) -> list[TensorDataset]:
        return [
            TensorDataset(torch.from_numpy(part.features).float(), torch.from_numpy(part.labels))
            for part in self.parts
        ]

    def loop(self) -> Tensor:
        """One model after another."""
        teachers = [self.stacked.network(vector) for vector in self.start.vectors]
        result = []
        for n in range(self.participants):
            network = self.stacked.network(self.start.vectors[n]).train()
            peers = [teacher for k, teacher in enumerate(teachers) if k != n]
            optimizer = torch.optim.SGD(
                network.parameters(),
                lr=OPTIMIZER.learning_rate,
                momentum=OPTIMIZER.momentum,
                weight_decay=OPTIMIZER.weight_decay,
            )
            rows = zip(self.batches.indices[n], self.batches.weights[n], strict=True)
            order = [(own[weight > 0] - self.samples.starts[n]).tolist() for own, weight in rows]
            for features, labels in DataLoader(self.data_sets[n], batch_sampler=order):
                optimizer.zero_grad()
                logits = network(features)
                loss = cross_entropy(logits, labels)
                if self.distils:
                    loss = loss + self._distillation(logits, features, peers)
                loss.backward()
                optimizer.step()
            result.append(self.stacked.vector(network))
        return torch.stack(result)

    def _distillation(self, logits: Tensor, features: Tensor, peers: list[nn.Module]) -> Tensor:
        total = logits.new_zeros(())
        for peer in peers:
            with torch.no_grad():
                told = peer(features)
            total = total + approximate_kl(logits, told, TEMPERATURE).mean()
        return PULL * total / len(peers)


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    """Both sides compute with two threads, where there are as many cores."""
    before = torch.get_num_threads()
    set_threads(min(2, cores()))
    yield
    set_threads(before)


def name_of(case: tuple[str, tuple[int, ...], int, int]) -> str:
    network, shape, participants, batch = case
    return f"{network}-{shape[0]}x{shape[1]}-N{participants}-b{batch}"


@pytest.mark.parametrize("side", ["ours", "loop"])
@pytest.mark.parametrize("distils", [False, True], ids=["alone", "distilled"])
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_epoch(
    benchmark: BenchmarkFixture,
    case: tuple[str, tuple[int, ...], int, int],
    distils: bool,
    side: str,
) -> None:
    work = Work(*case, distils=distils)
    sides: dict[str, Callable[[], Tensor]] = {"ours": work.ours, "loop": work.loop}
    benchmark.group = f"epoch {name_of(case)} {'distilled' if distils else 'alone'}"
    result = benchmark.pedantic(sides[side], rounds=ROUNDS, warmup_rounds=1)
    benchmark.extra_info |= {
        "form": work.stacked.form,
        "threads": torch.get_num_threads(),
        "parameters": work.stacked.trained,
    }
    expected = sides["loop" if side == "ours" else "ours"]()
    apart = (result - expected).norm(dim=1) / (expected - work.start.vectors).norm(dim=1)
    assert float(apart.max()) < TOLERANCE


TOLERANCE = 1e-2
"""Most distance of two results over what training moved them: rectifiers flip where rounding does,
so that single weights of large networks end up to 2e-3 apart after 19 steps."""
