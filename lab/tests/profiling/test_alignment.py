import msgspec
import pytest
from typer.testing import CliRunner

from securefair.cli import app
from securefair.collaboration.gossip import AlignmentSpec, plan_alignment
from securefair_lab.profiling.alignment import profile_alignment


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["clear", "rns"])
def test_a_profile_states_what_was_sent_and_how_far_off_it_was(backend):
    spec = AlignmentSpec(dimension=20_000, sketch=4096)
    profile = profile_alignment(spec, backend=backend, repeats=2)
    plan = plan_alignment(spec)
    if backend == "rns":
        assert profile.bytes_up == plan.inner.query_bytes
        assert profile.bytes_down == plan.inner.answer_bytes
    assert 0 < profile.abs_error <= profile.stated_error_bound == plan.error_bound
    # Noise fills what was asked for: the flood hides more with it.
    assert 0 < profile.encryption_error_bound <= spec.precision
    assert profile.milliseconds > 0
    assert set(profile.stages) == {"sketch", "encrypt", "answer", "open"}


def test_the_command_prints_the_figures_as_json():
    command = ["profile", "alignment", "--dimension", "5000", "--repeats", "1", "--json"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    figures = msgspec.json.decode(result.stdout)
    for name in ("milliseconds", "bytes_up", "bytes_down", "abs_error", "stated_error_bound"):
        assert figures[name] > 0


def test_exact_alignments_send_every_number():
    spec = AlignmentSpec(dimension=9000, sketch=None)
    exact = profile_alignment(spec, repeats=1)
    assert exact.ciphertexts == 3
    assert exact.numbers == exact.dimension
    assert exact.abs_error <= exact.stated_error_bound <= spec.precision
