"""Two features in a ciphertext: chosen where that costs less, and only there."""

import msgspec
import pytest

from securefair.circuit import planner
from securefair.circuit.certificate import certificate
from securefair.circuit.evaluation import evaluate
from securefair.circuit.packings import pairs
from securefair.circuit.packings.register import packing_of
from securefair.circuit.planner import plan_exchange, verified_plan
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.security import MAX_LOG_QP
from securefair.errors import PlanError

WIDE = ExchangeSpec(features=512, classes=10, samples=4096, hidden=64)
RELEASES = {
    "logits": {"release": "logits"},
    "public": {"release": "projection", "q": 16},
    "student": {"release": "projection", "basis": "student", "q": 16},
    "loss": {"release": "loss"},
    "class_sums": {"release": "class_sums"},
}


LARGER = ("student", "loss", "class_sums")
"""Releases of the larger ring: with many features they take seconds, in `make test` only."""

PLANNED = [
    pytest.param(
        features, release, marks=[pytest.mark.slow] * (features > 64 and release in LARGER)
    )
    for features in (64, 301)
    for release in RELEASES
]


def spec_of(**changes):
    return msgspec.structs.replace(WIDE, **changes)


@pytest.fixture
def single(monkeypatch):
    """The plan with one feature in a ciphertext."""

    def plan_of(spec):
        with monkeypatch.context() as patch:
            patch.setattr(pairs, "_may_pay", lambda *_: False)
            return planner._search(spec)

    return plan_of


@pytest.mark.parametrize("release", ["logits", "public"])
def test_pairs_halve_what_a_wide_head_uploads(release, single):
    spec = spec_of(**RELEASES[release])
    plan, other = plan_exchange(spec), single(spec)
    assert plan.schedule.packing == "pairs"
    assert other.schedule.packing == "alone"
    assert plan.params.ring_degree == other.params.ring_degree
    assert (plan.features.count, other.features.count) == (256, 512)
    assert 0.49 < plan.feature_bytes / other.feature_bytes < 0.53
    assert plan.galois_limbs
    assert plan.evaluation_key_bytes > other.evaluation_key_bytes
    # Squares and release stay as they are.
    assert plan.answer_bytes == other.answer_bytes
    assert plan.relinearization_limbs == other.relinearization_limbs


@pytest.mark.parametrize(("features", "release"), PLANNED)
def test_plans_in_pairs_are_certified_and_verified(release, features):
    spec = spec_of(features=features, samples=500, hidden=8, classes=3, **RELEASES[release])
    plan = plan_exchange(spec, coefficients=False)
    assert plan.schedule.packing == "pairs"
    assert plan.features.count == -(-features // 2)
    assert plan.params.log_qp <= MAX_LOG_QP[plan.params.ring_degree]
    assert [fact.name for fact in certificate(plan) if not fact.holds] == []
    assert {fact.name: fact for fact in certificate(plan)}[
        "the promised error covers it"
    ].margin_bits < 2.0**-15
    assert verified_plan(spec, plan.schedule).digest == plan.digest


@pytest.mark.parametrize(
    "changes", [{"features": 1}, {"features": 13, "hidden": 16}, {"features": 128, "hidden": 400}]
)
def test_few_features_or_many_units_stay_by_themselves(changes):
    """A key and a switch for every unit cost more than they save."""
    plan = plan_exchange(spec_of(classes=2, samples=200, **changes), coefficients=False)
    assert plan.schedule.packing == "alone"


def test_a_plan_in_pairs_is_another_plan():
    plan = plan_exchange(spec_of(release="logits"))
    alone = msgspec.structs.replace(plan.schedule, packing="alone")
    other = evaluate(plan.spec, alone)
    assert other is None or other.digest != plan.digest


def test_networks_are_not_packed_in_pairs(make_network):
    network, _ = make_network(squares=1)
    plan = plan_exchange(network.spec)
    assert plan.schedule.packing == "alone"
    with pytest.raises(PlanError, match="does not fit the spec"):
        verified_plan(network.spec, msgspec.structs.replace(plan.schedule, packing="pairs"))


def test_pairs_without_a_full_special_prime_are_not_granted():
    """Key switching noise falls with it: a stranger's schedule cannot leave it out."""
    spec = spec_of(release="projection", q=16)
    schedule = plan_exchange(spec).schedule
    small = msgspec.structs.replace(schedule.ckks, special_bits=17)
    with pytest.raises(PlanError):
        verified_plan(spec, msgspec.structs.replace(schedule, ckks=small))


def of_many_units(hidden, samples):
    return spec_of(
        features=4095, hidden=hidden, classes=2, release="logits", samples=samples, weight_bits=8
    )


def test_a_strangers_pairs_do_not_fill_the_teachers_memory():
    """Hidden units of pairs are held at once: 1.6 GB and more of a ring larger than needed."""
    spec = of_many_units(1000, 4096)
    plan = plan_exchange(spec)
    assert plan.schedule.packing == "pairs"
    assert packing_of(plan.schedule.packing).held_bytes(spec, plan.schedule) == 393_216_000
    assert verified_plan(spec, plan.schedule).digest == plan.digest
    large = msgspec.structs.replace(plan.schedule.ckks, ring_degree=32768)
    schedule = msgspec.structs.replace(plan.schedule, ckks=large)
    wide = msgspec.structs.replace(spec, samples=2 * 32768)
    with pytest.raises(PlanError, match="too much memory") as refused:
        verified_plan(wide, schedule)
    assert refused.value.where == "schedule"
    assert str(packing_of(schedule.packing).held_bytes(wide, schedule)) in str(refused.value)


def test_linear_heads_are_not_packed_in_pairs():
    spec = spec_of(hidden=0, release="logits", samples=8192)
    schedule = plan_exchange(spec, coefficients=False).schedule
    assert schedule.packing == "alone"
    with pytest.raises(PlanError, match="does not fit the spec"):
        verified_plan(spec, msgspec.structs.replace(schedule, packing="pairs"))
