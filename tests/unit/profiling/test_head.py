"""Profiles of whole exchanges: what must hold whatever the clock says."""

import io

import msgspec
import pytest
from rich.console import Console

from securefair.circuit.planner import plan_exchange
from securefair.ckks.threads import cores
from securefair.errors import ConfigError
from securefair.profiling.head import AFTER, BEFORE, UNCOUNTED, profile_head, profile_plan
from securefair.profiling.tables import profile_table

pytestmark = pytest.mark.slow


def profiled(spec, limits, backend="rns"):
    return profile_plan(plan_exchange(spec), limits, backend=backend, threads=1, repeats=1)


def test_a_profile_states_bytes_error_and_parameters(spec, limits):
    asked = spec(release="logits")
    plan = plan_exchange(asked)
    found = profiled(asked, limits)
    assert found.ring_degree == plan.params.ring_degree
    assert found.log_qp == plan.params.log_qp
    assert found.bytes_down == plan.answer_bytes
    assert found.upload_bytes_per_sample == plan.feature_bytes / asked.samples
    assert 0 < found.key_bytes <= plan.key_bytes
    assert 0 < found.max_abs_error <= found.error_bound == plan.error_bound
    assert found.error_over_range == pytest.approx(found.max_abs_error / (2 * asked.bounds.logit))
    assert 0 < found.rounding_error < 0.1
    assert found.threads == 1


def test_the_teachers_stages_add_up_to_the_server(spec, limits):
    found = profiled(spec(release="loss"), limits, "clear")
    own = [
        stage.ms
        for stage in found.stages
        if stage.side == "teacher" and stage.stage not in UNCOUNTED
    ]
    assert sum(own) == pytest.approx(found.server_ms_per_sample * found.spec.samples)
    assert found.answer_ms_per_sample <= found.server_ms_per_sample


def test_the_stages_follow_the_flow(spec, limits):
    found = profiled(spec(), limits)
    names = [stage.stage for stage in found.stages]
    assert names == [
        *("keys", "pack", "encode", "encrypt_zeros", "prepare"),
        *("load_keys", "zeros_ahead", "receive", "compile", "forms", "join", "rescale"),
        *("sanitise", "extract", "other", "open", "reconstruct"),
    ]
    assert {s.stage for s in found.stages if s.side == "student"} <= {*BEFORE, *AFTER}


def test_distances_follow_from_work_and_limits(spec, limits):
    found = profiled(spec(), limits, "clear")
    distance = found.distance
    seconds = distance.multiply_adds / limits.multiply_adds
    assert distance.arithmetic_limit_ms_per_sample == pytest.approx(seconds / 40 * 1e3)
    assert distance.over_arithmetic_limit == pytest.approx(
        found.server_ms_per_sample / distance.arithmetic_limit_ms_per_sample
    )
    counted = [s.arithmetic_limit_ms for s in found.stages if s.arithmetic_limit_ms is not None]
    assert sum(counted) == pytest.approx(seconds * 1e3)


def test_without_encryption_there_is_no_error(spec, limits):
    for release in ("projection", "class_sums"):
        found = profiled(spec(release=release), limits, "clear")
        assert found.max_abs_error == 0


def test_more_threads_than_cores_are_refused(spec):
    with pytest.raises(ConfigError, match="threads"):
        profile_head(spec(), threads=cores() + 1)


def test_it_prints_and_survives_json(spec, limits):
    found = profiled(spec(release="loss"), limits, "clear")
    assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)) == found
    console = Console(file=io.StringIO(), width=80)
    console.print(profile_table(found))
    text = console.file.getvalue()
    for expected in ("Products", "Relinearise", "times the limits", "loss"):
        assert expected in " ".join(text.split())
    assert "\u2026" not in text  # nothing was cut off
