import pytest

from support.commands import invoke, prepared
from support.tables import NORTH

__all__ = ["invoke", "prepared"]


@pytest.fixture
def tables(tmp_path):
    (tmp_path / "north.csv").write_text(NORTH)
    (tmp_path / "south.csv").write_text(NORTH.replace("39,m", "85,m"))
    return ("--data", "north.csv", "--data", "south.csv", "--label", "ill")
