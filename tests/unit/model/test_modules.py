"""A module becomes a head that computes the same, and a head such a module again."""

import copy
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.utils import prune
from torch.nn.utils.parametrizations import spectral_norm

from securefair.errors import ModelError
from securefair.model.heads import LinearHead, QuadraticHead, build_head
from securefair.model.modules import head_of, module_of
from securefair.model.networks import he_network
from securefair.model.quadratic import Quadratic
from securefair.model.squares import SQUARE_FLOOR

sizes = st.integers(1, 6)
squares = st.floats(SQUARE_FLOOR * 1.01, 100.0)
slopes = st.floats(-5.0, 5.0)


class Own(nn.Module):
    def __init__(self, features, hidden, classes, square=0.25, slope=0.5):
        super().__init__()
        self.first = nn.Linear(features, hidden)
        self.square = Quadratic(square=square, slope=slope)
        self.last = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.last(self.square(self.first(torch.flatten(x, 1))))


def chained(features, hidden, classes, square=0.25, slope=0.5):
    """The same layers as `Own`, nested and with what vectors make superfluous."""
    inner = nn.Sequential(nn.Linear(features, hidden), Quadratic(square=square, slope=slope))
    return nn.Sequential(nn.Flatten(), inner, nn.Identity(), nn.Linear(hidden, classes))


def samples(module, features):
    x = np.random.default_rng(0).uniform(-1, 1, (7, features))
    with torch.no_grad():
        return x, module.double()(torch.from_numpy(x)).numpy()


