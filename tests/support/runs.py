"""Hospitals small enough that encrypted runs take seconds; the program as a process of its own."""

import os
import subprocess
import sys

import numpy as np
import pytest

from securefair.data import load_heart
from securefair.data.dataset import ParticipantData
from support.processes import Process, run


@pytest.fixture(scope="session")
def hospitals():
    """The first `count` hospitals of the heart data with their first `most` training patients."""

    def make(count=4, most=60):
        return [
            ParticipantData(
                own.name, own.train.take(np.arange(min(most, len(own.train)))), own.test
            )
            for own in load_heart(seed=0)[:count]
        ]

    return make


class Program:
    """`securefair`, in processes of its own."""

    timeout = 120  # seconds

    def run(self, *arguments, cwd):
        """Until it ends."""
        return run("securefair", arguments, cwd=cwd, env=self._variables, timeout=self.timeout)

    def start(self, *arguments, cwd):
        """It goes on."""
        return Process("securefair", arguments, cwd=cwd, env=self._variables)

    def fresh(self, *arguments, cwd):
        """Until it ends, in an interpreter that has loaded nothing before."""
        return subprocess.run(
            [sys.executable, "-m", "securefair", *arguments],
            cwd=cwd,
            env=self._variables,
            capture_output=True,
            text=True,
            timeout=self.timeout,
            check=False,
        )

    @property
    def _variables(self):
        variables = os.environ | {"COLUMNS": "100"}
        if paths := os.environ.get("PYTHONPATH"):  # relative ones mean another folder there
            parts = map(os.path.abspath, paths.split(os.pathsep))
            variables["PYTHONPATH"] = os.pathsep.join(parts)
        return variables


@pytest.fixture(scope="session")
def program():
    """What a shell would start."""
    return Program()
