"""Several networks layer by layer compute what each computes on its own."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.utils import prune

from securefair.model.stacked_layers import _LAYERS, LayerSequence, _Values

SAMPLES, IMAGE = 4, (2, 9, 8)
_twice, _tied = nn.Linear(6, 6), nn.Linear(6, 6)
_tied.weight = _twice.weight
NETWORKS: dict[str, nn.Module] = {
    "linear": nn.Sequential(nn.Flatten(), nn.Linear(144, 3)),
    "without bias": nn.Sequential(
        nn.Conv2d(2, 3, 3, bias=False), nn.ReLU(), nn.Flatten(), nn.Linear(126, 3, bias=False)
    ),
    "stride, padding, dilation": nn.Sequential(
        nn.Conv2d(2, 3, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2)),
        nn.ReLU(),
        nn.Conv2d(3, 4, 3, stride=2, padding="valid"),
        nn.Flatten(),
        nn.ReLU(),
        nn.Linear(16, 3),
    ),
    "pools": nn.Sequential(
        nn.MaxPool2d(2),
        nn.Conv2d(2, 3, 2),
        nn.MaxPool2d(2, stride=1),
        nn.Flatten(),
        nn.Linear(12, 3),
    ),
    "nested and named": nn.Sequential(
        OrderedDict(
            body=nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Flatten()), head=nn.Linear(126, 3)
        )
    ),
    "one layer twice": nn.Sequential(
        nn.Flatten(), nn.Linear(144, 6), _twice, nn.ReLU(), _twice, nn.Linear(6, 3)
    ),
    "one weight twice": nn.Sequential(
        nn.Flatten(), nn.Linear(144, 6), _twice, nn.ReLU(), _tied, nn.Linear(6, 3)
    ),
    "a layer, not a sequence": nn.Linear(8, 3),
    "along the last axis": nn.Sequential(nn.Linear(8, 3), nn.ReLU(), nn.Linear(3, 3)),
    "columns of images": nn.Sequential(nn.Conv2d(2, 3, 3), nn.Linear(6, 3)),
}


def given(
    network: nn.Module, count: int, shared: bool
) -> tuple[list[dict[str, Tensor]], dict[str, Tensor], Tensor]:
    """Parameters of so many networks, apart and stacked, and features."""
    random = torch.Generator().manual_seed(1)
    own = [
        {
            name: torch.randn(p.shape, generator=random, dtype=torch.float64)
            for name, p in network.named_parameters()
        }
        for _ in range(count)
    ]
    stacked = {name: torch.stack([one[name] for one in own]).requires_grad_() for name in own[0]}
    shape = (SAMPLES, *IMAGE) if shared else (count, SAMPLES, *IMAGE)
    return own, stacked, torch.randn(shape, generator=random, dtype=torch.float64)


@pytest.mark.parametrize("layout", [torch.channels_last, torch.contiguous_format], ids=str)
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("name", NETWORKS)
def test_values_and_gradients_are_those_of_each_network(
    name: str, count: int, shared: bool, layout: torch.memory_format
) -> None:
    network = NETWORKS[name].double()
    own, stacked, features = given(network, count, shared)
    sequence = LayerSequence.of(network, layout)
    assert sequence is not None
    found = sequence(stacked, features, shared=shared)
    weights = torch.randn(found.shape, dtype=torch.float64)
    gradients = torch.autograd.grad((found * weights).sum(), list(stacked.values()))
    for n, tensors in enumerate(own):
        leaves = {name: tensor.requires_grad_() for name, tensor in tensors.items()}
        expected = functional_call(network, leaves, (features if shared else features[n],))
        torch.testing.assert_close(found[n], expected)
        for gradient, one in zip(
            gradients,
            torch.autograd.grad((expected * weights[n]).sum(), list(leaves.values())),
            strict=True,
        ):
            torch.testing.assert_close(gradient[n], one)


@pytest.mark.parametrize("channels", [1, 2])
def test_gradients_come_back_in_the_layout_of_the_values(
    channels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rectifier between two layouts takes many times as long."""
    network = nn.Sequential(nn.Conv2d(channels, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 3))
    strides = []

    def flattened(values: _Values, *_: object) -> _Values:
        result = values.stacked()
        strides.append(values.tensor.stride())
        values.tensor.register_hook(lambda gradient: strides.append(gradient.stride()))
        return replace(result, tensor=result.tensor.flatten(2))

    monkeypatch.setitem(_LAYERS, nn.Flatten, flattened)
    for count in (1, 2):
        sequence = LayerSequence.of(network, torch.channels_last)
        assert sequence is not None
        stacked = {
            name: torch.randn(count, *p.shape).requires_grad_()
            for name, p in network.named_parameters()
        }
        features = torch.randn(count, SAMPLES, channels, 6, 6)
        sequence(stacked, features, shared=False).sum().backward()
        values, gradient = strides[-2:]
        assert gradient == values
        assert values[1] == 1  # channels last


class Residual(nn.Sequential):
    """A sequence with a `forward` of its own."""

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x + super().forward(x)


def hooked(method: str) -> nn.Module:
    layer = nn.ReLU()
    getattr(layer, method)(lambda *_: None)
    return layer


def computed_bias() -> nn.Module:
    layer = nn.Linear(2, 2)
    del layer.bias
    layer.bias = torch.zeros(2)  # type: ignore[assignment]  # as hooks that compute one do
    return layer


def patched() -> nn.Module:
    layer = nn.Linear(2, 2)
    layer.forward = lambda x: 2 * x  # type: ignore[method-assign]
    return layer


def with_a_parameter(layer: nn.Module) -> nn.Module:
    layer.register_parameter("gain", nn.Parameter(torch.ones(1)))
    return layer


@pytest.mark.filterwarnings("ignore:.*weight_norm.* is deprecated:FutureWarning")
@pytest.mark.parametrize(
    "compute",
    [
        nn.utils.spectral_norm,
        nn.utils.weight_norm,
        nn.utils.parametrizations.spectral_norm,
        lambda layer: prune.random_unstructured(layer, "weight", 0.5),
    ],
)
def test_computed_weights_are_left_alone(compute: Callable[[nn.Module], nn.Module]) -> None:
    for network in (compute(nn.Linear(4, 2)), nn.Sequential(compute(nn.Linear(4, 2)), nn.ReLU())):
        assert LayerSequence.of(network, torch.channels_last) is None


@pytest.mark.parametrize(
    "layer",
    [
        Residual(nn.ReLU()),
        nn.BatchNorm2d(2),
        nn.Conv2d(2, 2, 3, groups=2),
        nn.Conv2d(2, 2, 3, padding=1, padding_mode="circular"),
        nn.Flatten(0),
        nn.MaxPool2d(2, return_indices=True),
        nn.utils.parametrizations.weight_norm(nn.Conv2d(2, 2, 3)),
        hooked("register_forward_hook"),
        hooked("register_forward_pre_hook"),
        hooked("register_full_backward_hook"),
        hooked("register_full_backward_pre_hook"),
        computed_bias(),
        patched(),
        with_a_parameter(nn.ReLU()),
        with_a_parameter(nn.Linear(2, 2)),
        with_a_parameter(nn.Sequential()),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_what_it_does_not_know_it_leaves_alone(layer: nn.Module) -> None:
    assert LayerSequence.of(nn.Sequential(layer, nn.Flatten()), torch.channels_last) is None