@given(sizes, sizes, st.integers(2, 5), squares, slopes, st.sampled_from([Own, chained]))
def test_head_and_module_compute_the_same(features, hidden, classes, square, slope, build):
    torch.manual_seed(features + hidden)
    module = build(features, hidden, classes, square, slope).double()
    head = head_of(module)
    x, logits = samples(module, features)
    assert (head.features, head.hidden, head.classes) == (features, hidden, classes)
    np.testing.assert_allclose(head.logits(x), logits, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(head.folded().logits(x), logits, rtol=1e-5, atol=1e-5)


@given(sizes, sizes, st.integers(2, 5), squares, slopes)
def test_there_and_back_is_the_identity_up_to_single_precision(
    features, hidden, classes, square, slope
):
    torch.manual_seed(classes)
    module = Own(features, hidden, classes, square, slope)
    back = module_of(head_of(module), module)
    assert type(back) is Own
    for name, value in module.state_dict().items():
        torch.testing.assert_close(back.state_dict()[name], value)


@given(sizes, sizes, st.integers(2, 5), st.integers(0, 99))
def test_back_and_there_is_the_identity(features, hidden, classes, seed):
    head = build_head("quadratic", features, hidden, classes, seed)
    like = Own(features, hidden, classes).double()
    again = head_of(module_of(head, like))
    for name, value in head.state_dict().items():
        torch.testing.assert_close(again.state_dict()[name], value, rtol=1e-12, atol=1e-12)


def test_a_linear_layer_is_a_linear_head():
    module = nn.Linear(5, 3)
    head = head_of(module)
    assert isinstance(head, LinearHead)
    x, logits = samples(copy.deepcopy(module), 5)
    np.testing.assert_allclose(head.logits(x), logits, atol=1e-12)
    back = module_of(head, module)
    assert back.weight.dtype == torch.float32
    assert torch.equal(back.weight, module.weight)


def test_a_head_is_taken_as_it_is_and_copied():
    head = build_head("quadratic", 3, 2, 2, 0)
    taken = head_of(head)
    assert isinstance(taken, QuadraticHead)
    assert taken is not head
    assert module_of(taken, head) is not taken


def test_the_callers_module_is_left_alone():
    module = Own(3, 2, 2)
    before = copy.deepcopy(module.state_dict())
    head = head_of(module)
    with torch.no_grad():
        head.output_weights.zero_()
        trained = module_of(head, module)
    assert not trained.last.weight.any()
    for name, value in before.items():
        assert torch.equal(module.state_dict()[name], value)
    assert trained.last.weight.requires_grad


class Branches(Own):
    def forward(self, x):
        hidden = self.first(x)
        return self.last(self.square(hidden)) + self.last(hidden)


class Functional(Own):
    def forward(self, x):
        return self.last(torch.relu(self.first(x)))


class Scaled(Own):
    def forward(self, x):
        return 2 * super().forward(x)


class Decides(Own):
    def forward(self, x):
        return super().forward(x if x.sum() > 0 else -x)


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.square = nn.Linear(2, 2), Quadratic()

    def forward(self, x):
        return self.layer(self.square(self.layer(x)))


class Skips(nn.Sequential):
    """Its layers say one thing and its forward pass another."""

    def forward(self, x):
        return self[2](self[0](x))


class MyLinear(nn.Linear):
    def forward(self, x):
        return super().forward(x).abs()


def frozen():
    module = Own(4, 3, 2)
    module.first.weight.requires_grad_(False)
    return module


def broken():
    module = Own(4, 3, 2)
    with torch.no_grad():
        module.last.bias[1] = torch.nan
    return module


def square_sequence():
    return nn.Sequential(nn.Linear(2, 2), Quadratic(), nn.Linear(2, 2))


def tied(name):
    module = square_sequence()
    setattr(module[2], name, getattr(module[0], name))
    return module


def tied_in_memory():
    """As an autoencoder's: another object, and the other way round, but the same numbers."""
    module = square_sequence()
    module[2].weight = nn.Parameter(module[0].weight.detach().t())
    return module


def negated(*given):
    return -given[-1][0] if isinstance(given[-1], tuple) else -given[-1]


def hooked(register, name):
    module = square_sequence()
    getattr(module.get_submodule(name), register)(negated)
    return module


def pruned():
    module = square_sequence()
    prune.l1_unstructured(module[0], "weight", 0.5)
    return module


def old_weight_norm(layer):
    """The one with a hook, which torch still has."""
    with warnings.catch_warnings(action="ignore", category=FutureWarning):
        return nn.utils.weight_norm(layer)


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)), ("layer", "'ReLU'", "Quad")),
        (nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 2)), ("'Conv2d'",)),
        (nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2)), ("model", "'Linear - Linear'")),
        (nn.Sequential(nn.Linear(4, 2), Quadratic()), ("'Linear - Quadratic'",)),
        (nn.Sequential(), ("'no layer'",)),
        (Quadratic(), ("'Quadratic'",)),
        (Branches(4, 4, 2), ("Branches", "step")),
        (Functional(4, 3, 2), ("Functional", "'relu'")),
        (Scaled(4, 3, 2), ("Scaled", "'mul'")),
        (Decides(4, 3, 2), ("Decides", "cannot be followed")),
        (Twice(), ("Twice", "used twice")),
        (Skips(nn.Linear(4, 3), Quadratic(), nn.Linear(3, 2)), ("'Linear - Linear'",)),
        (MyLinear(4, 2), ("MyLinear",)),
        (nn.Sequential(MyLinear(4, 2)), ("'MyLinear'",)),
        (spectral_norm(nn.Linear(4, 2)), ("ParametrizedLinear",)),
        (nn.Linear(4, 2, bias=False), ("bias",)),
        (nn.Sequential(nn.Linear(4, 3), Quadratic(), nn.Linear(5, 2)), ("3 outputs, 5 inputs",)),
        (frozen(), ("first.weight", "frozen", "extractor")),
        (broken(), ("last.bias", "NaN")),
        (
            nn.Sequential(nn.Linear(4, 3), Quadratic(4), nn.Linear(3, 2)),
            ("activation", "4 channels", "Quadratic()"),
        ),
        (nn.Linear(4, 1), ("classes", "at least 2")),
        (tied("weight"), ("0.weight and 2.weight are one parameter",)),
        (tied("bias"), ("0.bias and 2.bias are one parameter",)),
        (tied_in_memory(), ("0.weight and 2.weight are one parameter",)),
        (hooked("register_forward_hook", "2"), ("2: hooks", "'negated'")),
        (hooked("register_forward_pre_hook", "1"), ("1: hooks", "'negated'")),
        (hooked("register_forward_hook", ""), ("Sequential: hooks",)),
        (hooked("register_forward_pre_hook", ""), ("Sequential: hooks",)),
        (pruned(), ("0: hooks", "'L1Unstructured'", "prune.remove")),
        (old_weight_norm(nn.Linear(4, 2)), ("Linear: hooks", "'WeightNorm'", "remove_weight_norm")),
        (nn.LazyLinear(2), ("LazyLinear",)),
    ],
)
def test_what_encryption_cannot_evaluate_is_refused(module, words):
    with pytest.raises(ModelError) as caught:
        head_of(module)
    for word in words:
        assert word in str(caught.value)


