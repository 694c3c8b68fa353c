"""A configuration does not walk through the whole package before it is understood."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def walks():
    spec = importlib.util.spec_from_file_location("scripts_walks", ROOT / "scripts/walks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_configuration_is_checked_in_few_places(walks, tmp_path, monkeypatch, capsys):
    """All three kinds of the demonstration, and it once more for small hospitals."""
    demo = (ROOT / "src/securefair/config/demo.toml").read_text("utf-8")
    path = tmp_path / "demo.toml"
    path.write_text(demo.replace("seeds = [0, 1, 2]", "seeds = [0]"), "utf-8")
    monkeypatch.setattr("sys.argv", [])
    ((_, walk),) = walks.walk_configuration(["check", str(path)])
    assert "demo" in capsys.readouterr().out
    followed = {"config.loading:load_config", "collaboration.agreement:Agreement.of"}
    assert followed < set(walk.stays)  # the walk is seen at all, from the file to the agreements
    assert len(walk.stays) <= 40, sorted(walk.stays)
    assert len(walk.files) <= 20, sorted(walk.files)
