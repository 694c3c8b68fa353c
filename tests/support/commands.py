"""Commands of the program in folders of their own, as fixtures."""

import contextlib

import pytest
from typer.testing import CliRunner

from securefair.cli import app

ALONE = """
[run]
name = "alone"
algorithms = ["standalone"]
[data]
source = "heart"
[model]
kind = "linear"
[training]
rounds = 1
local_epochs = 1
"""
"""A configuration of the shortest run."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder of which every test of a module gets a copy, and commands that succeed in it."""
    folder = tmp_path_factory.mktemp("prepared")

    def invoke(*arguments):
        with contextlib.chdir(folder):
            done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.output

    return folder, invoke


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, [str(one) for one in arguments])
