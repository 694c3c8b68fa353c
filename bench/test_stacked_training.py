"""Training of all participants' networks: ours, and two loops that published code has.

Both loops train one model after another: a `DataLoader` for each participant that collates single
samples, `zero_grad`, `backward` and `step` of torch's optimiser. They differ in what a sample is:

- "loop": a row of a tensor, ready to train on. Nothing is lost here but by the loop itself.
- "published": an 8-bit image that becomes a PIL image and goes through transforms each time that it
  is read: `ToTensor`, and `Normalize` where there are three channels. So torchvision's data sets do
  it, and with them the code of CaPriDe and DPFL on CIFAR. Without the random crops and flips that
  they have besides, so that results stay equal, and without their progress bars and accuracies of
  each batch. Skipped, and `-rs` says so, where torchvision is missing.

All sides see the same batches, start from the same parameters and compute in float32 on the same
number of threads, and end with the same parameters within what rounding allows; that is asserted in
the same run.

One epoch each; distillation adds the logits of all teachers on everyone's samples, which the loops
compute batch by batch, as published code does. Random images: timings do not depend on what they
show. One case, with ratios of medians in brackets:

    python -m pytest bench/test_stacked_training.py -rs --benchmark-only \
        --benchmark-group-by=group --benchmark-columns=median,min,rounds \
        -k "small-cnn and N5 and b32"
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset, TensorDataset

from securefair.ckks.threads import cores, set_threads
from securefair.data.dataset import Samples
from securefair.data.torchvision_import import import_torchvision
from securefair.errors import BackendUnavailableError
from securefair.model.architectures import architecture
from securefair.model.batches import Batches, StackedSamples, draw_batches
from securefair.model.losses import approximate_kl
from securefair.model.optimizer import OptimizerConfig
from securefair.model.stacked import Stacked
from securefair.model.stacked_training import Distillation, TrainStates, all_logits, train

ROUNDS = 5
SAMPLES, CLASSES = 600, 10  # of each participant
OPTIMIZER = OptimizerConfig(learning_rate=0.05, momentum=0.9, weight_decay=5e-4, clip_norm=None)
TEMPERATURE, PULL = 5.0, 10.0
MNIST, CIFAR = (1, 28, 28), (3, 32, 32)
MEAN, DEVIATION = (0.49, 0.48, 0.45), (0.25, 0.24, 0.26)  # of three channels
Case = tuple[str, tuple[int, ...], int, int]
CASES: list[Case] = [
    ("logistic", MNIST, 5, 32),
    ("mlp-64", MNIST, 5, 32),
    ("mlp-64", MNIST, 20, 32),
    ("small-cnn", MNIST, 5, 32),
    ("small-cnn", MNIST, 5, 128),
    ("small-cnn", MNIST, 10, 32),
    ("small-cnn", CIFAR, 5, 32),
    ("cnn", CIFAR, 5, 32),
]


class Images(Dataset[tuple[Tensor, int]]):
    """8-bit images that are transformed when they are read, as torchvision's data sets do it."""

    def __init__(self, images: NDArray[np.uint8], labels: NDArray[np.int64]) -> None:
        import_torchvision()
        from PIL import Image
        from torchvision import transforms

        self.images, self.labels, self.decoded = images, labels.tolist(), Image.fromarray
        steps = [transforms.ToTensor()]
        if images.shape[-1] == len(MEAN):
            steps.append(transforms.Normalize(MEAN, DEVIATION))
        self.transform = transforms.Compose(steps)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return self.transform(self.decoded(self.images[index])), self.labels[index]


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
    def images(self) -> list[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
        """Images (height, width) or (height, width, 3), as files have them, and labels."""
        rng = np.random.default_rng(0)
        channels, *size = self.shape
        shape = (SAMPLES, *size) if channels == 1 else (SAMPLES, *size, channels)
        return [
            (rng.integers(0, 256, shape, dtype=np.uint8), rng.integers(0, CLASSES, SAMPLES))
            for _ in range(self.participants)
        ]

    @cached_property
    def parts(self) -> list[Samples]:
        """What the transforms make of the images, once and for all."""
        result = []
        for images, labels in self.images:
            features = torch.from_numpy(images).view(SAMPLES, *self.shape[1:], -1).float().div(255)
            if self.shape[0] > 1:
                features = features.sub(torch.tensor(MEAN)).div(torch.tensor(DEVIATION))
            result.append(Samples(features.movedim(-1, 1).double().numpy(), labels, CLASSES))
        return result

    @cached_property
    def samples(self) -> StackedSamples:
        return StackedSamples.of(self.parts, self.stacked)

    @cached_property
    def batches(self) -> Batches:
        return draw_batches(self.samples, list(range(self.participants)), epochs=1, size=self.batch)

    @cached_property
    def start(self) -> TrainStates:
        return TrainStates.start(self.stacked, range(self.participants))

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
    def ended(self) -> dict[str, Tensor]:
        """Parameters after the epoch, by the side that trained them."""
        return {}

    def end_of(self, side: str) -> Tensor:
        """The same, trained where nobody has."""
        if side not in self.ended:
            self.ended[side] = getattr(self, side)()
        return self.ended[side]

    @cached_property
    def rows(self) -> list[Dataset[tuple[Tensor, ...]]]:
        return [
            TensorDataset(torch.from_numpy(part.features).float(), torch.from_numpy(part.labels))
            for part in self.parts
        ]

    @cached_property
    def files(self) -> list[Dataset[tuple[Tensor, int]]]:
        return [Images(images, labels) for images, labels in self.images]

    def loop(self) -> Tensor:
        """One model after another, samples ready to train on."""
        return self._one_after_another(self.rows)

    def published(self) -> Tensor:
        """One model after another, samples transformed as they are read."""
        return self._one_after_another(self.files)

    def _one_after_another(self, data_sets: Sequence[Dataset[Any]]) -> Tensor:
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
            for features, labels in DataLoader(data_sets[n], batch_sampler=order):
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


@lru_cache(maxsize=1)
def work_of(case: Case, *, distils: bool) -> Work:
    """One for all sides, so that each makes its data and its answer once."""
    return Work(*case, distils=distils)


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    """Both sides compute with two threads, where there are as many cores."""
    before = torch.get_num_threads()
    set_threads(min(2, cores()))
    yield
    set_threads(before)


def name_of(case: Case) -> str:
    network, shape, participants, batch = case
    return f"{network}-{shape[0]}x{shape[1]}-N{participants}-b{batch}"


@pytest.mark.parametrize("side", ["ours", "loop", "published"])
@pytest.mark.parametrize("distils", [False, True], ids=["alone", "distilled"])
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_epoch(
    benchmark: BenchmarkFixture,
    case: Case,
    distils: bool,
    side: str,
) -> None:
    work = work_of(case, distils=distils)
    if side == "published":
        try:
            import_torchvision()
        except BackendUnavailableError as error:
            pytest.skip(f"NOT COMPARED with published code's transforms: {error}")
    benchmark.group = f"epoch {name_of(case)} {'distilled' if distils else 'alone'}"
    result = benchmark.pedantic(getattr(work, side), rounds=ROUNDS, warmup_rounds=1)
    work.ended[side] = result
    benchmark.extra_info |= {
        "form": work.stacked.form,
        "threads": torch.get_num_threads(),
        "parameters": work.stacked.trained,
    }
    expected = work.end_of("loop" if side == "ours" else "ours")
    apart = (result - expected).norm(dim=1) / (expected - work.start.vectors).norm(dim=1)
    assert float(apart.max()) < TOLERANCE


TOLERANCE = 1e-2
"""Most distance of two results over what training moved them: rectifiers flip where rounding does,
so that single weights of large networks end up to 2e-3 apart after 19 steps."""
