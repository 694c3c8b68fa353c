import numpy as np
import pytest
import torch
from torch import nn

from securefair.model.networks.builder import he_network
from securefair.model.quadratic import Quadratic
from securefair_lab.networks import pooled


def network(window=2, kind=torch.float32):
    torch.manual_seed(3)
    built = he_network(
        nn.Sequential(
            nn.Conv2d(3, 6, 3, padding=1, bias=False),
            nn.BatchNorm2d(6),
            Quadratic(6, limit=1.0),
            nn.AvgPool2d(window),
            nn.Flatten(),
            nn.Linear(6 * (12 // window) ** 2, 4),
        ),
        (3, 12, 12),
    ).to(kind)
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return built.train()


def images(samples=8, kind=torch.float32):
    return torch.randn(samples, 3, 12, 12, generator=torch.Generator().manual_seed(5)).to(kind)


def trained_once(built, batch, **options):
    """Logits, excess and gradients of one step, and the statistics that it leaves."""
    logits, excess = pooled.with_excess(built, batch, **options)
    weights = torch.linspace(-1, 1, logits.numel()).view(logits.shape)
    ((logits * weights).sum() + 3 * excess).backward()
    gradients = [parameter.grad for parameter in built.parameters()]
    return [logits.detach(), excess.detach(), *gradients, *built.buffers()]


def module_by_module(monkeypatch):
    monkeypatch.setattr(pooled.PooledStep, "of", lambda *_: None)


@pytest.mark.parametrize("window", [1, 2, 3])
def test_one_step_gives_what_three_modules_give(window, monkeypatch):
    found = trained_once(network(window), images())
    module_by_module(monkeypatch)
    expected = trained_once(network(window), images())
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    assert expected[1] > 0.01  # some values lie beyond the limit


def test_the_excess_is_that_of_some_images(monkeypatch):
    _, found, *_ = trained_once(network(), images(4 * pooled.PENALISED))
    module_by_module(monkeypatch)
    _, expected, *_ = trained_once(network(), images(4 * pooled.PENALISED))
    assert found != expected
    assert float(found) == pytest.approx(float(expected), rel=0.3)


def test_short_floats_give_nearly_the_same():
    found = trained_once(network(), images(), bfloat16=True)
    expected = trained_once(network(), images())
    assert found[0].dtype == expected[0].dtype == torch.float32
    for one, other in zip(found, expected, strict=True):
        distance = (one - other).double().norm()
        assert distance <= 0.02 * other.double().norm() + 1e-3
    assert not torch.equal(found[0], expected[0])


def test_evaluation_takes_the_statistics_that_were_learned():
    built = network()
    trained_once(built, images())
    built.eval()
    logits, _ = pooled.with_excess(built, images())
    torch.testing.assert_close(logits, built(images()))


@pytest.mark.parametrize(
    "modules",
    [
        [nn.BatchNorm2d(6), Quadratic(6)],
        [nn.BatchNorm2d(6), Quadratic(), nn.AvgPool2d(2)],
        [nn.BatchNorm2d(6, affine=False), Quadratic(6), nn.AvgPool2d(2)],
        [nn.BatchNorm2d(6, momentum=None), Quadratic(6), nn.AvgPool2d(2)],
        [nn.BatchNorm2d(6), Quadratic(6), nn.AvgPool2d(5)],
        [nn.BatchNorm2d(6), Quadratic(6), nn.AvgPool2d(2, stride=1)],
        [nn.BatchNorm2d(6), Quadratic(6), nn.AvgPool2d(2, padding=1)],
        [Quadratic(6), nn.BatchNorm2d(6), nn.AvgPool2d(2)],
    ],
)
def test_other_modules_stay_by_themselves(modules):
    values = torch.zeros(2, 6, 12, 12)
    assert pooled.PooledStep.of(modules, values) is None
    whole = [nn.BatchNorm2d(6), Quadratic(6), nn.AvgPool2d(2)]
    assert pooled.PooledStep.of(whole, values) is not None


def test_a_step_is_for_float32_statistics():
    modules = [nn.BatchNorm2d(6), Quadratic(6), nn.AvgPool2d(2)]
    values = torch.zeros(2, 6, 12, 12)
    assert pooled.PooledStep.of(modules, values.bfloat16()) is not None
    for kind in (torch.float64, torch.float16):
        assert pooled.PooledStep.of(modules, values.to(kind)) is None
    assert pooled.PooledStep.of([one.double() for one in modules], values.double()) is None


def test_the_layout_of_images_in_memory_does_not_matter():
    batch = images()
    found = trained_once(network(), batch.to(memory_format=torch.channels_last))
    expected = trained_once(network(), batch)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
