from types import SimpleNamespace

import numpy as np
import torch
from torch import nn

from securefair.model.gradients import flat_gradient
from securefair.model.heads import build_head
from unit.exchange.elsewhere import CARD, Pretended


def test_entries_follow_the_parameters_in_order():
    model = nn.Linear(2, 1, dtype=torch.float64)
    loss = 3 * model.weight[0, 1] + 5 * model.bias[0]
    np.testing.assert_array_equal(flat_gradient(loss, model), [0, 3, 5])


def test_parameters_the_loss_ignores_get_zeros():
    model = nn.Linear(2, 1, dtype=torch.float64)
    np.testing.assert_array_equal(flat_gradient(model.bias.sum(), model), [0, 0, 1])


def test_it_agrees_with_differences_over_every_parameter():
    head = build_head("quadratic", 3, 4, 2, seed=1)
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(5, 3)))

    def loss():
        return (head(x) ** 3).mean()

    gradient = flat_gradient(loss(), head)
    assert gradient.shape == (head.parameter_count,)
    numerical, h = [], 1e-5
    with torch.no_grad():
        for parameter in head.parameters():
            for entry in parameter.view(-1):
                values = []
                for step in (h, -2 * h):
                    entry += step
                    values.append(loss().item())
                entry += h
                numerical.append((values[0] - values[1]) / (2 * h))
    np.testing.assert_allclose(gradient, numerical, atol=1e-7)


def test_two_losses_of_one_forward_pass_and_no_trace_in_the_model():
    head = build_head("linear", 3, 1, 2, seed=1)
    z = head(torch.ones(1, 3).double())
    first, second = flat_gradient(z[0, 0], head), flat_gradient(z[0, 1], head)
    assert (first != second).any()
    assert all(parameter.grad is None for parameter in head.parameters())


def test_parameters_may_be_on_a_card():
    """Pretended: its tensors are no arrays. Values are not compared, as it keeps no graph."""
    with Pretended():
        weights = torch.ones(3, dtype=torch.float64).to(CARD).requires_grad_()
        model = SimpleNamespace(parameters=lambda: iter([weights]))
        assert flat_gradient((weights * weights).sum(), model).shape == (3,)
