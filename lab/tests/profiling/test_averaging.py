import msgspec
import pytest
from typer.testing import CliRunner

from securefair.averaging import SumSpec, plan_sum
from securefair.cli import app
from securefair_lab.profiling.averaging import DrySum, profile_averaging

pytestmark = pytest.mark.slow

SPEC = SumSpec(parameters=5000, senders=3, bound=2.0)


@pytest.mark.parametrize("name", ["clear", "masked", "ckks"])
def test_a_profile_states_what_was_sent_and_how_far_off_it_was(name):
    profile = profile_averaging(name, SPEC, repeats=2)
    plan = plan_sum(name, SPEC)
    assert profile.bytes_per_edge == plan.request_bytes + plan.share_bytes + 32
    assert profile.clear_bytes_per_edge == 20_000
    assert 0 < profile.max_abs_error <= profile.error_bound == plan.error_bound
    assert set(profile.stages) == {"ask", "contribute", "open"}
    assert profile.seconds_per_edge > 0
    assert profile.peak_rss_mb > 10
    assert profile.first_seconds > 0


def test_invented_parameters_stay_within_the_bound():
    dry_exchange = DrySum.of("clear", SumSpec(parameters=20_000, senders=2, bound=0.25))
    for sender in range(2):
        vector = dry_exchange.vector(sender)
        assert abs(vector).max() <= 0.25
        assert (vector == dry_exchange.vector(sender)).all()
    assert (dry_exchange.vector(0) != dry_exchange.vector(1)).any()


@pytest.mark.parametrize("name", ["masked", "ckks"])
def test_the_command_prints_the_figures_as_json(name):
    command = ["profile", "averaging", "--parameters", "2000", "--averaging", name]
    result = CliRunner().invoke(app, [*command, "--threads", "1", "--repeats", "1", "--json"])
    assert result.exit_code == 0, result.output
    figures = msgspec.json.decode(result.stdout)
    for key in (
        "seconds_per_edge",
        "bytes_per_edge",
        "clear_bytes_per_edge",
        "max_abs_error",
        "peak_rss_mb",
    ):
        assert figures[key] > 0


def test_the_command_prints_a_table():
    command = ["profile", "averaging", "--parameters", "2000", "--threads", "1", "--repeats", "1"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    for words in ("One edge", "In the clear", "known to their senders", "hidden from the receiver"):
        assert words in result.stdout


def test_a_spec_that_cannot_be_granted_is_an_error_of_one_line():
    result = CliRunner().invoke(app, ["profile", "averaging", "--senders", "1", "--threads", "1"])
    assert result.exit_code != 0
