import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from securefair.errors import ModelError
from securefair.model.folded import activation_ranges, dense_network
from securefair.model.heads import LinearHead, QuadraticHead, build_head
from securefair.model.linear_maps import DenseMap
from securefair.model.quantize import quantize
from securefair.model.squares import SQUARE_FLOOR

sizes = st.integers(1, 6)
seeds = st.integers(0, 2**63 - 1)


@given(features=sizes, hidden=sizes, classes=st.integers(2, 5), seed=seeds)
def test_folding_keeps_the_function(features, hidden, classes, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 3, (7, features))
    for kind in ("linear", "quadratic"):
        head = build_head(kind, features, hidden, classes, seed)
        with torch.no_grad():
            for parameter in head.parameters():
                parameter += torch.from_numpy(rng.normal(0, 0.7, tuple(parameter.shape)))
        expected = head.logits(x)
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(head.folded().logits(x), expected, atol=1e-11 * scale)


@given(features=sizes, hidden=sizes, classes=st.integers(2, 5), seed=seeds)
def test_folding_completes_the_square_of_every_unit(features, hidden, classes, seed):
    """a u^2 + b u = (sqrt(a) (u + b / 2a))^2 - b^2 / 4a, with u = W1 x + b1."""
    rng = np.random.default_rng(seed)
    head = build_head("quadratic", features, hidden, classes, seed)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter += torch.from_numpy(rng.normal(0, 0.7, tuple(parameter.shape)))
    a, b, w1, b1, w2, b2 = (
        values.detach().numpy()
        for values in (
            head.square,
            head.slope,
            head.hidden_weights,
            head.hidden_bias,
            head.output_weights,
            head.output_bias,
        )
    )
    first, second = head.folded().weighted
    for found, expected in (
        (first.weights, np.sqrt(a) * w1),
        (first.bias, np.sqrt(a) * (b1 + b / (2 * a))),
        (second.weights, w2),
        (second.bias, b2 - w2.sum(axis=1) * b * b / (4 * a)),
    ):
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * scale)


def test_a_folded_head_stays_when_the_head_is_trained_further():
    for kind in ("linear", "quadratic"):
        head, x = build_head(kind, 3, 4, 2, seed=1), np.ones((1, 3))
        folded, before = head.folded(), head.logits(x)
        with torch.no_grad():
            for parameter in head.parameters():
                parameter += 1
        np.testing.assert_allclose(folded.logits(x), before, atol=1e-12)


@pytest.mark.parametrize("kind", ["linear", "quadratic"])
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_a_head_that_diverged_is_refused(kind, value):
    head = build_head(kind, 3, 4, 2, seed=1)
    for parameter in (head.output_weights, head.output_bias):
        parameter.data[0] = value
        with pytest.raises(ModelError, match="NaN or an infinite"):
            head.folded()
        parameter.data[0] = 0.0


def test_folding_survives_a_coefficient_of_the_square_at_its_floor():
    head = build_head("quadratic", 3, 4, 2, seed=1)
    with torch.no_grad():
        head.square_log_gain.fill_(-50.0)
        head.slope.fill_(-2.0)
    assert head.square.item() == pytest.approx(SQUARE_FLOOR)
    x = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(head.folded().logits(x), head.logits(x), atol=1e-9)


def test_the_activation_starts_as_documented():
    head = build_head("quadratic", 3, 4, 2, seed=1)
    assert (head.square.item(), head.slope.item()) == (0.25, 0.5)


def test_the_same_seed_gives_the_same_head_and_another_seed_another():
    x = np.ones((1, 5))
    first, again, other = (build_head("quadratic", 5, 8, 3, seed) for seed in (4, 4, 5))
    assert (first.logits(x) == again.logits(x)).all()
    assert (first.logits(x) != other.logits(x)).any()


def test_building_a_head_leaves_the_global_generator_alone():
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    build_head("quadratic", 5, 8, 3, seed=9)
    assert torch.equal(before, torch.random.get_rng_state())


def test_parameter_counts():
    assert build_head("linear", 22, 16, 2, 0).parameter_count == 2 * 22 + 2
    assert build_head("quadratic", 22, 16, 2, 0).parameter_count == 16 * 23 + 2 + 2 * 17