def second_name(module):
    module.alias = module[0]
    module.also = module[0].weight


def one_vector(module):
    """Every parameter becomes a part of one vector, of which no two share a number."""
    vector = nn.utils.parameters_to_vector(module.parameters()).detach()
    nn.utils.vector_to_parameters(vector, module.parameters())


def removed_hook(module):
    module[0].register_forward_hook(negated).remove()


def removed_pruning(module):
    prune.l1_unstructured(module[0], "weight", 0.5)
    prune.remove(module[0], "weight")


def saving_hook(module):
    module.register_state_dict_post_hook(lambda *_: None)


@pytest.mark.parametrize(
    "change", [second_name, one_vector, removed_hook, removed_pruning, saving_hook]
)
def test_what_changes_no_forward_pass_is_taken(change):
    class Named(nn.Sequential):
        def forward(self, x):
            return self[2](self[1](self[0](x)))

    module = Named(*square_sequence())
    change(module)
    head = head_of(module)
    x, logits = samples(copy.deepcopy(module), 2)
    np.testing.assert_allclose(head.logits(x), logits, atol=1e-6)
    with torch.no_grad():
        head.hidden_weights.add_(1.0)
    trained = module_of(head, module)
    np.testing.assert_allclose(samples(trained, 2)[1], head.logits(x), atol=1e-5)


@given(sizes, sizes, st.integers(2, 5), st.integers(0, 99))
def test_a_triple_a_unit_becomes_one_pair_and_the_layers_around_it(features, hidden, classes, seed):
    torch.manual_seed(seed)
    module = nn.Sequential(
        nn.Linear(features, hidden), Quadratic(hidden), nn.Linear(hidden, classes)
    )
    with torch.no_grad():
        for parameter in module[1].parameters():
            parameter.copy_(torch.randn(hidden))
    head = head_of(module)
    x, logits = samples(copy.deepcopy(module), features)
    np.testing.assert_allclose(head.logits(x), logits, rtol=1e-5, atol=1e-5)
    back = module_of(head, module)
    np.testing.assert_allclose(samples(back, features)[1], logits, rtol=1e-4, atol=1e-4)


def test_an_activation_of_equal_triples_changes_no_layer():
    module = nn.Sequential(nn.Linear(4, 3), Quadratic(3, square=2.0), nn.Linear(3, 2))
    head = head_of(module)
    assert torch.equal(head.hidden_bias, module[0].bias.double())
    assert torch.equal(head.output_bias, module[2].bias.double())
    assert head.square.item() == pytest.approx(2.0)


def test_a_network_comes_with_samples_of_its_owner():
    network = he_network(nn.Sequential(nn.Flatten(), nn.Linear(4, 2)), input_shape=(1, 2, 2))
    with pytest.raises(ModelError, match=r"NetworkHead\(network, classes, samples\)"):
        head_of(network)
