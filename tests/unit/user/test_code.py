"""A user's own code is found, called with what it takes, and named where it fails."""

import sys

import pytest

from securefair.errors import ConfigError, DataError
from securefair.user.code import accepted, imported, user_code


def test_a_function_is_found_in_its_folder_and_the_search_path_is_left_as_it_was(tmp_path):
    (tmp_path / "found_only_here.py").write_text("def load():\n    return 7\n")
    before = list(sys.path)
    assert imported("found_only_here:load", tmp_path, where="data.entry")() == 7
    assert sys.path == before


def test_a_module_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match="no such module") as error:
        imported("nowhere_at_all:load", tmp_path, where="data.entry")
    assert error.value.hint == f"Put nowhere_at_all.py into {tmp_path}"


def test_a_module_that_the_own_code_lacks(tmp_path):
    (tmp_path / "needs_more.py").write_text("import not_installed_here.at_all\n")
    with pytest.raises(ConfigError, match="needs_more imports a module that is not") as error:
        imported("needs_more:load", tmp_path, where="data.entry")
    assert error.value.found == "not_installed_here"
    assert "Put" not in error.value.hint


def test_a_module_of_the_same_name_in_another_folder_is_another_module(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name / "own_package").mkdir(parents=True)
        (tmp_path / name / "own_package" / "part.py").write_text(f"NAME = {name!r}\n")
        (tmp_path / name / "beside_it.py").write_text("from own_package.part import NAME\n")
        (tmp_path / name / "of_one_name.py").write_text(
            "import math, beside_it\n\ndef load():\n    return beside_it.NAME\n"
        )
    found = [
        imported("of_one_name:load", tmp_path / name, where="data.entry")
        for name in ("one", "one", "other")
    ]
    assert [load() for load in found] == ["one", "one", "other"]
    assert found[0] is found[1]
    with pytest.raises(ConfigError, match="no such module"):
        imported("of_one_name:load", None, where="data.entry")


def test_libraries_that_own_code_imports_stay_loaded(tmp_path, monkeypatch):
    """Also where their environment lies in the folder: many cannot be loaded twice."""
    library = tmp_path / "one" / "environment"
    library.mkdir(parents=True)
    (library / "of_an_environment.py").touch()
    monkeypatch.syspath_prepend(str(library))
    for name in ("one", "other"):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "takes_a_library.py").write_text(
            "import of_an_environment\n\ndef load():\n    return of_an_environment\n"
        )
    one, other = (
        imported("takes_a_library:load", tmp_path / name, where="data.entry")
        for name in ("one", "other")
    )
    assert one is not other
    assert one() is other()


@pytest.mark.parametrize("name", ["json", "sys"])
def test_a_library_that_is_loaded_does_not_pass_for_own_code(tmp_path, name):
    (tmp_path / f"{name}.py").write_text("def load():\n    return 7\n")
    loaded = sys.modules[name]
    with pytest.raises(ConfigError, match="another module of this name is loaded") as error:
        imported(f"{name}:load", tmp_path, where="data.entry")
    assert error.value.expected == str(tmp_path / f"{name}.py")
    assert error.value.where == "data.entry"
    assert sys.modules[name] is loaded


def test_a_module_that_is_no_python_names_its_own_line(tmp_path):
    (tmp_path / "not_python.py").write_text("def load():\n    return (7\n")
    with pytest.raises(DataError, match="SyntaxError") as error:
        imported("not_python:load", tmp_path, where="data.entry")
    assert error.value.where == "not_python:load (not_python.py, line 2)"


def test_a_module_that_fails_names_its_own_line(tmp_path):
    (tmp_path / "fails_at_once.py").write_text("LARGE = 1\nLARGE / 0\n")
    with pytest.raises(DataError, match="ZeroDivisionError") as error:
        imported("fails_at_once:load", tmp_path, where="data.entry")
    assert error.value.where == "fails_at_once:load (fails_at_once.py, line 2)"


def test_only_arguments_that_a_function_names_are_offered():
    offered = {"seed": 1, "test_fraction": 0.5}
    assert accepted(lambda: None, offered) == {}
    assert accepted(lambda seed: seed, offered) == {"seed": 1}
    assert accepted(lambda **options: options, offered) == offered


def test_failures_name_the_line_and_our_own_errors_pass():
    zero_division = pytest.raises(DataError, match="ZeroDivisionError: division by zero")
    with zero_division as error, user_code("mine:load"):
        _ = 1 / 0
    assert error.value.where.startswith("mine:load (test_code.py, line ")
    with pytest.raises(ConfigError, match="as it was"), user_code("mine:load"):
        raise ConfigError("as it was")
