import pytest
import torch

from securefair.errors import ModelError
from securefair.model.quadratic import Quadratic
from securefair.model.squares import SQUARE_FLOOR


def test_each_channel_has_its_own_polynomial():
    activation = Quadratic(3).double()
    with torch.no_grad():
        activation.square_log_gain.copy_(torch.tensor([0.0, 1.0, -2.0]))
        activation.slope.copy_(torch.tensor([0.5, -1.0, 0.0]))
        activation.offset.copy_(torch.tensor([0.0, 2.0, -3.0]))
    x = torch.linspace(-3, 3, 24, dtype=torch.float64).view(2, 3, 2, 2)
    for channel, (slope, offset) in enumerate([(0.5, 0.0), (-1.0, 2.0), (0.0, -3.0)]):
        u = x[:, channel]
        expected = activation.square[channel] * u**2 + slope * u + offset
        torch.testing.assert_close(activation(x)[:, channel], expected)
    torch.testing.assert_close(activation(x[:, :, 0, 0]), activation(x)[:, :, 0, 0])


def test_one_polynomial_for_all_values_of_any_shape():
    activation = Quadratic(square=2.0, slope=-1.0).double()
    with torch.no_grad():
        activation.offset.fill_(0.25)
    for shape in ((), (5,), (2, 3), (2, 3, 4, 4)):
        x = torch.randn(shape, dtype=torch.float64)
        torch.testing.assert_close(activation(x), 2 * x**2 - x + 0.25, rtol=1e-6, atol=1e-6)


def test_the_square_never_vanishes():
    activation = Quadratic(2)
    with torch.no_grad():
        activation.square_log_gain.fill_(-1e4)
    assert (activation.square >= SQUARE_FLOOR).all()


def test_the_excess_is_what_lies_beyond_the_limit():
    activation = Quadratic(1, limit=2.0)
    inside = torch.tensor([[-2.0], [0.0], [2.0]])
    assert activation.excess(inside) == 0
    outside = torch.tensor([[-3.0], [0.0], [4.0], [1.0]], requires_grad=True)
    excess = activation.excess(outside)
    assert excess.item() == pytest.approx((1 + 4) / 4)
    (gradient,) = torch.autograd.grad(excess, outside)
    torch.testing.assert_close(gradient, torch.tensor([[-0.5], [0.0], [1.0], [0.0]]))


@pytest.mark.parametrize(("channels", "limit"), [(0, 4.0), (1, 0.0), (1, float("nan"))])
def test_impossible_activations_are_refused(channels, limit):
    with pytest.raises(ModelError):
        Quadratic(channels, limit=limit)


@pytest.mark.parametrize("square", [0.0, SQUARE_FLOOR, -1.0, float("inf"), float("nan")])
def test_a_square_that_cannot_be_folded_is_refused(square):
    with pytest.raises(ModelError, match="square: out of range"):
        Quadratic(square=square)


def test_a_coefficient_in_the_place_of_channels_is_refused():
    with pytest.raises(ModelError, match="Quadratic\\(square="):
        Quadratic(0.5)
