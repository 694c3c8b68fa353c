"""A user's own code is found, called with what it takes, and named where it fails."""

import sys

import pytest

from securefair.errors import ConfigError, DataError
from securefair.own_code import accepted, imported, user_code


def test_a_function_is_found_in_its_folder_and_the_search_path_is_left_as_it_was(tmp_path):
    (tmp_path / "found_only_here.py").write_text("def load():\n    return 7\n")
    before = list(sys.path)
    assert imported("found_only_here:load", tmp_path)() == 7
    assert sys.path == before


def test_a_module_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match="no such module") as error:
        imported("nowhere_at_all:load", tmp_path)
    assert error.value.hint == f"Put nowhere_at_all.py into {tmp_path}"


def test_a_module_that_the_own_code_lacks(tmp_path):
    (tmp_path / "needs_more.py").write_text("import not_installed_here.at_all\n")
    with pytest.raises(ConfigError, match="needs_more imports a module that is not") as error:
        imported("needs_more:load", tmp_path)
    assert error.value.found == "not_installed_here"
    assert "Put" not in error.value.hint


def test_only_arguments_that_a_function_names_are_offered():
    offered = {"seed": 1, "test_fraction": 0.5}
    assert accepted(lambda: None, offered) == {}
    assert accepted(lambda seed: seed, offered) == {"seed": 1}
    assert accepted(lambda **options: options, offered) == offered


def test_failures_name_the_line_and_our_own_errors_pass():
    zero_division = pytest.raises(DataError, match="ZeroDivisionError: division by zero")
    with zero_division as error, user_code("mine:load"):
        _ = 1 / 0
    assert error.value.where.startswith("mine:load (test_own_code.py, line ")
    with pytest.raises(ConfigError, match="as it was"), user_code("mine:load"):
        raise ConfigError("as it was")
