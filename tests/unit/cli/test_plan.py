"""`securefair plan` and `securefair profile head` as a user meets them."""

import json

import pytest
from typer.testing import CliRunner

from securefair.cli import app
from securefair.profiling.measure import MachineLimits

pytestmark = pytest.mark.slow

SHAPE = ["--features", "6", "--hidden", "3", "--classes", "2", "--samples", "40"]
SMALL = [*SHAPE, "--q", "8"]


def call(*arguments):
    return CliRunner().invoke(app, [*arguments], env={"COLUMNS": "80", "NO_COLOR": "1"})


def test_a_plan_is_printed_as_tables():
    result = call("plan", *SMALL, "--release", "projection")
    assert result.exit_code == 0
    for expected in ("Ring degree", "4,096", "Sanitise", "Features, once", "head's parameters"):
        assert expected in result.stdout


def test_a_plan_is_printed_as_json():
    result = call("plan", *SHAPE, "--release", "logits", "--json")
    plan = json.loads(result.stdout)
    assert plan["spec"]["release"] == "logits"
    assert plan["packing"] == "monomials"
    assert plan["evaluation_keys"] == []
    assert plan["steps"][-1]["stage"] == "extract"
    assert plan["relative_error"] <= plan["spec"]["precision"]


@pytest.mark.parametrize(
    ("features", "packing", "keys"),
    [(6, "alone", ["relinearisation"]), (65, "pairs", ["relinearisation", "conjugation"])],
)
def test_a_plan_names_the_keys_that_a_teacher_needs(features, packing, keys):
    options = ("--features", str(features), "--hidden", "3", "--classes", "2", "--samples", "1500")
    plan = json.loads(call("plan", *options, "--release", "logits", "--json").stdout)
    assert plan["packing"] == packing
    assert plan["evaluation_keys"] == keys


def test_options_reach_the_plan():
    result = call(
        *("plan", *SMALL, "--release", "projection", "--basis", "student", "--flooding-bits", "31"),
        *("--precision", "0.01", "--feature-norm", "1.5", "--weight-bits", "9", "--json"),
    )
    spec = json.loads(result.stdout)["spec"]
    assert spec["weight_bits"] == 9
    assert (spec["basis"], spec["flooding_bits"], spec["precision"]) == ("student", 31, 0.01)
    assert spec["bounds"]["feature_norm"] == 1.5
    assert (spec["features"], spec["hidden"], spec["classes"], spec["samples"]) == (6, 3, 2, 40)


def test_an_impossible_spec_ends_with_the_reason_and_what_would_do():
    result = call("plan", *SMALL, "--precision", "1e-11")
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("securefair: precision:")
    assert "expected 'at least " in line


def test_an_unknown_release_ends_with_the_reason():
    result = call("plan", "--release", "weights")
    assert result.exit_code == 2
    assert result.stderr.startswith("securefair: release: unknown choice")


@pytest.mark.parametrize("command", [("plan",), ("profile", "head")])
@pytest.mark.parametrize("option", [("--q", "3"), ("--basis", "public")])
@pytest.mark.parametrize("release", ["loss", "class_sums", "logits"])
def test_an_option_of_projections_is_refused_for_another_release(command, option, release):
    result = call(*command, "--release", release, *option)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1] == (
        f"securefair: {option[0]}: only a projection has this option "
        f"(found '--release {release}', expected '--release projection')"
    )


def test_no_numbers_are_refused_and_do_not_become_the_default():
    result = call("plan", *SHAPE, "--q", "0")
    assert result.exit_code == 2
    assert "securefair: q: out of range (found 0," in result.stderr


@pytest.mark.parametrize("precision", ["0", "nan", "-1", "inf"])
def test_a_precision_that_no_plan_has_ends_with_the_reason_alone(precision):
    result = call("plan", *SHAPE, "--precision", precision)
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("securefair: precision: out of range")


@pytest.fixture
def known_limits(monkeypatch):
    limits = MachineLimits(multiply_adds=1e9, bytes=1e10)
    monkeypatch.setattr("securefair.profiling.head.measure_limits", lambda: limits)


@pytest.mark.usefixtures("known_limits")
def test_a_profile_has_the_promised_figures():
    result = call(
        *("profile", "head", *SHAPE, "--release", "loss"),
        *("--backend", "clear", "--threads", "1", "--repeats", "1", "--json"),
    )
    assert result.exit_code == 0
    figures = json.loads(result.stdout)
    for name in (
        *("server_ms_per_sample", "answer_ms_per_sample", "encrypt_ms_per_sample"),
        *("decrypt_us_per_sample", "stages"),
        *("upload_bytes_per_sample", "bytes_up_per_sample", "bytes_down", "key_bytes"),
        *("max_abs_error", "error_over_range", "ring_degree", "log_qp", "flooding_bits"),
        *("peak_rss_mb", "distance"),
    ):
        assert name in figures
    assert figures["backend"] == "clear"


@pytest.mark.usefixtures("known_limits")
def test_a_profile_is_printed_as_tables():
    result = call("profile", "head", *SMALL, "--backend", "clear", "--threads", "1")
    assert result.exit_code == 0
    assert "Server, a sample" in result.stdout


def test_profiles_end_like_every_command_on_expected_errors():
    result = call("profile", "head", *SMALL, "--backend", "abacus")
    assert result.exit_code == 2
    assert result.stderr.startswith("securefair: unknown backend")
    for threads in ("4096", "0", "-1"):
        result = call("profile", "head", *SMALL, "--threads", threads)
        assert result.exit_code == 2
        assert "threads" in result.stderr


def test_estimate_states_both_cost_models():
    result = call("plan", *SMALL, "--estimate", "--json")
    found = json.loads(result.output)["security_estimate"]
    models = found["models"]
    assert set(models) == {"core_svp", "bdgl16"}
    assert 90 < models["core_svp"]["bits"] < models["bdgl16"]["bits"]
    assert models["bdgl16"]["bits"] >= found["target_bits"] == 128
    assert found["margin_bits"] >= 0
    shown = call("plan", *SMALL, "--estimate").output
    assert f"{models['core_svp']['bits']} bits" in shown
    assert "security_estimate" not in json.loads(call("plan", *SMALL, "--json").output)


def test_an_option_of_the_estimate_alone_is_refused_without_one():
    result = call("plan", *SMALL, "--sharing", "0.5")
    assert result.exit_code == 2
    assert "only the estimate of a collaboration has these options" in " ".join(
        result.stderr.split()
    )
