"""`securefair profile head` as a user meets it."""

import inspect
import json

import pytest
from typer.testing import CliRunner

from securefair.cli import app
from securefair.profiling import options
from securefair_lab.profiling.commands import head
from securefair_lab.profiling.measure import MachineLimits

pytestmark = pytest.mark.slow

SHAPE = ["--features", "6", "--hidden", "3", "--classes", "2", "--samples", "40"]
SMALL = [*SHAPE, "--q", "8"]


def call(*arguments):
    return CliRunner().invoke(app, [*arguments], env={"COLUMNS": "80", "NO_COLOR": "1"})


def test_it_has_the_options_of_an_exchange_first():
    asked = list(inspect.signature(options.spec_of).parameters)
    assert list(inspect.signature(head).parameters)[: len(asked)] == asked


@pytest.mark.parametrize("option", [("--q", "3"), ("--basis", "public")])
@pytest.mark.parametrize("release", ["loss", "class_sums", "logits"])
def test_an_option_of_projections_is_refused_for_another_release(option, release):
    result = call("profile", "head", "--release", release, *option)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1] == (
        f"securefair: {option[0]}: only a projection has this option "
        f"(found '--release {release}', expected '--release projection')"
    )


@pytest.fixture
def known_limits(monkeypatch):
    limits = MachineLimits(multiply_adds=1e9, bytes=1e10)
    monkeypatch.setattr("securefair_lab.profiling.head.measure_limits", lambda: limits)


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
