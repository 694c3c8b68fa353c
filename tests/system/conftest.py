"""Hospitals small enough that encrypted runs take seconds; the program as a process of its own."""

import os
import subprocess
import sys

import numpy as np
import pytest

from securefair.data import load_heart
from securefair.data.dataset import ParticipantData


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
    # A shell may have started this suite with interrupts ignored, which children inherit.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from securefair.cli import main; main()"
    )

    def _asked(self, arguments, cwd):
        variables = os.environ | {"PYTHONUNBUFFERED": "1", "COLUMNS": "100"}
        if paths := os.environ.get("PYTHONPATH"):  # relative ones mean another folder there
            parts = map(os.path.abspath, paths.split(os.pathsep))
            variables["PYTHONPATH"] = os.pathsep.join(parts)
        return {"args": [sys.executable, "-c", self.code, *arguments], "cwd": cwd, "env": variables}

    def run(self, *arguments, cwd):
        """Until it ends."""
        return subprocess.run(
            **self._asked(arguments, cwd),
            capture_output=True,
            text=True,
            timeout=self.timeout,
            check=False,
        )

    def start(self, *arguments, cwd):
        """It goes on."""
        return subprocess.Popen(
            **self._asked(arguments, cwd),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture(scope="session")
def program():
    """What a shell would start."""
    return Program()
