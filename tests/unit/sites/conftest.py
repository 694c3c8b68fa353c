"""Towns of sites in one process, for tests."""

import os
import tempfile
from pathlib import Path

import pytest

from support.town import same_as_one_process, towns


@pytest.fixture
def swift_folder(tmp_path):
    """A folder in memory, where the machine has one: a killed process loses nothing in it either,
    and nobody waits for a disk."""
    memory = Path("/dev/shm")
    if not (memory.is_dir() and os.access(memory, os.W_OK)):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory, prefix="sites-") as folder:
        yield Path(folder)


@pytest.fixture
def make_town(swift_folder):
    """A town of so many sites; its stores are closed at the end."""
    with towns(swift_folder) as make:
        yield make


@pytest.fixture
def check_same():
    return same_as_one_process
