"""Prices from synthetic measurements whose true prices are known."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import msgspec
import numpy as np
import pytest

from securefair.circuit.planner import ExchangePlan, plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.errors import ConfigError, DataError
from securefair.profiling.cost_model import (
    QUANTITIES,
    CostModel,
    answer_work,
    counts,
    load_model,
    upload_residues,
)
from securefair.profiling.estimate import estimate
from securefair.report import write_json
from securefair_lab.profiling.price_fit import fit_model

pytestmark = pytest.mark.slow

SIZES = [*product((500, 3000, 9000), (8, 40, 200))]


def plan_of(samples: int, features: int, **spec: object) -> ExchangePlan:
    settings = {"classes": 3, "hidden": 4, "release": "projection", "q": 16, **spec}
    return plan_exchange(ExchangeSpec(samples=samples, features=features, **settings))  # type: ignore[arg-type]


def measure(plan: ExchangePlan) -> dict[str, float]:
    """Prices: a second for one and for a million of everything else."""
    return {name: row[0] + sum(row[1:]) / 1e6 for name, row in counts(plan).items()}


@pytest.fixture(scope="module")
def model() -> CostModel:
    plans = [plan_of(*size) for size in SIZES]
    facts = {"machine": "a machine", "backend": "rns", "threads": 1}
    return fit_model(plans, [measure(plan) for plan in plans], **facts)  # type: ignore[arg-type]


def test_a_held_out_exchange_is_predicted(model: CostModel) -> None:
    plan = plan_of(7000, 100)

    for name, value in model.predict(plan).items():
        assert value == pytest.approx(measure(plan)[name], rel=1e-6)
    assert max(model.largest_error.values()) < 1e-6


def test_noise_moves_the_prediction_by_no_more(model: CostModel) -> None:
    rng = np.random.default_rng(0)
    plans = [plan_of(*size) for size in SIZES]
    noisy = [{k: v * rng.uniform(0.9, 1.1) for k, v in measure(plan).items()} for plan in plans]
    found = fit_model(plans, noisy, machine="", backend="rns", threads=1)
    plan = plan_of(7000, 100)

    for name, value in found.predict(plan).items():
        assert value == pytest.approx(measure(plan)[name], rel=0.15)
    assert all(price >= 0 for row in found.prices.values() for price in row)


def test_counts_grow_with_what_is_sent() -> None:
    small, large = plan_of(500, 12), plan_of(9000, 12)

    pairs, blocks = plan_of(500, 65), plan_of(8192, 65)
    for plan in (small, large, pairs, blocks):
        each = 2 * plan.params.limbs * plan.params.ring_degree
        assert upload_residues(plan) == each * plan.features.count * plan.blocks
    assert upload_residues(small) < upload_residues(large)
    assert upload_residues(pairs) < upload_residues(blocks)
    assert answer_work(large).multiply_adds > answer_work(small).multiply_adds
    assert counts(pairs)["key_seconds"][1] >= counts(small)["key_seconds"][1]
    assert set(counts(small)) == set(QUANTITIES)
    assert {name: len(row) for name, row in counts(small).items()} == QUANTITIES


def test_a_model_survives_its_file(model: CostModel, tmp_path: Path) -> None:
    path = write_json(tmp_path / "cost.json", model)

    assert load_model(path).predict(plan_of(500, 8)) == model.predict(plan_of(500, 8))


@pytest.mark.parametrize("change", [{"format": 99}, {"prices": {"key_seconds": (1.0,)}}])
def test_other_files_are_refused(
    model: CostModel, tmp_path: Path, change: dict[str, object]
) -> None:
    path = write_json(tmp_path / "cost.json", msgspec.structs.replace(model, **change))

    with pytest.raises(DataError, match=r"not a cost model.*with securefair-lab"):
        load_model(path)


@pytest.mark.parametrize(
    "change", [{"release": "logits"}, {"hidden": 5}, {"classes": 4}, {"q": 17}]
)
def test_a_model_speaks_of_its_own_kind_of_exchange(
    model: CostModel, change: dict[str, object]
) -> None:
    with pytest.raises(ConfigError, match=f"{next(iter(change))}.*with securefair-lab"):
        model.predict(plan_of(500, 8, **change))


def test_too_few_points_make_no_model() -> None:
    plans = [plan_of(500, 8)] * 3

    with pytest.raises(DataError, match="more measurements"):
        fit_model(plans, [measure(p) for p in plans], machine="", backend="rns", threads=1)


def test_an_estimate_adds_up_by_hand(model: CostModel) -> None:
    plan = plan_of(500, 8)
    price = model.predict(plan)

    found = estimate(plan, model, participants=4, rounds=10, forced_every=5, sharing=0.25)

    answers = 3 * (2 + 0.25 * 8)  # rounds 0 and 5 are forced
    assert found.answers == answers
    assert found.teacher_hours * 3600 == pytest.approx(
        3 * (price["import_seconds"] + price["receive_seconds"]) + answers * price["answer_seconds"]
    )
    assert found.hours == found.teacher_hours + found.student_hours
    assert found.gigabytes_up * 1e9 == 3 * (plan.key_bytes + plan.feature_bytes)
    assert found.gigabytes_down * 1e9 == answers * plan.answer_bytes
    two = estimate(plan, model, participants=2, rounds=10)
    assert (found.peak_gigabytes - two.peak_gigabytes) * 1e9 == pytest.approx(
        2 * 4 * upload_residues(plan)
    )


def test_queries_are_sent_to_teachers_that_decline() -> None:
    plan = plan_of(500, 8, release="loss")
    plans = [plan_of(*size, release="loss") for size in product((500, 600), (8, 16))]
    model = fit_model(plans, [measure(p) for p in plans], machine="", backend="rns", threads=1)
    once = plan.key_bytes + plan.feature_bytes

    some = estimate(plan, model, participants=2, rounds=10, sharing=0.1)
    none = estimate(plan, model, participants=2, rounds=10, sharing=0.0)

    assert some.gigabytes_up * 1e9 == pytest.approx(once + 10 * plan.query_bytes)
    assert none.gigabytes_up * 1e9 == pytest.approx(once + 2 * plan.query_bytes)


def test_predictions_are_encrypted_once_a_round() -> None:
    plan = plan_of(500, 8, release="loss")
    plans = [plan_of(*size, release="loss") for size in product((500, 600), (8, 16))]
    model = fit_model(plans, [measure(p) for p in plans], machine="", backend="rns", threads=1)
    query = model.predict(plan)["query_seconds"]

    two, five = (
        estimate(plan, model, participants=n, rounds=10, forced_every=5, sharing=0.0)
        for n in (2, 5)
    )

    assert query == pytest.approx(measure(plan)["query_seconds"])
    opened = model.predict(plan)["open_seconds"] * (five.answers - two.answers)
    assert (five.student_hours - two.student_hours) * 3600 == pytest.approx(opened)
    longer = estimate(plan, model, participants=2, rounds=20, forced_every=5, sharing=0.0)
    more = (longer.student_hours - two.student_hours) * 3600
    assert more == pytest.approx(2 * (query + model.predict(plan)["open_seconds"]))


def test_an_answer_to_predictions_expands_them_every_time() -> None:
    plan = plan_of(500, 8, release="loss")

    assert plan.factors is not None
    residues = 3 * plan.factors.limbs * plan.params.ring_degree
    assert answer_work(plan).expanded == residues
    assert answer_work(plan_of(500, 8)).expanded == 0


@pytest.mark.parametrize(
    ("samples", "features", "covered"),
    [(500, 8, True), (9000, 200, True), (499, 8, False), (500, 201, False)],
)
def test_a_model_knows_what_was_measured(
    model: CostModel, samples: int, features: int, covered: bool
) -> None:
    assert model.covers(plan_of(samples, features).spec) is covered


@pytest.mark.parametrize(
    "change", [{"participants": 1}, {"rounds": 0}, {"forced_every": 0}, {"sharing": 1.5}]
)
def test_an_estimate_checks_its_numbers(model: CostModel, change: dict[str, float]) -> None:
    numbers = {"participants": 2, "rounds": 1, **change}

    with pytest.raises(ConfigError, match=next(iter(change))):
        estimate(plan_of(500, 8), model, **numbers)  # type: ignore[arg-type]
