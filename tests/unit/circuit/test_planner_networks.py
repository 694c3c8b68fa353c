import msgspec
import numpy as np
import pytest

from securefair.circuit import planner
from securefair.circuit.packings import alone
from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec, HeadBounds, LayerBounds
from securefair.ckks import rules
from securefair.ckks.security import MAX_LOG_QP
from securefair.errors import PlanError


def bounds(outputs, *, fan_in, summed=0, bound=2.0, **changes):
    return LayerBounds(
        **{
            "outputs": outputs,
            "summed": summed,
            "log2_scale": 8,
            "max_integer": 256,
            "l1": 2.0,
            "l2": 0.5,
            "bound": bound,
            "multiply_adds": outputs * fan_in,
            **changes,
        }
    )


def spec_of(*maps, **changes):
    return ExchangeSpec(
        **{
            "features": 784,
            "hidden": 0,
            "classes": maps[-1].outputs,
            "samples": 8192,
            "release": "logits",
            "precision": 2.0**-8,
            "bounds": HeadBounds(feature=3.0, logit=maps[-1].bound),
            "network": maps,
            **changes,
        }
    )


def digits(**changes):
    """A network for digits: two squares, a pool after the first."""
    return spec_of(
        bounds(1176, fan_in=25, summed=4),
        bounds(32, fan_in=294, summed=1),
        bounds(10, fan_in=32, bound=32.0),
        **changes,
    )


def chain(squares, **changes):
    """Dense maps with squares between them."""
    maps = [bounds(8, fan_in=8, summed=1, l1=8.0) for _ in range(squares)]
    return spec_of(*maps, bounds(4, fan_in=8, bound=8.0), features=8, samples=100, **changes)


@pytest.mark.parametrize("release", ["logits", "projection", "loss", "class_sums"])
def test_a_plan_grants_its_spec_at_full_security(release):
    plan = plan_exchange(digits(release=release))
    params, schedule = plan.params, plan.schedule
    assert params.log_qp <= MAX_LOG_QP[params.ring_degree]
    assert plan.relative_error <= plan.spec.precision
    assert len(schedule.stages) == 3
    assert plan.relinearization_limbs
    for meta in plan.released:
        assert meta.limbs == schedule.answer_limbs
        assert meta.bound * 2**meta.log2_scale + rules.TAIL * meta.noise < 2 ** (meta.log_q - 1)


def test_limbs_fall_from_square_to_square():
    schedule = plan_exchange(digits()).schedule
    limbs = [s.limbs for stage in schedule.stages for s in (stage.linear, stage.square) if s]
    assert limbs == sorted(limbs, reverse=True)
    assert limbs[0] == len(schedule.ckks.limb_bits)
    assert limbs[-1] < limbs[0]


def test_keys_are_switched_once_a_square_and_where_it_is_cheaper():
    """294 pooled values are read by 32 outputs: after the map there is less to switch."""
    stages = plan_exchange(digits()).schedule.stages
    assert not stages[1].linear.relinearize
    assert stages[1].square.relinearize
    # The same before a map that makes more than it reads, and is expensive on three polynomials.
    wide = spec_of(
        bounds(1176, fan_in=25, summed=4),
        bounds(2048, fan_in=294, summed=4),
        bounds(10, fan_in=512, bound=32.0),
    )
    stages = plan_exchange(wide).schedule.stages
    assert stages[1].linear.relinearize
    assert not stages[1].square.relinearize


@pytest.mark.parametrize("release", ["loss", "class_sums"])
def test_few_samples_have_a_mean_over_slots_too(release):
    """Of 8192 slots 100 are used: the product must be 82 times as precise, and has the limbs."""
    plan = plan_exchange(chain(1, release=release, precision=2.0**-12))
    assert plan.relative_error <= 2.0**-12
    assert plan.params.limbs <= 9


def test_one_square_and_a_projection_need_no_evaluation_key():
    plan = plan_exchange(chain(1, release="projection", q=8))
    assert not plan.relinearization_limbs
    assert plan.evaluation_key_bytes == 0


def test_the_deeper_the_longer():
    sizes = [plan_exchange(chain(squares)).params.log_qp for squares in (1, 2, 3)]
    assert sizes == sorted(set(sizes))


@pytest.mark.parametrize("precision", [2.0**-6, 2.0**-8, 2.0**-12])
def test_the_planner_keeps_the_precision(precision):
    plan = plan_exchange(chain(2, precision=precision))
    assert plan.relative_error <= precision


def test_more_flooding_costs_modulus():
    weak, strong = (plan_exchange(chain(2, flooding_bits=bits)) for bits in (30, 45))
    assert weak.params.log_qp < strong.params.log_qp


