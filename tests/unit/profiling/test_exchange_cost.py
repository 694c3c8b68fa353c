import numpy as np
import pytest
from torch import nn

from securefair.circuit.planner import plan_exchange
from securefair.errors import ConfigError, ModelError
from securefair.model.heads import build_head
from securefair.model.networks import he_network
from securefair.model.quadratic import Quadratic
from securefair.profiling.dry_exchange import synthetic
from securefair.profiling.exchange_cost import PreparedExchange, measurable, spec_for

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", ["linear", "quadratic"])
@pytest.mark.parametrize("release", ["logits", "projection", "class_sums", "loss"])
def test_figures_are_those_of_the_plan(kind, release):
    head = build_head(kind, 3, 2, 2, seed=0)
    spec = spec_for(head, 30, release, q=4)
    plan = plan_exchange(spec)

    cost = PreparedExchange(spec, head, backend="rns").cost(repeats=1)

    assert (spec.features, spec.hidden, spec.classes) == (3, 2 if kind == "quadratic" else 0, 2)
    assert (cost.ring_degree, cost.limbs) == (plan.params.ring_degree, plan.params.limbs)
    assert cost.feature_bytes == plan.feature_bytes
    assert cost.query_bytes == plan.query_bytes
    assert cost.answer_bytes == plan.answer_bytes
    assert 0 < cost.key_bytes <= plan.key_bytes
    assert cost.bytes == cost.key_bytes + cost.feature_bytes + cost.query_bytes + cost.answer_bytes
    assert cost.expansion == cost.feature_bytes / (30 * 3 * 8)
    assert (cost.slots_used, cost.slots_available) == (30, plan.places)
    assert cost.level == plan.schedule.answer_limbs - 1
    assert 0 < cost.error < cost.error_bound
    assert cost.seconds == cost.receive_seconds + cost.answer_seconds > 0


def test_the_error_of_rounded_weights_is_told_beside_that_of_encryption():
    """Asked for a millionth of the range, a user's logits are still off by the rounding."""
    head = build_head("quadratic", 8, 4, 2, seed=0)
    spec = spec_for(head, 30, "logits", precision=1e-6)
    exchange = PreparedExchange(spec, head, backend="rns")
    cost = exchange.cost(repeats=1)
    features = synthetic(exchange.plan).samples.features
    opened = exchange.open(exchange.serve())

    assert cost.error < cost.error_bound < cost.rounding_error / 10
    seen = np.abs(opened - head.logits(features)).max()
    assert abs(seen - cost.rounding_error) <= cost.error_bound
    finer = PreparedExchange(spec_for(head, 30, "logits", weight_bits=14), head, backend="clear")
    assert finer.cost(repeats=1).rounding_error < cost.rounding_error / 2


def test_the_given_head_is_the_one_that_answers():
    heads = [build_head("linear", 3, 0, 2, seed) for seed in (0, 1)]
    spec = spec_for(heads[0], 30, "logits")
    released = []
    for head in heads:
        exchange = PreparedExchange(spec, head, backend="clear")
        released.append(exchange.open(exchange.serve()))

    assert abs(released[0] - released[1]).max() > 0.01


def test_a_head_of_another_size_is_refused():
    spec = spec_for(build_head("linear", 3, 0, 2, seed=0), 30, "logits")
    with pytest.raises(ModelError, match="does not fit what was agreed"):
        PreparedExchange(spec, build_head("linear", 4, 0, 2, seed=0), backend="clear")


def test_a_network_of_ones_own_is_measured():
    layers = nn.Sequential(
        nn.Conv2d(1, 2, 3, padding=1), nn.AvgPool2d(2), Quadratic(2), nn.Flatten(), nn.Linear(8, 2)
    )
    network = measurable(he_network(layers, (1, 4, 4)))
    spec = spec_for(network, 16, "logits")
    assert len(spec.network) == 2
    cost = PreparedExchange(spec, network, backend="clear").cost(repeats=1)
    assert cost.slots_used == 16
    assert cost.error == 0


def test_a_module_with_convolutions_alone_says_what_to_do():
    with pytest.raises(ModelError) as refused:
        measurable(nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 2)))
    assert "he_network" in str(refused.value)


def test_a_field_that_no_spec_has_is_refused_by_name():
    head = build_head("linear", 3, 0, 2, seed=0)
    with pytest.raises(ConfigError, match=r"^presicion: .*Did you mean precision"):
        spec_for(head, 30, "logits", presicion=1e-6)
    with pytest.raises(ConfigError, match=r"^foo: "):
        spec_for(head, 30, "logits", foo=3)
