"""Data sets by hospital, through a public extractor."""

import numpy as np
import pytest
import torch
from torch import nn

import securefair as sf
from securefair.config import demo_config
from securefair.errors import DataError
from securefair.library.hospitals import participants


def images(hospitals=("North", "South"), shape=(3, 4, 4)):
    labels = np.arange(20) % 2
    rng = np.random.default_rng(0)
    return {name: (rng.uniform(-1, 1, (20, *shape)), labels) for name in hospitals}


class Extractor(nn.Module):
    """A network with a part that is frozen while the rest trains."""

    def __init__(self, error=None):
        super().__init__()
        self.part = nn.Sequential(nn.Conv2d(3, 2, 2), nn.BatchNorm2d(2), nn.Dropout())
        self.error = error

    def forward(self, x):
        if self.error is not None:
            raise self.error
        return torch.tanh(self.part(x)).mean((2, 3))


def test_an_extractor_is_left_as_it_was():
    extractor = Extractor().train()
    extractor.part[1].eval()
    before = {name: values.clone() for name, values in extractor.state_dict().items()}
    data = participants(images(), extractor, demo_config())
    assert data[0].train.features.shape[1] == 2
    modes = [one.training for one in extractor.modules()]
    assert modes == [True, True, True, False, True]
    assert all(torch.equal(before[name], one) for name, one in extractor.state_dict().items())


@pytest.mark.parametrize("error", [ValueError("only PIL\nimages"), KeyError("x"), RuntimeError()])
def test_what_an_extractor_raises_is_named_with_its_hospital(error):
    extractor = Extractor(error).train()
    with pytest.raises(DataError, match="cannot take these samples") as refused:
        participants(images(), extractor, demo_config())
    assert refused.value.where == "North"
    assert refused.value.found.startswith(f"shape (20, 3, 4, 4), {type(error).__name__}: ")
    assert "\n" not in str(refused.value)
    assert extractor.training


def test_images_with_axes_in_another_order_are_refused():
    mixed = images(["North"]) | images(["South"], shape=(4, 4, 3))
    with pytest.raises(DataError, match="another shape than those of North"):
        sf.collaborate(mixed)
