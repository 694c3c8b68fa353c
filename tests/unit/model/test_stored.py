import numpy as np
import pytest
import torch
from torch import nn

from securefair.errors import DataError, ModelError
from securefair.model.heads import build_head
from securefair.model.networks.builder import he_network
from securefair.model.networks.fold import fold
from securefair.model.probabilities import probabilities_of
from securefair.model.quadratic import Quadratic
from securefair.model.stored import (
    NamedNetwork,
    from_bytes,
    function_of,
    inputs_of,
    logits_of,
    to_bytes,
)
from securefair.model.transfer import Polynomial

RNG = np.random.default_rng(0)


def small_network():
    torch.manual_seed(0)
    layers = nn.Sequential(
        nn.Conv2d(1, 2, 3, stride=2, padding=1),
        Quadratic(2),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(8, 3),
    )
    return fold(he_network(layers.double().eval(), (1, 8, 8)))


def named():
    network = NamedNetwork("mlp-32", (5,), 3, np.zeros(0))
    return NamedNetwork("mlp-32", (5,), 3, RNG.normal(size=network.stacked().length))


FUNCTIONS = {
    "linear": lambda: function_of(build_head("linear", 5, 0, 2, 1)),
    "quadratic": lambda: function_of(build_head("quadratic", 5, 4, 3, 1)),
    "polynomial": lambda: Polynomial(RNG.normal(size=1), RNG.normal(size=(1, 5))),
    "of degree two": lambda: Polynomial(
        RNG.normal(size=3), RNG.normal(size=(3, 5)), np.ones((3, 5, 5))
    ),
    "network": small_network,
    "named network": named,
}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_what_is_read_computes_what_was_stored(kind):
    function = FUNCTIONS[kind]()
    stored = to_bytes(function)
    again = from_bytes(stored, where="here")
    samples = RNG.normal(size=(7, inputs_of(function)))
    assert np.array_equal(logits_of(function, samples), logits_of(again, samples))
    assert to_bytes(again) == stored
    assert logits_of(again, samples[:0]).shape[0] == 0


def test_a_head_computes_what_it_computed_in_training():
    head = build_head("quadratic", 5, 4, 3, 1)
    samples = RNG.normal(size=(7, 5))
    assert np.allclose(logits_of(function_of(head), samples), head.logits(samples), atol=1e-12)


def test_one_logit_is_two_probabilities():
    assert np.allclose(probabilities_of(np.array([[0.0], [np.log(3)]])), [[0.5, 0.5], [0.25, 0.75]])
    assert np.allclose(probabilities_of(np.zeros((1, 3))), 1 / 3)


@pytest.mark.parametrize("harm", [b"", b"{}", b"\xff" * 40, b"\x08\0\0\0\0\0\0\0{}      "])
def test_other_bytes_are_no_model(harm):
    with pytest.raises(DataError, match=r"here: these are no weights"):
        from_bytes(harm, where="here")


def test_every_cut_and_every_flipped_byte_is_refused_or_gives_finite_numbers():
    stored = to_bytes(FUNCTIONS["polynomial"]())
    for at in range(0, len(stored), 7):
        flipped = stored[:at] + bytes([stored[at] ^ 0x5A]) + stored[at + 1 :]
        for harmed in (stored[:at], flipped):
            try:
                function = from_bytes(harmed, where="here")
            except DataError:
                continue
            assert np.isfinite(function.constant).all()


def test_another_version_is_named():
    stored = to_bytes(FUNCTIONS["linear"]()).replace(b'\\"format\\": 1', b'\\"format\\": 7')
    with pytest.raises(DataError, match=r"another version .*found 7, expected 1"):
        from_bytes(stored, where="here")


def test_features_must_fit():
    with pytest.raises(ModelError, match="do not fit"):
        logits_of(FUNCTIONS["linear"](), np.zeros((3, 4)))