def test_no_smaller_ring_would_do(monkeypatch):
    chosen = plan_exchange(digits()).params.ring_degree
    smaller = {n: cap for n, cap in MAX_LOG_QP.items() if n < chosen}
    assert smaller
    monkeypatch.setattr(alone, "MAX_LOG_QP", smaller)
    with pytest.raises(PlanError):
        planner._search(digits())


def test_targets_between_those_far_apart_spare_a_larger_ring():
    """Of the targets far apart none grants in this ring: too rough, or the next no longer fits."""
    photographs = spec_of(
        bounds(24576, fan_in=26, summed=4, log2_scale=13, max_integer=1024, l1=2.02, l2=0.448),
        bounds(12288, fan_in=198, summed=4, log2_scale=11, max_integer=1024, l1=13.6, l2=2.07),
        bounds(6144, fan_in=363, summed=4, log2_scale=11, max_integer=1024, l1=33.9, l2=2.28),
        bounds(10, fan_in=1536, bound=186.0, log2_scale=5, max_integer=1024, l1=3562.0, l2=150.7),
        features=3072,
        precision=2.0**-9,
    )
    plan = plan_exchange(photographs)
    assert plan.params.ring_degree == 16384
    assert plan.relative_error <= 2.0**-9


def test_a_network_that_is_too_deep_is_refused_with_the_reason():
    with pytest.raises(PlanError, match="20 squares") as caught:
        plan_exchange(chain(20))
    assert "fewer squares" in str(caught.value)


def test_a_refusal_names_the_nearest_precision_and_it_is_granted(monkeypatch):
    rings = {n: cap for n, cap in MAX_LOG_QP.items() if n <= 8192}
    monkeypatch.setattr(alone, "MAX_LOG_QP", rings)
    spec = chain(1, precision=2.0**-39)
    with pytest.raises(PlanError, match="precision") as caught:
        planner._search(spec)
    nearest = float(caught.value.expected.removeprefix("at least "))
    assert nearest > spec.precision
    granted = msgspec.structs.replace(spec, precision=min(0.5, nearest * 1.01))
    assert planner._search(granted).relative_error <= granted.precision


def test_the_digest_changes_with_every_bound():
    base = chain(1)
    first, last = base.network
    changed = {"log2_scale": 9, "max_integer": 255, "l1": 7.0, "l2": 0.6, "bound": 1.5}
    specs = [base]
    for name, value in changed.items():
        other = msgspec.structs.replace(first, **{name: value})
        specs.append(msgspec.structs.replace(base, network=(other, last)))
    digests = [plan_exchange(spec).digest for spec in specs]
    assert len(set(digests)) == len(digests)


BAD = {
    "hidden": (lambda w: msgspec.structs.replace(w, hidden=4), "hidden"),
    "logits": (lambda w: msgspec.structs.replace(w, classes=3), "ends with the logits"),
    "bound": (
        lambda w: msgspec.structs.replace(w, bounds=HeadBounds(logit=9.0)),
        "ends with the logits",
    ),
    "squared": (
        lambda w: msgspec.structs.replace(w, network=w.network[:1], classes=8),
        "ends with the logits",
    ),
    "sums": (lambda w: _first(w, summed=3), "equal sums"),
    "scale": (lambda w: _first(w, log2_scale=-1), "log2_scale"),
    "weights": (lambda w: _first(w, max_integer=1 << 16), "max_integer"),
    "norm": (lambda w: _first(w, l2=float("nan")), "l2"),
    "outputs": (lambda w: _first(w, outputs=0), "outputs"),
}


def _first(spec, **changes):
    first, *others = spec.network
    return msgspec.structs.replace(
        spec, network=(msgspec.structs.replace(first, **changes), *others)
    )


@pytest.mark.parametrize(("change", "problem"), BAD.values(), ids=BAD)
def test_networks_that_cannot_be_are_refused(change, problem):
    with pytest.raises(PlanError, match=problem):
        plan_exchange(change(chain(1)))


def test_both_sides_plan_alike():
    first, second = planner._search(chain(2)), planner._search(chain(2))
    assert first.schedule == second.schedule
    assert first.digest == second.digest
    assert np.isfinite(first.error_bound)


def test_heads_and_networks_of_the_same_bounds_have_the_same_plan():
    """One planner: how a model is described makes no difference to what it costs."""
    head = ExchangeSpec(features=8, classes=3, samples=100, hidden=4, q=8)
    network = msgspec.structs.replace(head, hidden=0, network=head.layers)
    whole = [plan_exchange(spec, coefficients=False).schedule for spec in (network, head)]
    assert whole[0] == whole[1]


def test_the_whole_scale_is_kept_while_it_is_not_dearer():
    """Through one square nothing is rescaled; through two it is where that takes less time."""
    one, two = (plan_exchange(chain(squares)).schedule for squares in (1, 2))
    assert {stage.linear.limbs for stage in one.stages} == {len(one.ckks.limb_bits)}
    assert two.stages[-1].linear.limbs < len(two.ckks.limb_bits)
