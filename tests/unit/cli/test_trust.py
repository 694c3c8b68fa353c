"""The commands that are printed may be typed as they stand, whatever the configuration names."""

import shlex

import pytest

pytestmark = pytest.mark.slow

LOADER = """
import numpy as np
def load():
    labels = np.arange(24) % 2
    return {name: (labels[:, None] * 0.5, labels) for name in ("north", "south")}
"""
CONFIG = """
[run]
name = "x"
algorithms = ["standalone"]
[data]
source = "python"
entry = "loader:load"
[model]
kind = "linear"
[training]
rounds = 1
local_epochs = 1
[encryption]
backend = "clear"
"""


@pytest.fixture
def interrupted(invoke, tmp_path, monkeypatch):
    """A run of somebody's own code that Ctrl-C has ended."""

    def stop(path, rows):
        raise KeyboardInterrupt

    (tmp_path / "loader.py").write_text(LOADER)
    (tmp_path / "c.toml").write_text(CONFIG)
    with monkeypatch.context() as patched:
        patched.setattr("securefair.run.folder.write_json_lines", stop)
        return invoke("run", "c.toml", "--out", "my run")


def command_of(text):
    """The command that a line names, as a shell reads it."""
    return shlex.split(text.partition("securefair resume ")[2].partition(";")[0])


def test_the_line_after_ctrl_c_goes_on_with_own_code(invoke, interrupted, tmp_path):
    command = command_of(interrupted.stderr)
    assert command == ["my run", "--trust"]
    refused = invoke("run", "c.toml", "--out", "my run")
    assert command_of(refused.stderr) == command
    assert "resume 'my run' --trust" in invoke("report", "my run").stderr
    resumed = invoke("resume", *command)
    assert resumed.exit_code == 0, resumed.output
    assert (tmp_path / "my run" / "metrics.json").exists()


def test_an_unfinished_run_of_another_version_is_named_all_the_same(invoke, interrupted, tmp_path):
    (tmp_path / "my run" / "unfinished" / "config.toml").write_text("strange = 1")
    refused = invoke("run", "c.toml", "--out", "my run")
    assert "my run holds an interrupted run" in refused.stderr
    assert command_of(refused.stderr) == ["my run"]


def test_code_that_is_only_looked_at_needs_the_word(invoke, tmp_path):
    (tmp_path / "loader.py").write_text(LOADER)
    (tmp_path / "c.toml").write_text(CONFIG)
    refused = invoke("check", "c.toml")
    assert (refused.exit_code, "--trust" in refused.stderr) == (2, True)
    assert "`securefair run` takes it for meant" in refused.stderr
    assert invoke("check", "c.toml", "--trust").exit_code == 0
