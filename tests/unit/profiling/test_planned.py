"""A plan in full, as data and as tables."""

import io

import msgspec
import pytest
from rich.console import Console

from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec, HeadBounds
from securefair.ckks.security import MAX_LOG_QP
from securefair.exchange.compile import bounds_by_shape
from securefair.model.heads import build_head
from securefair.model.networks import fold, small_network
from securefair.profiling.plan_tables import plan_table, shape
from securefair.profiling.planned import report_plan

pytestmark = pytest.mark.slow

EXCHANGES = [
    {"release": "logits"},
    {"release": "projection"},
    {"release": "projection", "basis": "student", "q": 4},
    {"release": "loss"},
    {"release": "class_sums", "hidden": 0},
    {"release": "projection", "features": 65},  # two in a ciphertext
]


@pytest.mark.parametrize("changes", EXCHANGES, ids=str)
def test_a_report_repeats_the_plan(spec, changes):
    plan = plan_exchange(spec(**changes))
    report = report_plan(plan)
    assert report.primes == plan.params.primes
    assert report.log_qp <= report.log_qp_cap == MAX_LOG_QP[report.ring_degree]
    assert report.bytes.answer == plan.answer_bytes
    assert report.bytes.up_per_sample * 40 == pytest.approx(
        plan.feature_bytes + plan.basis_bytes + plan.query_bytes
    )
    assert ("relinearisation" in report.evaluation_keys) == bool(plan.relinearization_limbs)
    assert ("conjugation" in report.evaluation_keys) == bool(plan.galois_limbs)
    assert report.error_bound == plan.error_bound
    assert report.teacher.multiply_adds == sum(s.work.multiply_adds for s in report.steps)
    assert msgspec.json.decode(msgspec.json.encode(report), type=type(report)) == report


@pytest.mark.parametrize("changes", EXCHANGES, ids=str)
def test_no_step_overflows_and_errors_only_grow(spec, changes):
    """Along one block; factors arrive beside the features."""
    steps = report_plan(plan_exchange(spec(**changes))).steps
    assert all(step.spare_bits >= 0 for step in steps)
    assert steps[-1].error >= steps[0].error


def test_pairs_are_encrypted_together_and_conjugated_once_a_unit(spec):
    plan = plan_exchange(spec(release="logits", features=65), coefficients=False)
    report = report_plan(plan)
    assert plan.schedule.packing == "pairs"
    assert report.encryptions == 33
    assert report.evaluation_keys == ("relinearisation", "conjugation")
    (conjugate,) = [step for step in report.steps if step.stage == "conjugate"]
    assert conjugate.ciphertexts == plan.spec.hidden


def test_monomials_need_neither_a_key_nor_a_square(spec):
    report = report_plan(plan_exchange(spec(release="logits")))
    assert (report.packing, report.evaluation_keys) == ("monomials", ())
    assert report.places >= report.spec.samples
    assert [step.stage for step in report.steps][:2] == ["receive", "forms"]
    assert report.steps[1].times == report.spec.classes


@pytest.mark.parametrize("hidden", [0, 3])
def test_parameters_are_counted_as_the_head_counts_them(spec, hidden):
    asked = spec(hidden=hidden)
    kind = "quadratic" if hidden else "linear"
    head = build_head(kind, asked.features, hidden, asked.classes, 0)
    assert asked.parameters == head.parameter_count


def test_disclosure_is_told_with_its_disclosure_bounds(spec):
    told = report_plan(plan_exchange(spec(q=8))).disclosure
    assert (told.numbers, told.all_logits) == (8 * 2, 40 * 2)


@pytest.mark.parametrize("changes", EXCHANGES, ids=str)
def test_tables_fit_eighty_columns(spec, changes):
    console = Console(file=io.StringIO(), width=80)
    console.print(plan_table(report_plan(plan_exchange(spec(**changes)))))
    text = console.file.getvalue()
    assert "\u2026" not in text
    assert "head's parameters" in text
    assert ("Query" in text) == (changes["release"] in ("loss", "class_sums"))
    assert ("Basis, once" in text) == (changes.get("basis") == "student")


def test_a_network_counts_the_products_there_are():
    """A spec tells neither kernels nor how often they are used, so nothing of parameters."""
    layer_bounds = bounds_by_shape(fold(small_network("digits-8", 10, seed=0)), weight_bits=12)
    spec = ExchangeSpec(
        features=64,
        hidden=0,
        classes=10,
        samples=100,
        q=32,
        bounds=HeadBounds(logit=layer_bounds[-1].bound),
        network=layer_bounds,
    )
    plan = plan_exchange(spec)
    report = report_plan(plan)
    stages = {step.stage: step for step in report.steps}
    assert {"linear1", "square", "linear2"} <= stages.keys()
    first, row = stages["linear1"], 2 * plan.params.limbs * plan.params.ring_degree
    assert first.work.multiply_adds == layer_bounds[0].multiply_adds * row
    assert layer_bounds[0].multiply_adds == 6 * 22 * 22  # of 24 x 24 places, those on the image
    assert report.disclosure.model_parameters is None
    assert "64 -> 96 -> 10" in shape(spec)
