import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from securefair.model import losses
from support.divergence import exact_kl

shape = (4, 3)
logits = arrays(np.float64, shape, elements=st.floats(-30, 30))
temperatures = st.floats(0.5, 10)


def tensors(u, z):
    return torch.from_numpy(u).requires_grad_(), torch.from_numpy(z)


def autograd(loss, u):
    return torch.autograd.grad(loss.sum(), u)[0]


@given(u=logits, z=logits, temperature=temperatures)
def test_the_approximate_loss_has_the_gradient_of_the_exact_one(u, z, temperature):
    u, z = tensors(u, z)
    exact = autograd(exact_kl(u, z, temperature), u)
    approximate = autograd(losses.approximate_kl(u, z, temperature), u)
    torch.testing.assert_close(approximate, exact, rtol=0, atol=1e-9)


@given(u=logits, z=logits, temperature=temperatures)
def test_its_value_is_shifted_by_logsumexp(u, z, temperature):
    u, z = tensors(u, z)
    shift = losses.approximate_kl(u, z, temperature) - exact_kl(u, z, temperature)
    torch.testing.assert_close(shift, -torch.logsumexp(z / temperature, dim=1))


@given(
    u=logits,
    z=logits,
    temperature=temperatures,
    constant=arrays(np.float64, (4, 1), elements=st.floats(-100, 100)),
)
def test_adding_a_constant_to_a_samples_logits_changes_no_gradient(u, z, temperature, constant):
    u, z = tensors(u, z)
    moved = z + torch.from_numpy(constant)
    torch.testing.assert_close(
        autograd(losses.approximate_kl(u, moved, temperature), u),
        autograd(losses.approximate_kl(u, z, temperature), u),
        rtol=0,
        atol=1e-9,
    )


@given(u=logits, z=logits, other=logits, temperature=temperatures, weight=st.floats(0, 1))
def test_a_weighted_sum_over_teachers_is_a_loss_against_their_mean(
    u, z, other, temperature, weight
):
    u, z = tensors(u, z)
    other = torch.from_numpy(other)
    separate = weight * losses.approximate_kl(u, z, temperature) + (
        1 - weight
    ) * losses.approximate_kl(u, other, temperature)
    mean = losses.approximate_kl(u, weight * z + (1 - weight) * other, temperature)
    torch.testing.assert_close(mean, separate, rtol=1e-9, atol=1e-9)


def test_a_teacher_that_agrees_exactly_costs_nothing():
    u = torch.tensor([[1.0, -2.0, 0.5]], dtype=torch.float64, requires_grad=True)
    z = u.detach() + 3
    assert exact_kl(u, z, 5.0).abs().item() < 1e-15
    assert autograd(losses.approximate_kl(u, z, 5.0), u).abs().max().item() < 1e-15


def test_a_value_computed_by_hand():
    # T = 1, p = (1/2, 1/2), z = (2, 0): p.log p - p.z = -log 2 - 1
    u, z = torch.zeros(1, 2).double(), torch.tensor([[2.0, 0.0]]).double()
    assert abs(losses.approximate_kl(u, z, 1.0).item() + np.log(2) + 1) < 1e-15
    # T = 2 halves z and nothing else here.
    assert abs(losses.approximate_kl(u, z, 2.0).item() + np.log(2) + 0.5) < 1e-15
