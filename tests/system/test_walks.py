"""A configuration does not walk through the whole package before it is understood."""

import importlib
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

from securefair.collaboration.kinds import REGISTERED, default_algorithm, kind_of, unread_by
from securefair.user.template import new_project
from support.few import few, thin_tables

__all__ = ["few"]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def walks():
    spec = importlib.util.spec_from_file_location("scripts_walks", ROOT / "scripts/walks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for heavy in ("sklearn.ensemble", "sklearn.gaussian_process", "sklearn.metrics"):
        importlib.import_module(heavy)  # watched, their imports take seconds
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


def test_a_run_takes_its_configuration_through_few_places(
    walks, few, tmp_path, monkeypatch, capsys
):
    """A transfer by the defaults: resolved, agreed on, kept, and reported."""
    path = tmp_path / "walk.toml"
    path.write_text(
        '[run]\nname = "walk"\nalgorithms = ["standalone", "transfer"]\n'
        '[data]\nsource = "heart"\nmost_training = 16\n'
        '[encryption]\nbackend = "clear"\n',
        "utf-8",
    )
    monkeypatch.setattr("sys.argv", [])
    ((_, walk),) = walks.walk_configuration(["run", str(path), "--out", str(tmp_path / "out")])
    assert "report.html" in capsys.readouterr().out.replace("\n", "")
    assert "report.html:render_report" in walk.stays  # to its very end
    assert len(walk.stays) <= 40, sorted(walk.stays)
    assert len(walk.files) <= 20, sorted(walk.files)


FILE_STAYS, FILE_FILES = 60, 24
"""The same with tables that hospitals bring, whose sections are read as well; never more."""


def test_tables_of_hospitals_take_it_through_no_more_places_than_before(
    walks, tmp_path, monkeypatch, capsys
):
    """What `securefair new` writes: everybody's table, and the rules of its columns."""
    new_project(tmp_path / "mine", unread=unread_by([default_algorithm()]))
    thin_tables(tmp_path / "mine" / "data", most=20)
    path = tmp_path / "mine" / "config.toml"
    text = path.read_text("utf-8")
    text = re.sub(r'(?m)^backend = ".*"', 'backend = "clear"', text)
    head, *everyone = text.split("[[participants]]\n")  # of whom two go everywhere
    text = "[[participants]]\n".join([head, *everyone[-2:]])
    path.write_text(text, "utf-8")
    monkeypatch.setattr("sys.argv", [])
    ((_, walk),) = walks.walk_configuration(["run", str(path), "--out", str(tmp_path / "out")])
    assert "report.html" in capsys.readouterr().out.replace("\n", "")
    assert "user.files:from_files" in walk.stays
    assert len(walk.stays) <= FILE_STAYS, sorted(walk.stays)
    assert len(walk.files) <= FILE_FILES, sorted(walk.files)


@pytest.mark.parametrize("name", sorted(REGISTERED))
def test_a_configuration_ends_where_it_was_agreed_on(name):
    """Hosts, observers and forecasts of every kind are made from the agreement."""
    for made in ("host", "recalled", "observer", "forecast"):
        parameters = inspect.signature(getattr(kind_of(name), made)).parameters
        first, *others = parameters
        assert first == "agreement"
        assert not [one for one in others if "Section" in str(parameters[one].annotation)]
        assert "RunConfig" not in " ".join(str(one.annotation) for one in parameters.values())