def test_parameters_are_float64_and_inside_the_documented_bound():
    head = build_head("quadratic", 25, 16, 3, 0)
    assert isinstance(head, QuadraticHead)
    assert all(parameter.dtype == torch.float64 for parameter in head.parameters())
    assert 0.15 < head.hidden_weights.abs().max().item() <= 0.2  # 1/sqrt(25)
    assert 0.15 < head.output_weights.abs().max().item() <= 0.25  # 1/sqrt(16)


@pytest.mark.parametrize(
    ("kind", "features", "hidden", "classes", "where"),
    [
        ("linear", 0, 1, 2, "features"),
        ("linear", 1, 1, 1, "classes"),
        ("quadratic", 1, 0, 2, "hidden"),
        ("cubic", 1, 1, 2, "kind"),
    ],
)
def test_impossible_heads_are_refused_by_name(kind, features, hidden, classes, where):
    with pytest.raises(ModelError) as error:
        build_head(kind, features, hidden, classes, 0)
    assert error.value.where == where


@pytest.mark.parametrize("shape", [(5,), (5, 4), (2, 3, 1)])
def test_features_of_the_wrong_shape_are_refused(shape):
    with pytest.raises(ModelError, match="do not fit the head"):
        build_head("linear", 3, 1, 2, 0).logits(np.zeros(shape))


def test_a_linear_head_computes_what_it_says():
    head = build_head("linear", 2, 1, 2, 0)
    assert isinstance(head, LinearHead)
    with torch.no_grad():
        head.output_weights.copy_(torch.tensor([[1.0, 2.0], [0.0, -1.0]]))
        head.output_bias.copy_(torch.tensor([0.5, 0.0]))
    np.testing.assert_array_equal(head.logits(np.array([[3.0, 4.0]])), [[11.5, -4.0]])


def test_activation_ranges_of_a_head_computed_by_hand():
    head = dense_network(
        DenseMap(np.array([[1.0], [-2.0]]), np.array([0.0, 1.0])),
        DenseMap(np.array([[1.0, 1.0]]), np.array([-1.0])),
    )
    ranges = activation_ranges(head, np.array([[1.0], [2.0]]))
    # dense 1: (1, -1), (2, -3); squares: (1, 1), (4, 9); dense 2: 1, 12
    assert [r.stage for r in ranges] == ["input", "dense 1", "square 1", "dense 2"]
    assert [r.maximum for r in ranges] == [2.0, 3.0, 9.0, 12.0]
    expected = [(5 / 2) ** 0.5, (15 / 4) ** 0.5, (99 / 4) ** 0.5, (145 / 2) ** 0.5]
    assert [r.rms for r in ranges] == pytest.approx(expected)
    assert (head.features, head.classes) == (1, 1)


def test_folded_and_quantised_heads_print_their_widths_only():
    folded = build_head("quadratic", 5, 3, 2, seed=0).folded()

    assert repr(folded) == "FoldedNetwork(5 -> 3 -> 2, redacted)"
    assert repr(quantize(folded, 12)) == "QuantizedNetwork(5 -> 3 -> 2, redacted)"


def test_layers_that_do_not_fit_or_are_not_finite_are_refused():
    ok = DenseMap(np.ones((2, 3)), np.zeros(2))
    with pytest.raises(ModelError, match="does not fit"):
        dense_network(ok, DenseMap(np.ones((2, 3)), np.zeros(2)))
    with pytest.raises(ModelError, match="no layers"):
        dense_network()
    with pytest.raises(ModelError, match="disagree"):
        DenseMap(np.ones((2, 3)), np.zeros(3))
    with pytest.raises(ModelError, match="NaN"):
        DenseMap(np.full((1, 1), np.nan), np.zeros(1))


def test_sizes_are_whole_and_parameters_are_drawn_by_a_generator():
    for wrong in ({"features": 4.0}, {"classes": 2.5}, {"hidden": 3.0}):
        sizes = {"features": 4, "hidden": 3, "classes": 2} | wrong
        with pytest.raises(ModelError, match=f"{next(iter(wrong))}.*whole number"):
            build_head("quadratic", seed=0, **sizes)
    with pytest.raises(ModelError, match=r"generator: .*torch.Generator"):
        LinearHead(4, 2, 0)
