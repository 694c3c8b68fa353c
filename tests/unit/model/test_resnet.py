"""ResNet-18 in a stack trains as it trains on its own, running statistics included."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from securefair.data.dataset import Samples
from securefair.errors import BackendUnavailableError
from securefair.model import resnet
from securefair.model.architectures import architecture
from securefair.model.batches import Batches, StackedSamples, draw_batches
from securefair.model.losses import approximate_kl
from securefair.model.optimizer import OptimizerConfig
from securefair.model.stacked import Build, Stacked
from securefair.model.stacked_training import Distillation, TrainStates, all_logits, train

needs_torchvision = pytest.mark.skipif(
    find_spec("torchvision") is None, reason="torchvision is not installed: extra `vision`"
)
CLASSES = 4
RATE, MOMENTUM, DECAY = 0.05, 0.9, 1e-2
OPTIMIZER = OptimizerConfig(
    learning_rate=RATE, momentum=MOMENTUM, weight_decay=DECAY, clip_norm=None
)
PULL, TEMPERATURE = 3.0, 5.0


def images(count: int, seed: int, side: int = 8) -> Samples:
    rng = np.random.default_rng(seed)
    return Samples(rng.normal(size=(count, 3, side, side)), np.arange(count) % CLASSES, CLASSES)


@contextmanager
def only_small_layers_drawn() -> Iterator[None]:
    """Drawing eleven million weights takes longer than anything that is asked of them here."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("kaiming_uniform_", "kaiming_normal_"):
            whole = getattr(nn.init, name)

            def drawn(tensor: Tensor, *given: Any, _whole: Any = whole, **named: Any) -> Tensor:
                return _whole(tensor, *given, **named) if tensor.numel() < 50_000 else tensor

            patch.setattr(nn.init, name, drawn)
        yield


@cache
def _two_stages() -> nn.Module:
    with only_small_layers_drawn():  # `first_stages` draws all again
        network: Any = architecture("resnet18", (3, 8, 8), CLASSES)(torch.Generator())
    network.layer3 = network.layer4 = nn.Identity()
    network.fc = nn.Linear(128, CLASSES)
    return network


def first_stages(generator: torch.Generator) -> nn.Module:
    """ResNet-18 without its two widest stages, which are the same code: quick in float64."""
    network = copy.deepcopy(_two_stages())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(generator.initial_seed())
        for module in network.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                module.reset_parameters()
    return network


