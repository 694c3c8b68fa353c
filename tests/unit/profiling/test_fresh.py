"""Profiles of fresh processes: the same exchange, each side on its own."""

import pytest

from securefair.circuit.planner import plan_exchange
from securefair.errors import BackendUnavailableError, ConfigError
from securefair.profiling import fresh, head
from securefair.profiling.head import profile_head

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("release", ["logits", "loss", "projection"])
def test_a_fresh_profile_states_what_a_profile_states(spec, limits, monkeypatch, release):
    monkeypatch.setattr(head, "measure_limits", lambda: limits)
    asked = spec(release=release)
    plan = plan_exchange(asked)
    found = profile_head(asked, threads=1, repeats=1)
    assert found.fresh
    assert found.bytes_down == plan.answer_bytes
    assert found.upload_bytes_per_sample == plan.feature_bytes / asked.samples
    assert found.bytes_up_per_sample == (plan.feature_bytes + plan.query_bytes) / asked.samples
    assert 0 < found.key_bytes <= plan.key_bytes
    assert 0 < found.max_abs_error <= found.error_bound
    assert found.peak_rss_mb > 0
    assert found.student_peak_rss_mb > 0
    names = {stage.stage for stage in found.stages}
    evaluated = "layers" if plan.schedule.packing != "monomials" else "forms"
    assert {"encode", "zeros_ahead", "receive", evaluated, "sanitise", "open"} <= names


def test_all_answers_of_a_teacher_are_compared(spec):
    done = fresh.fresh_exchanges(plan_exchange(spec()), backend="clear", threads=1, repeats=1)
    assert len(done.released) == 2  # its first and its last
    assert (done.released[0] == done.released[1]).all()


def test_an_engine_that_stays_in_its_process_is_measured_warm_or_not_at_all(spec, monkeypatch):
    monkeypatch.setattr(head.get_backend("clear").__class__, "portable", False)
    with pytest.raises(ConfigError, match="--warm"):
        profile_head(spec(), backend="clear", threads=1, repeats=1)


def test_a_side_that_ends_early_is_an_error_and_no_hang(spec, monkeypatch):
    monkeypatch.setattr(fresh, "SIDE", "securefair.no_such_module")
    with pytest.raises(BackendUnavailableError, match="ended early"):
        fresh.fresh_exchanges(plan_exchange(spec()), backend="clear", threads=1, repeats=1)


def test_a_profile_computes_on_the_device_that_it_names(spec, limits, monkeypatch):
    monkeypatch.setattr(head, "measure_limits", lambda: limits)
    found = profile_head(spec(), device="cpu-kernels", threads=1, repeats=1)
    assert (found.device, found.fresh) == ("cpu-kernels", True)
    assert 0 < found.max_abs_error <= found.error_bound
    with pytest.raises(ConfigError, match="processor only"):
        profile_head(spec(), backend="seal", device="cpu-kernels", threads=1, repeats=1)
