import pytest
import torch
from torch import nn

from securefair.errors import ConfigError
from securefair_lab.networks.descent import Descent
from securefair_lab.networks.training import TrainingRecipe


def parameters():
    generator = torch.Generator().manual_seed(0)
    kernel = nn.Parameter(torch.randn(4, 3, 2, 2, generator=generator))
    return [
        kernel,
        nn.Parameter(torch.randn(5, 4, generator=generator)),
        nn.Parameter(torch.randn(4, generator=generator)),
        nn.Parameter(torch.randn(2, 3, 2, 2, generator=generator), requires_grad=False),
    ]


def moved(recipe):
    """How far each parameter goes in the second step; the first one is at the lowest rate."""
    given = parameters()
    descent = Descent(iter(given), recipe, steps=4)
    before = [each.detach().clone() for each in given]
    for _ in range(2):
        before = [each.detach().clone() for each in given]
        descent.gradient(sum((each**2).sum() for each in given[:3]))
        descent.step()
    return [now.detach() - then for now, then in zip(given, before, strict=True)]


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="torch 2.9 and later")
def test_kernels_go_in_all_directions_alike_and_the_rest_as_without():
    plain = moved(TrainingRecipe(epochs=1, clip_norm=100.0))
    turned = moved(TrainingRecipe(epochs=1, clip_norm=100.0, kernel_rate=0.1))
    for one, other in zip(plain[1:], turned[1:], strict=True):
        torch.testing.assert_close(one, other)
    assert not turned[3].any()
    assert condition(turned[0]) < 2 < condition(plain[0])


def condition(kernel):
    """Largest over smallest singular value."""
    values = torch.linalg.svdvals(kernel.permute(0, 2, 3, 1).flatten(1))
    return values.max() / values.min()


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="torch 2.9 and later")
def test_a_descent_reaches_the_bottom():
    for rate in (None, 0.1):
        given = parameters()
        descent = Descent(iter(given), TrainingRecipe(epochs=1, kernel_rate=rate), steps=100)
        norms = []
        for _ in range(100):
            norms.append(descent.gradient(sum((each**2).sum() for each in given[:3])))
            descent.step()
        assert norms[-1] < norms[0] / 20


def test_a_torch_without_the_optimizer_is_named(monkeypatch):
    monkeypatch.delattr(torch.optim, "Muon", raising=False)
    Descent(iter(parameters()), TrainingRecipe(epochs=1), steps=4)
    with pytest.raises(ConfigError, match="Muon"):
        Descent(iter(parameters()), TrainingRecipe(epochs=1, kernel_rate=0.1), steps=4)