def alone(
    stacked: Stacked,
    vector: Tensor,
    samples: StackedSamples,
    batches: Batches,
    n: int,
    told: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Vector and momentum of one participant after torch's own optimiser."""
    network = stacked.network(vector).train()
    optimizer = torch.optim.SGD(
        network.parameters(), lr=RATE, momentum=MOMENTUM, weight_decay=DECAY
    )
    for rows in batches.indices[n]:
        optimizer.zero_grad()
        logits = network(samples.features[rows])
        loss = cross_entropy(logits, samples.labels[rows])
        if told is not None:
            loss = loss + PULL * approximate_kl(logits, told[rows], TEMPERATURE).mean()
        loss.backward()
        optimizer.step()
    state = [optimizer.state[p]["momentum_buffer"].flatten() for p in network.parameters()]
    return stacked.vector(network), torch.cat(state)


@needs_torchvision
@pytest.mark.parametrize("form", ["rows", "batched"])
def test_every_row_trains_as_torch_would_train_it(form: Any) -> None:
    stacked = Stacked(first_stages, dtype=torch.float64, form=form)
    samples = StackedSamples.of([images(4, 1), images(8, 2)], stacked)
    batches = draw_batches(samples, [5, 6], epochs=2, size=4)
    start = TrainStates.start(stacked, [1, 2])
    told = all_logits(stacked, stacked.initial([9]), samples.features)[0]
    weights = torch.full((2,), PULL, dtype=torch.float64)
    result = train(
        stacked,
        start,
        samples,
        batches,
        OPTIMIZER,
        distillation=Distillation(told, weights, TEMPERATURE),
    )
    for n in range(2):
        vector, momentum = alone(stacked, start.vectors[n], samples, batches, n, told)
        torch.testing.assert_close(result.vectors[n], vector)
        torch.testing.assert_close(result.momentum[n], momentum)
    moved = (result.vectors - start.vectors)[:, stacked.trained :].abs() > 0
    assert moved.float().mean() > 0.99  # statistics ran along


@pytest.mark.slow
@needs_torchvision
def test_the_whole_network_trains_as_torch_would_train_it() -> None:
    stacked = Stacked(architecture("resnet18", (3, 8, 8), CLASSES))
    assert stacked.form == "rows"
    samples = StackedSamples.of([images(4, 1)], stacked)
    batches = draw_batches(samples, [5], epochs=1, size=4)
    start = TrainStates.start(stacked, [1])
    result = train(stacked, start, samples, batches, OPTIMIZER)
    vector, _ = alone(stacked, start.vectors[0], samples, batches, 0)
    # float32: single weights differ by rounding, so distances are measured by how far they moved
    for part in (slice(stacked.trained), slice(stacked.trained, None)):
        apart = (result.vectors[0, part] - vector[part]).norm()
        assert apart < 1e-3 * (vector[part] - start.vectors[0, part]).norm()


@needs_torchvision
def test_teachers_answer_in_evaluation_mode_whatever_trained_before() -> None:
    stacked = Stacked(first_stages, dtype=torch.float64)
    samples = StackedSamples.of([images(8, 1), images(8, 2)], stacked)
    start = TrainStates.start(stacked, [1, 2])
    trained = train(
        stacked, start, samples, draw_batches(samples, [5, 6], epochs=1, size=4), OPTIMIZER
    )
    before = trained.vectors.clone()
    logits = all_logits(stacked, trained.vectors, samples.features)
    assert torch.equal(trained.vectors, before)  # asking a teacher changes no statistics
    for k in range(2):
        teacher = stacked.network(trained.vectors[k])
        assert not teacher.training
        torch.testing.assert_close(logits[k], teacher(samples.features).detach())
        # one image more or less in the question changes no answer
        torch.testing.assert_close(logits[k, :1], teacher(samples.features[:1]).detach())


def _first_layers(build: Build) -> tuple[Any, Any]:
    network: Any = build(torch.Generator().manual_seed(3))
    return network.conv1, network.maxpool


@needs_torchvision
@pytest.mark.parametrize(
    ("shape", "kernel", "stride", "pools", "parameters"),
    [
        ((3, 32, 32), 3, 1, False, 11_173_962),
        ((1, 28, 28), 3, 1, False, 11_172_810),
        ((3, 64, 80), 7, 2, True, 11_181_642),
        ((1, 64, 64), 7, 2, True, 11_175_370),
    ],
)
def test_the_first_layers_follow_the_size_of_images(
    shape: tuple[int, int, int], kernel: int, stride: int, pools: bool, parameters: int
) -> None:
    build = architecture("resnet18", shape, 10)
    with only_small_layers_drawn():
        first, pool = _first_layers(build)
        network = build(torch.Generator().manual_seed(3))
    assert first.kernel_size == (kernel, kernel)
    assert first.stride == (stride, stride)
    assert first.in_channels == shape[0]
    assert isinstance(pool, nn.MaxPool2d) == pools
    # fan_out of torchvision's own initialisation: 64 output channels
    expected = np.sqrt(2 / (64 * kernel**2))
    assert float(first.weight.detach().std()) == pytest.approx(expected, rel=0.1)
    assert sum(p.numel() for p in network.parameters()) == parameters
    assert torch.equal(next(network.parameters()), first.weight)  # equal seeds, equal weights


def test_without_torchvision_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing() -> None:
        raise BackendUnavailableError("no", hint="pip install 'securefair[vision]'")

    monkeypatch.setattr(resnet, "import_torchvision", missing)
    with pytest.raises(BackendUnavailableError, match=r"securefair\[vision\]"):
        Stacked(architecture("resnet18", (3, 32, 32), 10))
