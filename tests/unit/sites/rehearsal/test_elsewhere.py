"""Processes of sites under another interpreter."""

import sys
from pathlib import Path

import pytest

from securefair.errors import ConfigError
from securefair.protocol.messages import PROTOCOL_VERSION
from securefair.sites.rehearsal.elsewhere import ElsewhereProcess, protocol_of


def test_an_interpreter_says_which_protocol_it_speaks():
    assert protocol_of(Path(sys.executable)) == PROTOCOL_VERSION


def test_an_interpreter_may_be_named_from_the_folder_one_is_in(monkeypatch):
    python = Path(sys.executable)
    monkeypatch.chdir(python.parent)
    assert protocol_of(Path(python.name)) == PROTOCOL_VERSION


@pytest.mark.parametrize("python", ["/bin/false", "/no/such/python"])
def test_one_without_securefair_is_refused_in_a_line(python):
    with pytest.raises(ConfigError, match="has no securefair") as refused:
        protocol_of(Path(python))
    assert "\n" not in refused.value.problem


def test_a_process_is_started_killed_and_waited_for(tmp_path):
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nexec sleep 60\n", encoding="ascii")
    program.chmod(0o700)
    process = ElsewhereProcess(program, tmp_path, tmp_path / "passphrase", 0, 0.0)
    process.start()
    assert process.exitcode is None
    process.kill()
    process.join()
    assert process.exitcode == -9
